"""``megtrim release patch``: from a crash in the field to a release that does not have it."""

import hashlib
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from megtrim.core.chain.graph import REDUCED
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.echo import show
from megtrim.core.config.load import load_config
from megtrim.core.trim.builds import links
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count
from megtrim.ship.cli.release import leave, trim_for_release
from megtrim.ship.crashes.finding import CrashFinding
from megtrim.ship.crashes.lookup import escape, list_lines_to_keep, look_up
from megtrim.ship.crashes.report import MAX_REPORT_BYTES, parse_report
from megtrim.ship.release.archive import expect_new, open_release
from megtrim.ship.release.check import check_release, expect_whole
from megtrim.ship.release.collect import collect_release
from megtrim.ship.release.contents import ReleaseContents, ReleasePatch
from megtrim.ship.release.patches import expect_kept, make_patch
from megtrim.ship.release.prove import compare_causes, read_programs

_OTHER_PROJECT = (
    "check out the project, engine and keep set that the release was made from; if it was built "
    "with --committed, give that here, too"
)


class _Plan(Value):
    contents: ReleaseContents
    finding: CrashFinding
    patch: ReleasePatch


def patch(options: Options, new: Path, crash: Path, release: Path) -> int:
    expect_new(new)
    plan = _make_plan(crash, release)
    loaded = load_config(options.config, engine_source=options.engine)
    if loaded.sha256 != plan.contents.configuration_sha256:
        msg = f"{loaded.path} is not the configuration that {release} was made from"
        raise InputError(msg, hint=_OTHER_PROJECT)
    for name in plan.patch.added:
        show(f"trimming left out {name} of {plan.patch.program}")
    kept = tuple(map(escape, plan.patch.kept))
    session, status = trim_for_release(replace(options, kept=kept), new)
    if status:
        return status
    if differences := list(compare_causes(plan.contents, session)):
        msg = f"{release} was made from other files than those here: {'; '.join(differences)}"
        raise InputError(msg, hint=_OTHER_PROJECT)
    expect_kept(plan.finding, _read_left_out(session, plan.contents))
    files = collect_release(session, megtrim=version("megtrim"), patch=plan.patch)
    _show_changes(session, plan)
    return leave(files, new)


def _make_plan(crash: Path, release: Path) -> _Plan:
    data = read_bytes(crash, most_bytes=MAX_REPORT_BYTES, expected="the report of a crash")
    report = parse_report(data, source=str(crash))
    with open_release(release) as folder:
        found = check_release(folder)
        contents = expect_whole(found, release)
        made = read_programs(folder, contents, shown=str(release))
    finding = look_up(report, made.programs, made.nameless)
    decided = make_patch(
        finding,
        made.programs,
        contents,
        of=found.sha256,
        report_sha256=hashlib.sha256(data).hexdigest(),
    )
    return _Plan(contents=contents, finding=finding, patch=decided)


def _read_left_out(session: Session, contents: ReleaseContents) -> dict[str, tuple[str, ...]]:
    reduced = session.done[REDUCED]
    names = (each.artifact for each in contents.functions)
    return {name: tuple(links.read_dropped(reduced, name) or ()) for name in names}


def _show_changes(session: Session, plan: _Plan) -> None:
    reduced = session.done[REDUCED]
    for artifact in plan.contents.artifacts:
        size_bytes = reduced.file(f"bin/{artifact.name}").stat().st_size
        show(f"{artifact.path}: {artifact.size_bytes:,} bytes before, {size_bytes:,} now")
    show(f"proven again: {count(len(plan.contents.scenarios), 'scenario')}")
    show("to keep it in later releases, write into the configuration:")
    for line in list_lines_to_keep(plan.patch.kept):
        show(line)
