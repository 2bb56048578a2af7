"""``megtrim ci gate``: a report's exit status, as the last step of a job."""

from __future__ import annotations

from pathlib import Path

import click

from megtrim.cli.echo import show
from megtrim.errors import InfrastructureFailure, InputError
from megtrim.evidence import limits
from megtrim.evidence.early_exit import ENDING_FILE, parse_ending
from megtrim.pipeline.filenames import VERDICT_FILE
from megtrim.verdict.join import exit_code
from megtrim.verdict.model import parse_verdict

NOTHING_LEFT = "the build job left no result"
_UNVERIFIED = (
    "  verify.unverified is fail, so each scenario needs a device that verified it: "
    "look at the device jobs, then run this job again"
)
_HINT = "is the folder the report of this run?"


@click.command(
    epilog="""\b
Examples:
  megtrim ci gate report
  megtrim ci gate megtrim-out/final
"""
)
@click.argument("report", type=click.Path(path_type=Path))
def gate(report: Path) -> int:
    """Exit with the status of the verdict in REPORT, or of a run that ended before a verdict."""
    path = report / VERDICT_FILE
    if path.is_file():
        _expect_alone(report)
        verdict = parse_verdict(limits.read_text(path, hint=_HINT), source=str(path))
        show(f"{verdict.verdict}: {limits.clean_line(verdict.headline)}")
        status = exit_code(verdict.verdict, verdict.unverified)
        if status == InfrastructureFailure.exit_code:
            show(_UNVERIFIED)
        return status
    path = report / ENDING_FILE
    if path.is_file():
        ending = parse_ending(limits.read_text(path, hint=_HINT), source=str(path))
        for line in str(ending).splitlines():
            show(f"  {limits.clean_line(line)}")
        return ending.exit
    msg = f"{report}: {NOTHING_LEFT}"
    raise InfrastructureFailure(msg, hint="look at the build job, and run it again")


def _expect_alone(report: Path) -> None:
    """Refuse a verdict next to the ending of a run without one: one of them is older."""
    if (report / ENDING_FILE).exists():
        msg = f"{report}: found {VERDICT_FILE} and {ENDING_FILE}, expected one of them"
        raise InputError(msg, hint="two runs wrote there: empty the folder, and run again")
