"""``megtrim ci evidence join``: the final report of a run, from what its jobs left."""

import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from megtrim.core.build_spec import Origin
from megtrim.core.chain.filenames import PAGE_FILE, SIZES_FILE, VERDICT_FILE
from megtrim.core.checks.invocation import BASELINE_FILE
from megtrim.core.checks.statuses import Contradiction, PendingReason, VerdictKind
from megtrim.core.cli.clock import read_today
from megtrim.core.cli.echo import open_console, show
from megtrim.core.cli.environment import open_processes
from megtrim.core.cli.session.job_summary import COMMENT_FILE, confirm_origin, read_page
from megtrim.core.cli.session.origin import read_event_origin
from megtrim.core.config.config_id import DEFAULT_CONFIG
from megtrim.core.evidence.evidence import (
    EVIDENCE_FILE,
    Evidence,
    EvidenceSet,
    JobPurpose,
    expect_configuration,
    read_evidence,
    read_folders,
)
from megtrim.core.evidence.fields import EarlyExit, parse_ending
from megtrim.core.report import comment, html, junit
from megtrim.core.report.comment import Links
from megtrim.core.verdict.model import Verdict, parse_verdict, to_json
from megtrim.hosting.cli.evidence.pack import read_proofs
from megtrim.hosting.cli.gate import NOTHING_LEFT
from megtrim.hosting.github.runner import describe_fork, parse_build_runner
from megtrim.lab.evidence.bundle import BUNDLE_FILE, Bundle, read_bundle
from megtrim.lab.evidence.times import TimesJudge, read_times
from megtrim.lab.jobs.join import DeviceFindings, join, join_times
from megtrim.libs.util import limits
from megtrim.libs.util.errors import EXIT_PASS, InfrastructureFailure, InputError, MegtrimError
from megtrim.libs.util.files import guard_write, read_object, sha256_file, write_atomically
from megtrim.libs.util.strict_json import dump
from megtrim.libs.util.value import Value

_REPORT_FILE = "report.md"
_JUNIT_FILE = "junit.xml"
_ALL = (
    VERDICT_FILE,
    limits.ENDING_FILE,
    EVIDENCE_FILE,
    SIZES_FILE,
    BASELINE_FILE,
    COMMENT_FILE,
    _REPORT_FILE,
    _JUNIT_FILE,
    PAGE_FILE,
)
_HINT = "download the results of the build job again"
_UNKNOWN = Origin()


class _JoinRequest(Value):
    config: str
    """Of the configuration that is judged; empty: that of the verdict."""
    verdict: Path
    bundle: Path | None
    sha256: str
    folders: tuple[Path, ...]
    proofs: Path | None
    pending: PendingReason | None
    build_runner: str
    origin: Origin
    to: Path
    today: date
    links: Links


def join_report(
    to: Path, config: Path | None, pending: str, run_url: str, artifact: str, **given: Any
) -> int:
    if to.exists() and not to.is_dir():
        msg = f"--to {to}: found no folder, expected one"
        raise InputError(msg)
    env = open_processes().env
    order = _JoinRequest(
        config=str(config or ""),
        pending=PendingReason(pending) if pending else None,
        origin=read_event_origin(env, str(config or "")),
        to=to,
        today=read_today(),
        links=links(env, run_url, artifact),
        **given,
    )
    path = order.verdict / VERDICT_FILE if order.verdict.is_dir() else order.verdict
    _expect_apart(order, path.parent)
    _clear(to)
    try:
        if order.build_runner:
            # GitHub started no build for what is no label, and does not say so here.
            parse_build_runner(order.build_runner)
        ending = path.parent / limits.ENDING_FILE
        if path.is_file() and not ending.exists():
            _join(order, path)
        else:
            _write_ending(order, _read_ending(ending, order.config))
    except MegtrimError as error:
        # In place of the report, for the gate and the comment.
        _write_ending(order, EarlyExit.of(error, order.config or DEFAULT_CONFIG))
        raise
    return EXIT_PASS


def links(env: Mapping[str, str], run_url: str, artifact: str) -> Links:
    parts = [env.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY")]
    number = env.get("GITHUB_RUN_ID", "")
    known = all((*parts, number))
    return Links(
        run=run_url or ("/".join((*parts, "actions/runs", number)) if known else ""),
        artifact=artifact,
    )


def _expect_apart(order: _JoinRequest, results: Path) -> None:
    given = [results, *order.folders]
    if order.proofs:
        given.append(order.proofs.parent)
    if order.to.resolve() in [each.resolve() for each in given]:
        msg = f"--to {order.to}: found the folder of the inputs, expected another one"
        raise InputError(msg, hint="name a new folder with --to")


def _join(order: _JoinRequest, path: Path) -> None:
    verdict = parse_verdict(limits.read_text(path, hint=_HINT), source=str(path))
    judged = verdict.invocation.config
    expect_configuration(str(path), judged, order.config or judged)
    bundle = _read_bundle(order, verdict)
    proofs = read_proofs(order.proofs, open_console())
    if bundle is not None and bundle.purpose is JobPurpose.TIME:
        joined = _join_times(order, verdict, bundle)
    else:
        joined, proofs = _join_proofs(order, verdict, bundle, proofs)
    joined = confirm_origin(joined, order.origin)
    # The verdict comes last: if it is there, the others are, too.
    write_forms(joined, order.to, order.links)
    write_atomically(order.to / EVIDENCE_FILE, dump(proofs))
    for name in (SIZES_FILE, BASELINE_FILE):
        _copy(path.parent / name, order.to / name)
    write_atomically(order.to / VERDICT_FILE, to_json(joined))
    show(f"{joined.verdict}: {limits.clean_line(joined.headline)}")


def _join_proofs(
    order: _JoinRequest, verdict: Verdict, bundle: Bundle | None, proofs: EvidenceSet
) -> tuple[Verdict, EvidenceSet]:
    evidence, problems = _read_all(order.folders)
    if order.build_runner and order.pending is PendingReason.FORK:
        problems = (*problems, *filter(None, (describe_fork(order.build_runner),)))
    seen = DeviceFindings(
        bundle=bundle,
        evidence=evidence,
        proofs=proofs,
        pending=order.pending,
        today=order.today,
        problems=problems,
    )
    return join(verdict, seen)


def _join_times(order: _JoinRequest, verdict: Verdict, bundle: Bundle) -> Verdict:
    brought, problems = read_times(order.folders, config=verdict.invocation.config)
    judge = TimesJudge(
        brought=brought,
        devices=bundle.devices,
        pending=order.pending,
        today=order.today,
        bundle=sha256_file(order.bundle / BUNDLE_FILE) if order.bundle else "",
    )
    return join_times(verdict, bundle, judge, problems)


def _read_bundle(order: _JoinRequest, verdict: Verdict) -> Bundle | None:
    folder = order.bundle
    if folder is None:
        return None
    if (folder / BUNDLE_FILE).exists():
        return read_bundle(folder, sha256=order.sha256 or None)
    if verdict.verdict is VerdictKind.FAIL:
        return None
    msg = f"the build job left no bundle in {folder}, so no device could run it"
    raise InfrastructureFailure(msg, hint="run the build job again")


def _read_all(folders: Sequence[Path]) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    found: list[Evidence] = []
    problems = []
    for folder in read_folders(folders):
        try:
            found += read_evidence(folder)
        except Contradiction:
            raise  # it may hold a failure, which must not be hidden
        except InputError as error:
            problems.append(limits.clean_line(f"evidence that cannot be used: {error.message}"))
    return tuple(found), tuple(problems)


def _clear(to: Path) -> None:
    """Raises InputError where files of these names are no report of megtrim's."""
    there = [name for name in _ALL if os.path.lexists(to / name)]
    if there and not any(_is_document(to / name) for name in (VERDICT_FILE, limits.ENDING_FILE)):
        msg = f"--to {to}: found {there[0]} of something else, expected no file or a former report"
        raise InputError(msg, hint="name a new folder with --to")
    with guard_write(to):
        to.mkdir(parents=True, exist_ok=True)
        for name in _ALL:
            (to / name).unlink(missing_ok=True)


def _is_document(file: Path) -> bool:
    found = read_object(file)
    return "version" in found and ("verdict" in found or "exit" in found)


def write_forms(verdict: Verdict, to: Path, where: Links) -> None:
    text = comment.render(verdict, links=where)
    write_atomically(to / COMMENT_FILE, text)
    write_atomically(to / _REPORT_FILE, text)
    write_atomically(to / _JUNIT_FILE, junit.render(verdict))
    write_atomically(to / PAGE_FILE, html.render(verdict, run=where.run))


def _copy(source: Path, target: Path) -> None:
    if not source.is_file() or source.is_symlink():
        return
    with guard_write(target):
        shutil.copyfile(source, target)


def _read_ending(left: Path, config: str) -> EarlyExit:
    if left.is_file():
        ending = parse_ending(limits.read_text(left, hint=_HINT), source=str(left))
        expect_configuration(str(left), ending.config, config or ending.config)
        return ending
    return EarlyExit(
        config=config or DEFAULT_CONFIG,
        exit=InfrastructureFailure.exit_code,
        message=NOTHING_LEFT,
        hint="read the log of the build job, and run it again",
    )


def leave_ending(ending: EarlyExit, to: Path, origin: Origin = _UNKNOWN) -> None:
    write_atomically(to / _JUNIT_FILE, junit.render_ending(ending, origin))
    write_atomically(to / limits.ENDING_FILE, dump(ending))


def _write_ending(order: _JoinRequest, ending: EarlyExit) -> None:
    to = order.to
    leave_ending(ending, to, order.origin)
    text = read_page(to, config=ending.config, links=order.links, known=order.origin).text
    write_atomically(to / COMMENT_FILE, text)
    write_atomically(to / _REPORT_FILE, text)
    show(limits.clean_line(f"no verdict: {ending.message}"))
