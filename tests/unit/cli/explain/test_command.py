"""``megtrim explain``: who needs a region, a model's or scenario's regions, the verdict."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.chain.store import Store
from megtrim.checks.invocation import Invocation, suggest_for_keep_set
from megtrim.trim.committed_keepset import write_committed
from megtrim.verdict.join import join
from megtrim.verdict.model import to_json
from megtrim.verdict.results import VerdictResult
from unit.cli.support import SAMPLE_MODEL, Shell
from unit.trim.stages.support import CONFIG, keep_set
from unit.verdict.examples import TUNED, facts, trapped


@pytest.fixture
def project(shell: Shell) -> Shell:
    """A configuration with one model, and a keep set of two regions."""
    (shell.folder / "m.mge").write_bytes(SAMPLE_MODEL)
    (shell.folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    write_committed(shell.folder / "megtrim" / "keepset", keep_set(1, 2))
    return shell


@pytest.mark.parametrize("thing", ["m", "m/s@any"])
def test_explain_reports_of_a_model_and_a_scenario(project: Shell, thing: str) -> None:
    """What it was traced with, and what is kept for it alone."""
    answer = project("explain", "--json", thing)

    assert answer.status == 0
    assert json.loads(answer.out) == {
        "m/s@any": {
            "arguments": "--cpu",
            "model": "sha256 " + "a" * 64,
            "trace": "sha256 " + "b" * 64,
            "regions": 2,
            "regions that no other scenario needs": ["kern<1>", "kern<2>"],
        }
    }


@pytest.mark.parametrize(("thing", "regions"), [("kern", [1, 2]), ("kern<2>", [2])])
def test_explain_reports_of_a_tag_and_a_region(
    project: Shell, thing: str, regions: list[int]
) -> None:
    """Who needs it."""
    answer = project("explain", "--json", thing)

    assert answer.status == 0
    found = json.loads(answer.out)
    assert list(found) == [f"kern<{number}>" for number in regions]
    assert all(facts["needed by"] == ["m/s@any"] for facts in found.values())


def test_explain_in_words(project: Shell) -> None:
    """Indented, with counts; nothing is said of what is empty."""
    answer = project("explain", "m")

    assert answer.out.splitlines() == [
        "m/s@any",
        "  arguments: --cpu",
        "  model: sha256 " + "a" * 64,
        "  trace: sha256 " + "b" * 64,
        "  regions: 2",
        "  regions that no other scenario needs: 2",
        "    kern<1>",
        "    kern<2>",
    ]


@pytest.mark.parametrize(
    "thing", ["megdnn_fallback_winograd", "megdnn_fallback_winograd<-1290123641, 0>", "ns::one()"]
)
def test_explain_knows_what_trapped(project: Shell, thing: str) -> None:
    """What the committed keep set misses may be needed all the same: by whom, and the way out."""
    text = "it trapped: the function ns::one() is not kept, for the keep set does not list it"
    verdict = join(facts(scenarios=(replace(trapped(), text=text),)))

    def produce(folder: Path) -> VerdictResult:
        (folder / "verdict.json").write_text(to_json(verdict), encoding="utf-8")
        return VerdictResult(verdict=verdict.verdict)

    Store(project.folder / "megtrim-out").ensure("verdict", "verdict", {}, produce, VerdictResult)
    found = json.loads(project("explain", "--json", thing).out)

    assert list(found) == [thing]
    assert found[thing]["kept"] == f"no, and it is needed: {TUNED} trapped without it"
    assert found[thing]["what to do"] == suggest_for_keep_set(Invocation())


def test_explain_does_not_know_everything(project: Shell) -> None:
    """Each with what to do."""
    unknown = project("explain", "nothing")
    verdict = project("explain", "verdict")
    (project.folder / "megtrim" / "keepset" / "m" / "s@any.json").unlink()
    no_keep_set = project("explain", "m")

    assert [answer.status for answer in (unknown, verdict, no_keep_set)] == [2, 2, 2]
    assert "know no model, scenario, tag, region or function 'nothing'" in unknown.err
    assert "there is no verdict in megtrim-out yet" in verdict.err
    assert "megtrim trim --config megtrim.yaml\n" in verdict.err
    assert "there is no keep set at" in no_keep_set.err
