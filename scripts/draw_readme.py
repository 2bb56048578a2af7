#!/usr/bin/env python3
"""Draw README's two pictures: MegEngine's size before and after, and how a trim works.

`nox -s docs` runs it; a test fails if the committed drawings differ from its output. The sizes
are those on record in docs/explanation/what-was-run-where.md. A drawing has a background of its
own and follows the reader's light or dark scheme.
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RECORD = "docs/explanation/what-was-run-where.md"
_WIDTH = 860
_BAR_LEFT = 210
_BAR_WIDTH = 520
_BAR_HEIGHT = 34
_STEP_WIDTH = 152
_STEP_GAP = 16
_STYLE = """
  .card { fill: #ffffff; stroke: #d1d9e0; }
  .box { fill: #f6f8fa; stroke: #57606a; }
  text { fill: #1f2328; font: 15px system-ui, "Noto Sans", "DejaVu Sans", sans-serif; }
  .title { font-size: 17px; font-weight: 600; }
  .large { font-size: 20px; font-weight: 700; }
  .small { font-size: 13px; fill: #57606a; }
  .before { fill: #8c959f; }
  .after { fill: #1a7f37; }
  .arrow { fill: #57606a; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d; }
    .box { fill: #151b23; stroke: #9198a1; }
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .before { fill: #656c76; }
    .after { fill: #3fb950; }
    .arrow { fill: #9198a1; }
  }
"""


class Bar(NamedTuple):
    """A build of the engine. ``table`` and ``row`` say where its size is on record."""

    name: str
    models: str
    table: str
    row: str
    kind: str


_RECIPE = "MegEngine, stripped `load_and_run` for Android arm64"
_FUNCTIONS = "MegEngine by functions, stripped `load_and_run` for Android arm64"
BARS = (
    Bar(
        name="MegEngine, whole",
        models="",
        table=_RECIPE,
        row="plain",
        kind="before",
    ),
    Bar(
        name="kernels trimmed",
        models="a small ResNet-18 and a small MobileNet",
        table=_RECIPE,
        row="reduced: resnet18-s and mobilenet-s, one scenario each",
        kind="after",
    ),
    Bar(
        name="functions trimmed, too",
        models="the ResNet-18 alone",
        table=_FUNCTIONS,
        row="`level: function`, no unwind tables, packed relocations",
        kind="after",
    ),
)
STEPS = (
    ("1. Build", ("the whole engine,", "with a recorder")),
    ("2. Run", ("your models,", "the way users do")),
    ("3. Keep", ("the list of what", "ran: you commit it")),
    ("4. Rebuild", ("the engine with", "only what is listed")),
    ("5. Prove", ("same outputs,", "sizes in budget")),
)


def drawings() -> dict[str, str]:
    record = (ROOT / RECORD).read_text(encoding="utf-8")
    return {
        "docs/images/before-after.svg": draw_sizes(record),
        "docs/images/how-it-works.svg": draw_steps(),
    }


def find_bytes(record: str, table: str, row: str) -> int:
    """Return the first figure of a row of the first table below a paragraph."""
    below = record.partition(f"\n{table}")[2]
    found = re.search(rf"^\| {re.escape(row)} \| ([\d,]+) \|", below, re.MULTILINE)
    if not found:
        message = f"{RECORD}: expected below {table!r} a row {row!r} with its bytes"
        raise ValueError(message)
    return int(found[1].replace(",", ""))


def draw_sizes(record: str) -> str:
    sizes = [find_bytes(record, bar.table, bar.row) for bar in BARS]
    parts = [_text(24, 36, "load_and_run for Android arm64, stripped", "title")]
    for number, (bar, size) in enumerate(zip(BARS, sizes, strict=True)):
        top = 60 + number * 60
        share = size / sizes[0]
        width = round(share * _BAR_WIDTH)
        right = _BAR_LEFT + width + 12
        place = f'x="{_BAR_LEFT}" y="{top}" width="{width}" height="{_BAR_HEIGHT}" rx="3"'
        parts += [
            _text(24, top + 22, bar.name),
            f'<rect class="{bar.kind}" {place}/>',
            _text(right, top + 24, _megabytes(size), "large"),
        ]
        if bar.models:
            parts.append(_text(right + 90, top + 23, f"{share:.1%}, for {bar.models}", "small"))
    pairs = zip(BARS, sizes, strict=True)
    said = ", ".join(f"{bar.name} {_megabytes(size)}" for bar, size in pairs)
    return _draw(f"MegEngine for Android arm64: {said}", 245, parts)


def draw_steps() -> str:
    parts = []
    for number, (name, lines) in enumerate(STEPS):
        left = 18 + number * (_STEP_WIDTH + _STEP_GAP)
        middle = left + _STEP_WIDTH // 2
        parts += [
            f'<rect class="box" x="{left}" y="18" width="{_STEP_WIDTH}" height="96" rx="8"/>',
            _text(middle, 48, name, "title", centred=True),
            *(
                _text(middle, 74 + 20 * row, line, "small", centred=True)
                for row, line in enumerate(lines)
            ),
        ]
        if number + 1 < len(STEPS):
            tip = left + _STEP_WIDTH + _STEP_GAP - 2
            parts.append(f'<path class="arrow" d="M{tip} 66 l-12 -7 v14 z"/>')
    text = "; ".join(f"{name} {' '.join(lines)}" for name, lines in STEPS)
    return _draw(text, 132, parts)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _text(x: int, y: int, words: str, kind: str = "", *, centred: bool = False) -> str:
    named = f' class="{kind}"' if kind else ""
    anchor = ' text-anchor="middle"' if centred else ""
    return f'<text{named} x="{x}" y="{y}"{anchor}>{escape(words)}</text>'


def _draw(title: str, height: int, parts: list[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
        f' width="{_WIDTH}" height="{height}" role="img">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n"
        f'<rect class="card" x="0.5" y="0.5" rx="8"'
        f' width="{_WIDTH - 1}" height="{height - 1}"/>\n{body}\n</svg>\n'
    )


def main() -> int:
    for name, text in drawings().items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
