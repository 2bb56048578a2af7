import json
from collections.abc import Callable
from pathlib import Path

import pytest

from megtrim.chain.graph import LINKED, REDUCED
from megtrim.chain.session import Session
from megtrim.checks.check import DeviceIdentity
from megtrim.cli.ci.evidence.pack import describe_jobs
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.evidence import EvidenceSet
from megtrim.jobs.pack import select
from unit.cli.support import Shell
from unit.evidence.support import evidence, result
from unit.jobs.timed import timed
from unit.trim.stages.built import built, linked

NOTHING_KNOWN = EvidenceSet(entries=())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        *(
            (f"--{asked} {more}", f"--{asked} asks for new {asked}: ")
            for asked in ("traces", "functions")
            for more in ("--committed", "--quick", "--proofs x")
        ),
        *((f"{more} --evidence x", "it needs --functions") for more in ("", "--traces")),
        ("--committed --evidence x", "it needs --functions"),
        # They may be of the committed keep set; what was proven says nothing of times.
        ("--times --committed --proofs x", "--times asks for new times: it cannot be combined"),
    ],
)
def test_purposes_do_not_mix(shell: Shell, asked: str, message: str) -> None:
    shell("ci", "evidence", "pack", *asked.split(), "--to", "b").expect(2, message)


NONE: dict[str, list[str]] = {"include": []}


def job(cpu_class: str, shard: str, artifact: str) -> dict[str, str]:
    name = f"{cpu_class} {shard}"
    return {"name": name, "class": cpu_class, "shard": shard, "artifact": artifact}


def without(session: Session, task: str) -> Session:
    del session.results.done[task]
    return session


def proven(session: Session) -> EvidenceSet:
    asked = select(session, JobPurpose.VERIFY, NOTHING_KNOWN).asked
    results = (result(scenario=each.id, binding=bound) for each, bound in asked)
    board = DeviceIdentity(name="board", kind="local", facts={})
    return EvidenceSet(entries=(evidence(*results, device=board),))


PLAIN_FUNCTIONS = "level: function, base: plain"
VERIFY, TRACE, RECORD = JobPurpose.VERIFY, JobPurpose.TRACE, JobPurpose.RECORD


@pytest.mark.parametrize(
    ("make", "purpose", "per_job", "device", "emulated", "functions"),
    [
        # The committed keep set, and the quick way: by the devices on runners alone.
        (
            lambda folder: built(folder, committed=True),
            *(VERIFY, 1),
            ["megtrim-evidence-any-1", "megtrim-evidence-any-2"],
            *([], "false"),
        ),
        (
            lambda folder: built(folder, quick=True),
            *(VERIFY, 20, ["megtrim-evidence-any-1"], [], "false"),
        ),
        # Classes without a runner are traced on emulators.
        (built, TRACE, 20, ["megtrim-traces-any-1"], ["megtrim-traces-big-1"], "false"),
        # The first jobs know that others follow; those know that they are the last.
        (linked, TRACE, 20, ["megtrim-traces-any-1"], ["megtrim-traces-big-1"], "true"),
        (linked, RECORD, 20, ["megtrim-functions-any-1"], ["megtrim-functions-big-1"], "false"),
        (
            lambda folder: linked(folder, trim=PLAIN_FUNCTIONS),
            *(RECORD, 20, ["megtrim-functions-any-1"], ["megtrim-functions-big-1"], "false"),
        ),
        # A build that failed has no job: there is nothing that a device could run.
        (
            lambda folder: without(linked(folder, trim=PLAIN_FUNCTIONS), LINKED),
            *(RECORD, 20, [], [], "false"),
        ),
        (
            lambda folder: without(built(folder, committed=True), REDUCED),
            *(VERIFY, 20, [], [], "false"),
        ),
        # Jobs that take times share contests, not scenarios.
        (
            lambda folder: timed(folder, committed=True),
            *(JobPurpose.TIME, 3, ["megtrim-times-any-1", "megtrim-times-any-2"], [], "false"),
        ),
    ],
)
def test_jobs_run_what_was_packed(
    tmp_path: Path,
    make: Callable[[Path], Session],
    purpose: JobPurpose,
    per_job: int,
    device: list[str],
    emulated: list[str],
    functions: str,
) -> None:
    outputs = describe_jobs(make(tmp_path), purpose, NOTHING_KNOWN, per_job=per_job)

    for name, artifacts in (("device", device), ("emulated", emulated)):
        cpu_class = "any" if name == "device" else "big"
        entries = [
            job(cpu_class, f"{index}/{len(artifacts)}", artifact)
            for index, artifact in enumerate(artifacts, 1)
        ]
        assert json.loads(outputs[name]) == {"include": entries}
        assert outputs[f"{name}-jobs"] == str(len(artifacts))
    assert outputs["functions"] == functions
    assert not any("\n" in value for value in outputs.values())


def test_what_is_proven_has_no_job(tmp_path: Path) -> None:
    session = built(tmp_path, committed=True)
    outputs = describe_jobs(session, VERIFY, proven(session), per_job=20)

    assert (json.loads(outputs["device"]), outputs["device-jobs"]) == (NONE, "0")
