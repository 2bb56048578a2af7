"""What jobs of a night read: a report's verdict, and the history in a folder."""

from __future__ import annotations

from pathlib import Path

from megtrim.chain.filenames import VERDICT_FILE
from megtrim.cli.environment import read_now
from megtrim.cli.history_options import warn_unreadable
from megtrim.history.folder import read_folder
from megtrim.perf.nights.history import RUN_FILES, HistoryRun
from megtrim.util.input_files import read_text
from megtrim.util.json_text import LARGEST_DOCUMENT
from megtrim.verdict.model import Verdict, parse_verdict


def read_runs(history: Path) -> tuple[HistoryRun, ...]:
    """Return the runs of a history, with a warning for each damaged one; a first night has none."""
    if not history.is_dir():
        return ()
    found = read_folder(history, RUN_FILES).until(read_now())
    warn_unreadable(found)
    return found.entries


def read_verdict(report: Path) -> Verdict:
    """Return the verdict of a report's folder. Raises InputError."""
    path = report / VERDICT_FILE
    hint = "name the folder of a report, with a verdict.json"
    text = read_text(path, most_bytes=LARGEST_DOCUMENT, expected="a verdict", hint=hint)
    return parse_verdict(text, source=str(path))
