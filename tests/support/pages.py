"""What the pages print for a reader to type: blocks of commands, and how each of them is tested.

A comment before a block, which no reader sees, says one of two things:

    <!-- run: LANE -->  or  <!-- run: LANE, exit 1 -->
        it is run as it stands, in the folder that this lane makes for the pages
    <!-- needs: WHAT; WHO -->
        it needs what no lane has; WHO is the file, or the FILE::TEST, that does the same there,
        or "no one"

A paragraph that begins with a command is a block of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = ("docs/reference/command-line.md",)
"""Its examples are those of ``--help``; they are held to the command line as well."""
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/*.md"))
    if path.name != "CHANGELOG.md"
)
_PROGRAMS = r"(?:megtrim|virtual-phone|sudo|python3?|pip|git|docker|adb|nox|\.venv/bin/nox)"
_BLOCK = re.compile(
    r"(?:^ *<!-- *(?P<kind>run|needs): *(?P<what>[^\n]*?) *-->\n)?"
    r"(?:^(?P<indent> *)```(?P<language>[a-z]*)\n(?P<text>.*?)^(?P=indent)```$"
    rf"|^ *(?:(?:\d+\.|[-*]) +)?`(?P<inline>{_PROGRAMS} [^`\n]+)`)",
    re.MULTILINE | re.DOTALL,
)
_RUN = re.compile(r"(?P<lane>[a-z_]+)(?:, exit (?P<status>\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Commands that belong together. ``mark`` is ``run``, ``needs`` or empty."""

    page: str
    line: int
    script: str
    mark: str
    what: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def lane(self) -> str:
        """Return the lane that runs it, empty where none does."""
        found = _RUN.fullmatch(self.what) if self.mark == "run" else None
        return found["lane"] if found else ""

    @property
    def status(self) -> int:
        found = _RUN.fullmatch(self.what) if self.mark == "run" else None
        return int(found["status"] or 0) if found else 0

    @property
    def who(self) -> str:
        """Return who does the same, of a block that no lane runs."""
        return self.what.partition("; ")[2] if self.mark == "needs" else ""


def blocks_of(page: str, text: str) -> Iterator[Block]:
    for found in _BLOCK.finditer(text):
        script = found["inline"] or _script(found["language"] or "", found["text"] or "")
        if script:
            begin = found.start("inline" if found["inline"] else "indent")
            yield Block(
                page=page,
                line=text.count("\n", 0, begin) + 1,
                script=script,
                mark=found["kind"] or "",
                what=found["what"] or "",
            )


def _script(language: str, text: str) -> str:
    """Return what the reader types, without prompts and what is answered."""
    if language == "sh":
        return text
    if language == "console":
        return "".join(f"{line[2:]}\n" for line in text.splitlines() if line.startswith("$ "))
    return ""


BLOCKS = tuple(
    block
    for path in PAGES
    if (name := str(path.relative_to(ROOT))) not in GENERATED
    for block in blocks_of(name, path.read_text(encoding="utf-8"))
)


def blocks_in(lane: str) -> tuple[Block, ...]:
    """Return the blocks that a lane runs, page by page, in the order of the page."""
    return tuple(block for block in BLOCKS if block.lane == lane)
