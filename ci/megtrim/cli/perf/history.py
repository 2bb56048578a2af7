"""``megtrim perf history``: what happened to times over the nights."""

from __future__ import annotations

import json
from datetime import date

import click

from megtrim.cli.echo import show
from megtrim.cli.history_options import HistorySelector, history_options, parse_day
from megtrim.history.entries import History
from megtrim.perf.nights.change_points import Direction, Pattern
from megtrim.perf.nights.history import RUN_FILES, HistoryRun
from megtrim.perf.nights.series import DatedChange, Series, make_series
from megtrim.util.errors import EXIT_PASS
from megtrim.util.strict_json import encode
from megtrim.util.wording import count

_COMMIT_DIGITS = 12


@click.command(
    epilog="""\b
Examples:
  megtrim perf history
  megtrim perf history --branch perf-history --since 2026-10-01 --scenario resnet/plain-run@armv82
"""
)
@history_options
@click.option(
    "--since", callback=parse_day, metavar="DATE", help="Only runs of this day and later."
)
@click.option("--scenario", default="", metavar="ID", help="Only this scenario.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def history(selector: HistorySelector, since: date | None, scenario: str, as_json: bool) -> int:
    """Print each series of nights: its last time, and its changes, or whether it drifts.

    A change is dated between two commits. Another device, or another version of the way megtrim
    measures, begins a new series. The exit status does not depend on what is found.
    """
    found = selector.read(RUN_FILES, since)
    series = make_series(found.entries, scenario=scenario)
    show(json.dumps(_as_json(found, series), indent=1) if as_json else _text(found, series))
    return EXIT_PASS


def _as_json(found: History[HistoryRun], series: tuple[Series, ...]) -> dict[str, object]:
    return {
        "runs": [run.id for run in found.entries],
        "unreadable": encode(found.unreadable),
        "series": encode(series),
    }


def _text(found: History[HistoryRun], series: tuple[Series, ...]) -> str:
    lines = [f"{count(len(found.entries), 'run')}, {len(series)} series"]
    for each in series:
        last = each.points[-1]
        time = f"{last.time.median_ms:.3f} ms on {last.measured_at[:10]}"
        lines.append(f"{each.key} on {each.device_name}: {_headline(each)}; {time}")
        lines += [f"    {_describe(change)}" for change in each.changes]
        if each.follows:
            lines.append(f"    a series of its own: {each.follows}")
    return "\n".join(lines)


def _headline(series: Series) -> str:
    findings = series.findings
    match findings.pattern:
        case Pattern.TOO_SHORT:
            more = "night" if findings.missing == 1 else "nights"
            return f"{findings.pattern}: {findings.missing} {more} more needed"
        case Pattern.DRIFT:
            share = 100 * (findings.drift_ratio - 1)
            return f"drift of {share:+.1f} % in all over {findings.nights} nights"
        case Pattern.QUIET:
            return f"quiet over {findings.nights} nights"
        case Pattern.CHANGED:
            count = len(series.changes)
            return f"{count} change{'s' if count > 1 else ''} in {findings.nights} nights"


def _describe(dated: DatedChange) -> str:
    change, good, bad = dated.change, dated.last_good, dated.first_bad
    share, low, high = (100 * (ratio - 1) for ratio in (change.ratio, change.lower, change.upper))
    word = "slower" if change.direction is Direction.SLOWER else "faster"
    size = f"{word}: {share:+.1f} % ({low:+.1f} to {high:+.1f})"
    days = f"after {good.measured_at[:10]}, by {bad.measured_at[:10]}"
    return f"{size}, {days}: {good.commit[:_COMMIT_DIGITS]}..{bad.commit[:_COMMIT_DIGITS]}"
