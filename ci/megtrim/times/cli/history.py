"""The history of times: ``megtrim perf history``, ``append`` and ``compare``."""

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from megtrim.core.cli.clock import read_now
from megtrim.core.cli.echo import show, show_json
from megtrim.core.cli.history_selector import HistorySelector, warn_unreadable
from megtrim.core.timing.times import Answer, ratio_with_interval
from megtrim.core.verdict.performance import PerformanceRow
from megtrim.libs.history.entries import History
from megtrim.libs.history.folder import read_entry_file, read_folder
from megtrim.libs.render.formatting import align_columns
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import decode
from megtrim.libs.util.wording import count
from megtrim.times.nights.history import RUN_FILES, HistoryRun, compare_runs
from megtrim.times.nights.series import Change, Series, make_series

_COMMIT_DIGITS = 12


def history(selector: HistorySelector, since: date | None, scenario: str, as_json: bool) -> None:
    found = selector.read(RUN_FILES, since)
    series = make_series(found.entries, scenario=scenario)
    if as_json:
        runs = [run.id for run in found.entries]
        show_json({"runs": runs, "unreadable": found.unreadable, "series": series})
    else:
        show(_text(found, series))


def _text(found: History[HistoryRun], series: tuple[Series, ...]) -> str:
    lines = [f"{count(len(found.entries), 'run')}, {len(series)} series"]
    for each in series:
        last = each.points[-1]
        time = f"{last.time.median_ms:.3f} ms on {last.measured_at[:10]}"
        lines.append(f"{each.key} on {each.device_name}: {_headline(each)}; {time}")
        lines += [f"    {_describe(change)}" for change in each.changes]
        if each.follows:
            lines.append(f"    a separate series: {each.follows}")
    return "\n".join(lines)


def _headline(series: Series) -> str:
    nights = count(len(series.points), "night")
    changes = count(len(series.changes), "change")
    return f"{changes} in {nights}, {series.compared} of them compared"


def _describe(change: Change) -> str:
    ratio = change.ratio
    point = change.point
    against = f" than {ratio.name}" if ratio.name else ""
    on = f"{point.date} at {point.commit[:_COMMIT_DIGITS]}"
    return f"{on}: {change.direction}{against}, ratio {ratio_with_interval(ratio)}"


_COMMIT = re.compile(r"[0-9a-f]{7,64}", re.ASCII)


def load_run(path: Path) -> HistoryRun:
    if not path.exists():
        msg = f"{path}: found no such file, expected a run of times"
        raise InputError(msg, hint="`megtrim perf run --runs runs` writes them")
    text = decode(read_entry_file(path, RUN_FILES), shown=str(path))
    return RUN_FILES.parse(text, source=str(path))


def choose_runs(text: str, selector: HistorySelector) -> tuple[HistoryRun, ...]:
    """A folder's newest runs are those of its newest commit. Raises InputError."""
    path = Path(text)
    if path.is_dir():
        found = read_folder(path, RUN_FILES).until(read_now())
        warn_unreadable(found)
        if not found.entries:
            msg = f"{text}: found no run in this folder, expected a history"
            raise InputError(msg)
        newest = found.entries[-1].commit.sha
        return tuple(run for run in found.entries if run.commit.sha == newest)
    if path.exists():
        return (load_run(path),)
    runs = selector.read(RUN_FILES).entries
    chosen = tuple(run for run in runs if run.id == text)
    if not chosen and _COMMIT.fullmatch(text):
        chosen = tuple(run for run in runs if run.commit.sha.startswith(text))
    commits = {run.commit.sha for run in chosen}
    if len(commits) > 1:
        msg = f"{text}: found {len(commits)} commits that begin like this, expected one"
        raise InputError(msg, hint="give more digits")
    if not chosen:
        msg = f"{text}: found no such run, commit, file or folder"
        hint = "`megtrim perf history` lists runs; a commit has 7 digits or more"
        raise InputError(msg, hint=hint)
    return chosen


def append(selector: HistorySelector, files: tuple[Path, ...]) -> None:
    runs = [load_run(path) for path in files]
    where = selector.append(runs)
    show("\n".join(f"{run.path} in {where}" for run in runs))


_METHOD = "Ratios of medians; each interval combines those of both runs, which keep no samples."


def compare(selector: HistorySelector, first: str, second: str, as_json: bool) -> None:
    found = compare_runs(choose_runs(first, selector), choose_runs(second, selector))
    if as_json:
        show_json({"rows": found})
    else:
        show(_show_ratios(found))


def _show_ratios(found: Sequence[PerformanceRow]) -> str:
    head = ("scenario", "contestant", "stage", "device", "A ms", "B ms", "B / A", "interval")
    rows = []
    for row in found:
        medians = [f"{time.median_ms:.3f}" for time in row.times]
        for ratio in row.ratios:
            interval = f"{ratio.lower:.3f} to {ratio.upper:.3f}"
            if ratio.different is Answer.YES:
                interval += " *"
            names = (row.scenario, row.experiment, ratio.stage, row.device)
            rows.append((*names, *medians, f"{ratio.ratio:.3f}", interval))
    lines = align_columns(head, rows, head[:4]) if rows else ["no row of both to compare"]
    if rows:
        lines += ["", f"{_METHOD} *: the interval does not contain 1."]
    notes = {note for row in found for note in row.conditions}
    lines += [f"note: {note}" for note in sorted(notes)]
    for row in found:
        if not row.ratios:
            lines.append(f"not compared: {row.subject} on {row.device}: {row.reason}")
    return "\n".join(lines)
