"""``megtrim plan --github-matrix``: the jobs as JSON and as outputs of a step."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from megtrim.chain.graph import LINKED, REDUCED
from megtrim.checks.check import DeviceIdentity
from megtrim.cli.plan import show_matrix
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.evidence import EvidenceSet, dump_set
from megtrim.jobs.pack import select
from megtrim.util.console import Console
from unit.evidence.support import evidence, result
from unit.jobs.timed import timed
from unit.trim.stages.built import built, linked
from unit.trim.stages.support import NOTHING, changed

Show = Callable[..., dict[str, Any]]
NONE: dict[str, Any] = {"include": []}


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that a runner reads a step's outputs from."""
    path = tmp_path / "output"
    monkeypatch.setenv("GITHUB_OUTPUT", str(path))
    return path


def outputs(path: Path) -> dict[str, str]:
    """Read a step's outputs as a runner does."""
    found, lines = {}, iter(path.read_text("utf-8").splitlines())
    for line in lines:
        name, _, end = line.partition("<<")
        found[name] = "\n".join(iter(lines.__next__, end))
    return found


def job(cpu_class: str, shard: str, artifact: str) -> dict[str, str]:
    name = f"{cpu_class} {shard}"
    return {"name": name, "class": cpu_class, "shard": shard, "artifact": artifact}


def test_the_committed_keep_set_is_verified(
    tmp_path: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the devices on runners alone."""
    session = built(tmp_path, committed=True)

    assert show_matrix(session, proofs=None, per_job=1) == 0
    entries = [
        job("any", "1/2", "megtrim-evidence-any-1"),
        job("any", "2/2", "megtrim-evidence-any-2"),
    ]
    shown = json.loads(capsys.readouterr().out)
    assert shown == {"device": {"include": entries}, "emulated": NONE}
    reported = outputs(output)
    assert {name: json.loads(value) for name, value in reported.items()} == {
        "device": {"include": entries},
        "device-jobs": 2,
        "emulated": NONE,
        "emulated-jobs": 0,
        "functions": False,
    }
    assert not any("\n" in value for value in reported.values())


@pytest.mark.parametrize("way", ["committed", "quick"])
def test_what_the_build_job_made_is_verified(tmp_path: Path, output: Path, way: str) -> None:
    """By the committed keep set, or the quick way."""
    made = built(tmp_path, committed=way == "committed", quick=way == "quick")
    show_matrix(made, proofs=None, per_job=20)

    reported = outputs(output)
    assert json.loads(reported["device"]) == {
        "include": [job("any", "1/1", "megtrim-evidence-any-1")]
    }
    assert reported["emulated-jobs"] == "0"


def test_else_all_is_traced(tmp_path: Path, output: Path) -> None:
    """Classes without a runner are emulated."""
    show_matrix(built(tmp_path), proofs=None, per_job=20)

    reported = outputs(output)
    assert json.loads(reported["device"]) == {
        "include": [job("any", "1/1", "megtrim-traces-any-1")]
    }
    assert json.loads(reported["emulated"]) == {
        "include": [job("big", "1/1", "megtrim-traces-big-1")]
    }
    assert (reported["device-jobs"], reported["emulated-jobs"]) == ("1", "1")


def test_functions_are_next_once_there_are_traces(tmp_path: Path, output: Path) -> None:
    """The first jobs know that others follow; those know that they are the last."""
    session = linked(tmp_path)
    show_matrix(session, proofs=None, per_job=20)
    first = outputs(output)
    output.unlink()
    show_matrix(changed(session, traced={"m/s@any": NOTHING}), proofs=None, per_job=20)
    second = outputs(output)

    assert (first["functions"], second["functions"]) == ("true", "false")
    assert json.loads(first["device"]) == {"include": [job("any", "1/1", "megtrim-traces-any-1")]}
    assert json.loads(second["device"]) == {
        "include": [job("any", "1/1", "megtrim-functions-any-1")]
    }
    assert json.loads(second["emulated"]) == {
        "include": [job("big", "1/1", "megtrim-functions-big-1")]
    }


def test_where_nothing_is_traced_functions_come_first(tmp_path: Path, output: Path) -> None:
    """Of the plain build."""
    show_matrix(linked(tmp_path, trim="level: function, base: plain"), proofs=None, per_job=20)

    reported = outputs(output)
    assert reported["functions"] == "false"
    assert json.loads(reported["device"]) == {
        "include": [job("any", "1/1", "megtrim-functions-any-1")]
    }


def test_before_the_link_no_functions_can_be_asked_for(
    tmp_path: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is made where the bundle is packed; a plan before that says what is missing."""
    session = linked(tmp_path, trim="level: function, base: plain")
    del session.results.done[LINKED]
    reported = io.StringIO()
    show_matrix(changed(session, console=Console(reported)), proofs=None, per_job=20)

    assert json.loads(capsys.readouterr().out) == {"device": NONE, "emulated": NONE}
    jobs = outputs(output)
    assert (jobs["device-jobs"], jobs["emulated-jobs"], jobs["functions"]) == ("0", "0", "false")
    assert reported.getvalue() == (
        "warning: no job: functions/linked, which devices would run, is not built yet\n"
    )


def test_what_is_proven_has_no_job(
    tmp_path: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pull request that changes nothing costs no device minute."""
    session = built(tmp_path, committed=True)
    asked = select(session, JobPurpose.VERIFY, EvidenceSet(entries=())).asked
    proven = (result(scenario=each.id, binding=bound) for each, bound in asked)
    proofs = tmp_path / "proofs.json"
    board = DeviceIdentity(name="board", kind="local", facts={})
    known = EvidenceSet(entries=(evidence(*proven, device=board),))
    proofs.write_text(dump_set(known), encoding="utf-8")
    show_matrix(session, proofs=proofs, per_job=20)

    assert json.loads(capsys.readouterr().out) == {"device": NONE, "emulated": NONE}
    assert outputs(output)["device-jobs"] == "0"


def test_a_build_that_failed_has_no_job(tmp_path: Path, output: Path) -> None:
    """There is nothing that a device could run."""
    session = changed(built(tmp_path), committed=True)
    del session.results.done[REDUCED]
    show_matrix(session, proofs=tmp_path / "gone.json", per_job=20)

    assert outputs(output)["device-jobs"] == "0"


def test_jobs_that_take_times_share_contests(
    tmp_path: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the devices on runners alone; each job has its own artifact."""
    session = timed(tmp_path, committed=True)

    assert show_matrix(session, proofs=None, per_job=3, times=True) == 0
    entries = [
        job("any", "1/2", "megtrim-times-any-1"),
        job("any", "2/2", "megtrim-times-any-2"),
    ]
    assert json.loads(capsys.readouterr().out) == {
        "device": {"include": entries},
        "emulated": NONE,
    }
    found = outputs(output)
    assert (found["device-jobs"], found["emulated-jobs"]) == ("2", "0")
