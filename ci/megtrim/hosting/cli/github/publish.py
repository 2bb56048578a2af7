"""``megtrim ci github publish`` shows a report; ``toolchains`` joins those of a file before.

Publishing never changes a verdict: what cannot be published is a warning.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from megtrim.core.build_spec import Origin
from megtrim.core.checks.invocation import REPORT_ARTIFACT
from megtrim.core.checks.statuses import exit_code
from megtrim.core.cli.echo import open_console, show, show_command
from megtrim.core.cli.environment import open_processes
from megtrim.core.cli.session.job_summary import COMMENT_FILE, confirm_origin, read_page
from megtrim.core.cli.session.origin import read_event_origin
from megtrim.core.config.config_id import choose, is_inside, split, suffix_of
from megtrim.core.evidence.evidence import expect_configuration
from megtrim.core.report.annotations import Annotation
from megtrim.core.report.comment import Links
from megtrim.core.report.toolchains import ToolchainReport, find_worst, render_joint
from megtrim.core.verdict.model import Verdict, parse_verdict
from megtrim.hosting.cli.gate import read_report
from megtrim.hosting.cli.github.client import open_api
from megtrim.hosting.github import runner
from megtrim.hosting.github.api import Api
from megtrim.hosting.github.issues import key_of, upsert
from megtrim.libs.render.markup import block
from megtrim.libs.util import limits
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import EXIT_PASS, InputError, MegtrimError, worst_exit_code
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.wording import one_line
from megtrim.places.github_event import Event, pull_request_of, read_event

T = TypeVar("T")

_FORK = (
    "no comment: the token of a pull request from a fork may not write one; the job summary has "
    "the same text, which the workflow of forks' comments shows when this run has ended"
)


class _Problems:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._lines: list[str] = []

    def attempt(self, action: Callable[[], T]) -> T | None:
        try:
            return action()
        except MegtrimError as error:
            self.note(str(error), warn=True)
            return None

    def note(self, text: str, *, warn: bool = False) -> None:
        # A runner takes commands from every line of a log, and parts of these are foreign.
        safe = "\n  ".join(one_line(line, most=1000) for line in text.splitlines())
        self._lines.append(safe)
        if warn:
            self._console.warn(safe)
        else:
            self._console.say(safe)

    def page(self) -> str:
        return block("\n".join(self._lines), limit=10_000) if self._lines else ""


def publish(
    report: Path, config: str, pull_request: int | None, artifact: str, annotated: Path | None,
    comments: bool,
) -> int:  # fmt: skip
    env = open_processes().env
    problems = _Problems(open_console())
    event = problems.attempt(lambda: read_event(env))
    links = Links(run="" if event is None else event.run_url, artifact=artifact)
    known = read_event_origin(env, config)
    known = replace(known, pull_request=known.pull_request or pull_request or 0)
    page = read_page(report, config=config, links=links, known=known)
    for problem in page.problems:
        problems.note(str(problem), warn=True)
    # First, and without the network: if something below fails, the text is there.
    problems.attempt(lambda: runner.add_summary(env, page.text))
    before = None if annotated is None else read_page(annotated, config=config, links=links)
    _annotate(page.annotations, before.annotations if before else ())
    number = event.pull_request.number if event and event.pull_request else pull_request
    if event is not None and number is not None and comments:
        problems.attempt(lambda: _comment(env, event, number, config, page.text, problems))
    if problems.page():
        problems.attempt(lambda: runner.add_summary(env, problems.page()))
    return EXIT_PASS


def _annotate(found: Sequence[Annotation], before: Sequence[Annotation]) -> None:
    for each in found:
        if each not in before:
            line = runner.annotation(
                each.level, each.message, title=each.title, file=each.file, line=each.line
            )
            show_command(line)


def _comment(
    env: Mapping[str, str], event: Event, number: int, config: str, text: str, problems: _Problems
) -> None:
    if event.pull_request is not None and event.pull_request.fork:
        problems.note(_FORK)
        return
    api = open_api(env, event)
    now = pull_request_of(api.get(f"/repos/{event.repository}/pulls/{number}"))
    if now.fork:
        problems.note(_FORK)
    elif now.head_sha != event.head_sha:
        # An overtaken run still ends; it must not overwrite the comment of the newer one.
        problems.note(
            f"no comment: pull request {number} is at {now.head_sha[:12]}, "
            f"this run is of {event.head_sha[:12]}"
        )
    else:
        write_comment(api, event, number, config, text)


def write_comment(api: Api, event: Event, number: int, config: str, text: str) -> None:
    outcome = upsert(api, event.repository, number, key_of(config), text)
    show(f"comment on pull request {number}: {outcome}")


def toolchains(reports: Path, config: str, names: str, folder: Path) -> int:
    if not names.split():
        msg = "--names: found nothing, expected names of toolchains"
        raise InputError(msg, hint="name them as the file does, separated by spaces")
    env = open_processes().env
    config = str(PurePosixPath(config))  # as reports name it, without a leading ./
    known = read_event_origin(env, config)
    codes, found = join_toolchains(reports, config, names.split(), known, Links())
    of_verdicts = (each.verdict.origin.project for each in found if each.verdict)
    project = known.project or next(of_verdicts, config)
    write_atomically(folder / COMMENT_FILE, render_joint(project, config, found))
    worst = find_worst(found).verdict
    runner.write_output(env, "verdict", "error" if worst is None else str(worst.verdict))
    return worst_exit_code(codes)


def join_toolchains(
    reports: Path, config: str, names: Sequence[str], known: Origin, links: Links
) -> tuple[list[int], list[ToolchainReport]]:
    """Return the exit status and the report of each; ``known`` is what is sure of all of them."""
    codes = []
    found = []
    for name in names:
        chosen = choose(config, name)
        artifact = f"{REPORT_ARTIFACT}{suffix_of(chosen)}"
        report = _find_report(reports, artifact, chosen)
        known = replace(known, config=chosen if is_inside(chosen) else "")
        try:
            code, verdict = judge_report(report, chosen)
            own = replace(links, artifact=artifact)
            text = read_page(report, config=chosen, links=own, known=known).text
        except MegtrimError as error:
            # The page of what was refused, such as another toolchain's, would speak for this one.
            show(f"{name}: {limits.clean_line(str(error))}")
            code = error.exit_code
            verdict = None
            text = block(str(error))
        if verdict is not None:
            verdict = confirm_origin(verdict, known)
        codes.append(code)
        found.append(ToolchainReport(name=name, verdict=verdict, page=text))
    return codes, found


def _find_report(reports: Path, artifact: str, chosen: str) -> Path:
    folder = reports / artifact
    with suppress(MegtrimError):
        found = None if folder.exists() else read_report(reports, parse_verdict)
        of = found.invocation.config if isinstance(found, Verdict) else found and found.config
        return reports if of == chosen else folder
    return folder


def judge_report(report: Path, chosen: str) -> tuple[int, Verdict | None]:
    """Raises InputError where it is of another configuration."""
    name = split(chosen)[1] or chosen
    found = read_report(report, parse_verdict)
    if isinstance(found, Verdict):
        expect_configuration("the verdict", found.invocation.config, chosen)
        show(f"{name}: {found.verdict}: {limits.clean_line(found.headline)}")
        return exit_code(found.verdict, found.unverified), found
    expect_configuration("the report", found.config, chosen)
    show(f"{name}: {limits.clean_line(str(found))}")
    return found.exit, None
