"""``megtrim ci github toolchains``: one comment and one gate for all toolchains of a file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path, PurePosixPath

import click

from megtrim.checks.invocation import REPORT_ARTIFACT
from megtrim.checks.statuses import exit_code
from megtrim.cli.ci.gate import read_ending, read_report
from megtrim.cli.echo import show
from megtrim.cli.environment import open_processes
from megtrim.cli.session.job_summary import COMMENT_FILE, confirm_origin, read_page
from megtrim.cli.session.origin import read_event_origin
from megtrim.config.config_id import DEFAULT_CONFIG, choose, split, suffix_of
from megtrim.evidence import limits
from megtrim.evidence.configuration import expect_configuration
from megtrim.github.runner import write_output
from megtrim.render.markup import block
from megtrim.report.comment import Links
from megtrim.report.joint_comment import ToolchainReport, find_worst, render
from megtrim.util.errors import InputError, MegtrimError, worst_exit_code
from megtrim.util.files import write_atomically
from megtrim.verdict.model import Verdict, parse_verdict


@click.command(
    epilog="""\b
Example:
  megtrim ci github toolchains reports --names "android-arm64 linux-x86-64" --to report

\b
Output of the step:
  verdict  the worst of all: pass, unverified, inconclusive, fail; error: one has none
"""
)
@click.argument("reports", type=click.Path(path_type=Path))
@click.option(
    "--config",
    "-c",
    default=DEFAULT_CONFIG,
    show_default=True,
    help="The file with the toolchains, from the top of the repository.",
)
@click.option("--names", required=True, help="Names of the toolchains, separated by spaces.")
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder that gets the comment, for `megtrim ci github publish`.",
)
def toolchains(reports: Path, config: str, names: str, folder: Path) -> int:
    """Join the reports of all toolchains of a file, and exit with the worst of their statuses.

    REPORTS is a folder with the artifact of each report in a folder of its name, or with the files
    of a single one. One that is missing is a failure: nothing is known of that toolchain.
    """
    if not names.split():
        msg = "--names: found nothing, expected names of toolchains"
        raise InputError(msg, hint="name them as the file does, separated by spaces")
    env = open_processes().env
    config = str(PurePosixPath(config))  # as reports name it, without a leading ./
    codes, found = [], []
    for name in names.split():
        chosen = choose(config, name)
        artifact = f"{REPORT_ARTIFACT}{suffix_of(chosen)}"
        report = _find_report(reports, artifact, chosen)
        known = read_event_origin(env, chosen)
        try:
            code, verdict = _judge(report, chosen)
            page = read_page(report, config=chosen, links=Links(artifact=artifact), known=known)
            text = page.text
        except MegtrimError as error:
            # The page of what was refused, such as another toolchain's, would speak for this one.
            show(f"{name}: {limits.clean_line(str(error))}")
            code, verdict, text = error.exit_code, None, block(str(error))
        if verdict is not None:
            verdict = confirm_origin(verdict, known)
        codes.append(code)
        found.append(ToolchainReport(name=name, verdict=verdict, page=text))
    of_verdicts = (each.verdict.origin.project for each in found if each.verdict)
    project = read_event_origin(env, config).project or next(of_verdicts, config)
    write_atomically(folder / COMMENT_FILE, render(project, config, found))
    worst = find_worst(found).verdict
    write_output(env, "verdict", "error" if worst is None else str(worst.verdict))
    return worst_exit_code(codes)


def _find_report(reports: Path, artifact: str, chosen: str) -> Path:
    """Return the folder of a report: its artifact's, or the one that a single artifact is in."""
    folder = reports / artifact
    return folder if folder.exists() or _config_of(reports) != chosen else reports


def _config_of(report: Path) -> str:
    """Return the configuration that a report says it is of; empty if it is none."""
    with suppress(MegtrimError):
        verdict = read_report(report, parse_verdict)
        return read_ending(report).config if verdict is None else verdict.invocation.config
    return ""


def _judge(report: Path, chosen: str) -> tuple[int, Verdict | None]:
    """Return the exit status of a toolchain's gate, and its verdict if there is one.

    Raises MegtrimError for a report that is missing, or is not this toolchain's.
    """
    _, name = split(chosen)
    verdict = read_report(report, parse_verdict)
    if verdict is not None:
        expect_configuration("the verdict", verdict.invocation.config, chosen)
        show(f"{name}: {verdict.verdict}: {limits.clean_line(verdict.headline)}")
        return exit_code(verdict.verdict, verdict.unverified), verdict
    ending = read_ending(report)
    expect_configuration("the report", ending.config, chosen)
    show(f"{name}: {limits.clean_line(str(ending))}")
    return ending.exit, None
