"""``megtrim ci gate``: a report's exit status, as the last step of a job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from megtrim.core.chain.filenames import VERDICT_FILE
from megtrim.core.checks.statuses import exit_code
from megtrim.core.cli.echo import show, show_summary
from megtrim.core.cli.environment import open_processes
from megtrim.core.verdict.conclusion import Conclusion, conclude, read_conclusion
from megtrim.hosting.github.runner import write_output
from megtrim.libs.util import limits
from megtrim.libs.util.errors import InfrastructureFailure

if TYPE_CHECKING:
    from megtrim.core.evidence.fields import EarlyExit

T = TypeVar("T")

NOTHING_LEFT = "the build job left no result"
_UNVERIFIED = (
    "  a program was not built, a limit was not measured, or a scenario was not verified while "
    "verify.unverified is fail: look at the checks in the report, then run the jobs again"
)
_HINT = "is the folder the report of this run?"


@click.command(
    epilog="""\b
Examples:
  megtrim ci gate report
  megtrim ci gate megtrim-out/final

\b
Outputs of the step:
  verdict  pass, unverified, inconclusive, fail; error: the run ended before a verdict
  size     bytes of the first artifact, trimmed; empty if it was not measured
"""
)
@click.argument("report", type=click.Path(path_type=Path))
def gate(report: Path) -> int:
    """Exit with the status of the verdict in REPORT, or of a run that ended before a verdict."""
    env = open_processes().env
    found: Conclusion | EarlyExit | None = None
    try:
        found = read_report(report, _read)
    finally:
        known = found if isinstance(found, Conclusion) else None
        size_bytes = known.size_bytes if known else None
        write_output(env, "verdict", str(known.verdict) if known else "error")
        write_output(env, "size", "" if size_bytes is None else str(size_bytes))
    if not isinstance(found, Conclusion):
        for line in str(found).splitlines():
            show(f"  {limits.clean_line(line)}")
        return found.exit
    show_summary(f"{found.verdict}: {limits.clean_line(found.headline)}")
    status = exit_code(found.verdict, found.unverified)
    if status == InfrastructureFailure.exit_code:
        show(_UNVERIFIED)
    return status


def read_report(report: Path, read: Callable[..., T]) -> T | EarlyExit:
    """Raises InfrastructureFailure where it left neither a verdict nor how it ended.

    How it ended comes first: a verdict beside it is that of an earlier run.
    """
    path = report / VERDICT_FILE
    left = report / limits.ENDING_FILE
    if not left.exists() and path.is_file():
        return read(limits.read_text(path, hint=_HINT), source=str(path))
    if left.exists():
        from megtrim.core.evidence.fields import parse_ending

        return parse_ending(limits.read_text(left, hint=_HINT), source=str(left))
    msg = f"{report}: {NOTHING_LEFT}"
    raise InfrastructureFailure(msg, hint="read the log of the build job, and run it again")


def _read(text: str, *, source: str) -> Conclusion:
    if (found := read_conclusion(text, source=source)) is not None:
        return found
    from megtrim.core.verdict.model import parse_verdict

    return conclude(parse_verdict(text, source=source))
