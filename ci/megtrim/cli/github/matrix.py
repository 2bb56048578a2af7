"""``megtrim plan --github-matrix``: the device jobs that a workflow starts."""

from __future__ import annotations

import json
from pathlib import Path

from megtrim.cli.echo import show
from megtrim.cli.evidence.previous_proofs import read_proofs
from megtrim.cli.session.environment import open_processes
from megtrim.device_jobs import pack
from megtrim.errors import EXIT_PASS
from megtrim.evidence.bundle import JobPurpose
from megtrim.github.runner import write_output
from megtrim.pipeline.session import Context
from megtrim.plan.graph import trims_functions
from megtrim.plan.matrix import MatrixEntry, entries

_ARTIFACTS = {
    JobPurpose.VERIFY: "megtrim-evidence",
    JobPurpose.TRACE: "megtrim-traces",
    JobPurpose.RECORD: "megtrim-functions",
}


def show_matrix(context: Context, *, proofs: Path | None, per_job: int) -> int:
    """Print the jobs as JSON and give them to the steps after this one.

    ``context`` knows what is built. What a young proof in ``proofs`` shows needs no job. Functions
    are next once there are traces.
    """
    config = context.loaded.config
    purpose = pack.purpose_of(
        config, proves=context.committed or context.quick, functions=bool(context.traced)
    )
    for task in pack.missing(context, purpose)[:1]:
        context.console.warn(f"no job: {task} is not made yet, and devices would run it")
    selection = pack.select(context, purpose, read_proofs(proofs, context.console))
    runners = pack.runner_classes(context)
    if selection.proven:
        context.console.say(f"no job for what is proven: {len(selection.proven)} of the scenarios")
    jobs = {
        "device": _jobs(selection, runners, purpose, per_job, on_runners=True),
        "emulated": _jobs(selection, runners, purpose, per_job, on_runners=False),
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


def _jobs(
    selection: pack.Selection,
    runners: frozenset[str],
    purpose: JobPurpose,
    per_job: int,
    *,
    on_runners: bool,
) -> tuple[MatrixEntry, ...]:
    counts = selection.counts(runners=runners, on_runners=on_runners)
    return entries(counts, per_job=per_job, artifact=_ARTIFACTS[purpose])
