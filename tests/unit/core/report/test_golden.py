"""Kept comments: those of unit verdicts, and those of real runs, follow the words of today."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from megtrim.core.cli.session import job_summary
from megtrim.core.size.report import tables
from unit.core.report import golden
from unit.core.report.golden import FOLDER, OF_REAL_RUNS

HEADING = re.compile(r"^(?:#+ |<details><summary>)(.*?)(?:</summary>)?$", re.MULTILINE)
NOT_WORDS = re.compile(
    r"<code>.*?</code>|`[^`]*`|\d+ warnings?|\d[\d.,]*|\b(?:[KM]iB|B|SIZE|CHANGE)\b|s\b|[^\w\s]"
)


OTHERS = {"New in": tables, "megtrim ended before a verdict for": job_summary}
"""Headings that no verdict of a unit test has, and who writes them."""


def list_headings(folder: Path) -> set[str]:
    """Return the words of headings, up to a colon: no names, numbers and plurals."""
    texts = (path.read_text("utf-8") for path in folder.glob("*.md"))
    headings = (NOT_WORDS.sub("", heading.partition(":")[0]) for heading in _find_headings(texts))
    return {" ".join(words.split()) for words in headings} - {""}


def _find_headings(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (re.sub(r"`[^`]*`", "", heading) for heading in HEADING.findall(text))


def test_comments_of_real_runs_have_the_headings_of_today() -> None:
    """A word that changed is seen here, not only where the workflows are run."""
    others = list_headings(OF_REAL_RUNS) - list_headings(FOLDER)

    assert set(OTHERS) >= others
    for heading, module in OTHERS.items():
        words = heading.removesuffix(" for")
        assert words in Path(str(module.__file__)).read_text("utf-8")


def test_goldens_are_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of real runs follow by the words that changed."""
    kept = {path: path.read_text("utf-8") for path in (*FOLDER.iterdir(), *OF_REAL_RUNS.iterdir())}
    for path, text in kept.items():
        file = tmp_path / path.parent.name / path.name
        file.parent.mkdir(exist_ok=True)
        older = text.replace("### Devices", "### Machines").replace("The baseline was", "It was")
        file.write_text(older.replace("Engine, toolchain and", "Engine and"), encoding="utf-8")
    monkeypatch.setattr(golden, "FOLDER", tmp_path / "comments")
    monkeypatch.setattr(golden, "OF_REAL_RUNS", tmp_path / "comments-act")

    golden.write_comments()

    for path, text in kept.items():
        assert (tmp_path / path.parent.name / path.name).read_text("utf-8") == text
