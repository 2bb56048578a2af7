"""``megtrim ci evidence pack``: what a hosted build gives to device jobs."""

import json
from dataclasses import replace
from pathlib import Path

import click

from megtrim.core import stages
from megtrim.core.chain.graph import PROFILE, tasks, trims_functions, with_dependencies
from megtrim.core.chain.matrix import entries
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.echo import show
from megtrim.core.cli.environment import open_processes
from megtrim.core.cli.session.setup import describe, open_session
from megtrim.core.config.device import HOSTED_RUNNER
from megtrim.core.evidence.evidence import EvidenceSet, JobPurpose, load_proofs
from megtrim.hosting.github.runner import write_output
from megtrim.lab.evidence.bundle import BUNDLE_FILE, Bundle
from megtrim.lab.jobs import pack as bundling
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import EXIT_PASS, InputError, worst_exit_code
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.wording import count

_ARTIFACTS = {
    JobPurpose.VERIFY: "megtrim-evidence",
    JobPurpose.TRACE: "megtrim-traces",
    JobPurpose.RECORD: "megtrim-functions",
    JobPurpose.TIME: "megtrim-times",
}


def read_proofs(path: Path | None, console: Console) -> EvidenceSet:
    if path is not None and path.exists():
        return load_proofs(path)
    if path is not None:
        console.say(f"no earlier proofs: there is no {path}")
    return EvidenceSet(entries=())


def pack(options: Options, asked: str | None, proofs: Path | None, per_job: int, to: Path) -> int:
    combines = asked == "times" and proofs is None
    if asked and not combines and (options.committed or options.quick or proofs is not None):
        others = "--proofs" if asked == "times" else "--committed, --quick or --proofs"
        msg = f"--{asked} asks for new {asked}: it cannot be combined with {others}"
        raise click.UsageError(msg)
    if options.traces and asked != "functions":
        msg = "--evidence has the traces that --functions builds from: it needs --functions"
        raise click.UsageError(msg)
    session = open_session(options)
    # Functions are recorded again.
    session = replace(session, request=replace(session.request, recorded={}))
    describe(session)
    config = session.config
    if asked == "functions" and not trims_functions(config):
        msg = f"{session.request.loaded.path}: trim.level is region, so no functions are recorded"
        raise InputError(msg, hint="add trim: {level: function}")
    if asked in ("traces", "functions") and config.trim.keeps_kernels:
        msg = f"{session.request.loaded.path}: trim.level is operator, so nothing is recorded"
        raise InputError(msg, hint="trim without a device job, or add trim: {level: region}")
    purpose = (
        JobPurpose.TIME
        if asked == "times"
        else bundling.purpose_of(config, proves=asked is None, functions=asked == "functions")
    )
    known = read_proofs(proofs, session.console)
    required = bundling.list_required_tasks(config, purpose)
    _, codes = stages.run(with_dependencies(required, session.request.tasks), session)
    # A profile build that a trap needed already explains one on a device, too.
    stages.plan(with_dependencies([PROFILE], tasks(config)), session)
    session = stages.able(session)
    bundle = bundling.pack(session, purpose, known, to)
    if worst_exit_code(codes) != EXIT_PASS:
        session.console.warn("not all programs could be built: the bundle asks for nothing")
    digest = sha256_file(to / BUNDLE_FILE)
    show(_describe_bundle(bundle))
    outputs = describe_jobs(session, purpose, known, per_job=per_job)
    outputs["bundle-sha256"] = digest
    for name, value in outputs.items():
        show(f"{name}={value}")
        write_output(open_processes().env, name, value)
    # A verification and times have a verdict, which reports a failed build; nothing else has one.
    return worst_exit_code(codes) if asked in ("traces", "functions") else EXIT_PASS


def _describe_bundle(bundle: Bundle) -> str:
    timed = bundle.purpose is JobPurpose.TIME
    asked = len(bundle.contests if timed else bundle.scenarios)
    noun = "contest" if timed else "scenario"
    text = f"{count(asked, noun)} to {bundle.purpose} on devices"
    return f"{text}, {len(bundle.proven)} already proven" if bundle.proven else text


def describe_jobs(
    session: Session, purpose: JobPurpose, known: EvidenceSet, *, per_job: int
) -> dict[str, str]:
    selection = bundling.select(session, purpose, known)
    runners = bundling.runner_classes(session.request)
    follows = purpose is JobPurpose.TRACE and trims_functions(session.config)
    outputs = {"functions": str(follows).lower()}
    for name, on_runners in (("device", True), ("emulated", False)):
        jobs = entries(
            selection.counts(runners=runners, on_runners=on_runners),
            per_job=per_job,
            artifact=_ARTIFACTS[purpose],
            config=session.request.invocation.config,
        )
        hosted = dict.fromkeys(session.config.hosted_classes, HOSTED_RUNNER)
        shown = [each.as_json() | {"runner": hosted.get(each.cpu_class, "")} for each in jobs]
        matrix = {"include": shown}
        outputs[name] = json.dumps(matrix, separators=(",", ":"))
        outputs[f"{name}-jobs"] = str(len(jobs))
    return outputs
