"""``megtrim plan --github-matrix``: the device jobs that a workflow starts."""

from __future__ import annotations

import json
from pathlib import Path

from megtrim.chain.graph import trims_functions
from megtrim.chain.matrix import entries
from megtrim.chain.session import Session
from megtrim.cli.ci.evidence.previous_proofs import read_proofs
from megtrim.cli.echo import show
from megtrim.cli.environment import open_processes
from megtrim.evidence.bundle import JobPurpose
from megtrim.github.runner import write_output
from megtrim.jobs import pack
from megtrim.util.errors import EXIT_PASS

_ARTIFACTS = {
    JobPurpose.VERIFY: "megtrim-evidence",
    JobPurpose.TRACE: "megtrim-traces",
    JobPurpose.RECORD: "megtrim-functions",
    JobPurpose.TIME: "megtrim-times",
}


def show_matrix(session: Session, *, proofs: Path | None, per_job: int, times: bool = False) -> int:
    """Print the jobs as JSON and set them as outputs of the step.

    ``session`` knows what is built. Scenarios with a young proof in ``proofs`` need no job.
    Functions are recorded once there are traces. ``times``: the jobs take times instead; they
    share the contests, not the scenarios.
    """
    config = session.request.config
    purpose = (
        JobPurpose.TIME
        if times
        else pack.purpose_of(
            config,
            proves=session.request.options.committed or session.request.options.quick,
            functions=bool(session.request.traced),
        )
    )
    for task in pack.missing(session, purpose)[:1]:
        session.services.console.warn(f"no job: {task}, which devices would run, is not built yet")
    selection = pack.select(session, purpose, read_proofs(proofs, session.services.console))
    runners = pack.runner_classes(session.request)
    if selection.proven:
        session.services.console.say(
            f"no job for scenarios that are proven: {len(selection.proven)}"
        )
    jobs = {
        name: entries(
            selection.counts(runners=runners, on_runners=on_runners),
            per_job=per_job,
            artifact=_ARTIFACTS[purpose],
            config=session.request.invocation.config,
        )
        for name, on_runners in (("device", True), ("emulated", False))
    }
    matrices = {
        name: {"include": [entry.as_json() for entry in found]} for name, found in jobs.items()
    }
    show(json.dumps(matrices, indent=1))
    env = open_processes().env
    follows = purpose is JobPurpose.TRACE and trims_functions(config)
    write_output(env, "functions", str(follows).lower())
    for name, found in jobs.items():
        write_output(env, name, json.dumps(matrices[name], separators=(",", ":")))
        write_output(env, f"{name}-jobs", str(len(found)))
    return EXIT_PASS
