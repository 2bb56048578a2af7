"""One table of several toolchains."""

from __future__ import annotations

from dataclasses import replace

from megtrim.report.joint.table import render
from unit.report.golden import artifact
from unit.verdict.examples import failing, passing


def test_each_toolchain_has_a_row() -> None:
    """With its verdict; one that ended before it has none."""
    lines = render({"arm64": passing(), "x86-64": failing(), "armv7": None}).splitlines()

    assert lines[0].split() == [
        *("toolchain", "artifact", "bytes", "size", "%", "of", "plain", "growth", "verdict")
    ]
    cells = [line.split() for line in lines[2:]]
    assert [(row[0], row[-1]) for row in cells] == [
        ("arm64", "pass"),
        ("x86-64", "fail"),
        ("armv7", "none"),
    ]
    assert cells[2][1:-1] == ["-"] * 5


def test_each_artifact_has_a_row() -> None:
    """All say whose they are, so that a row can be found by its words."""
    several = replace(passing(), artifacts=(artifact(None, name="a"), artifact(1_024, name="b")))
    rows = [row.split() for row in render({"arm64": several}).splitlines()[2:]]

    assert [row[:2] for row in rows] == [["arm64", "a"], ["arm64", "b"]]
    assert [row[-2] for row in rows] == ["-", "KiB"]
