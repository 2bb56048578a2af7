"""``megtrim size causes``: what is printed of builds with one cause each."""

from __future__ import annotations

import json

from megtrim.cli.size import causes
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.exact import CauseBuild, divide_exactly
from megtrim.size.growth.inputs import InputChanges
from unit.cli.support import Shell

BUILDS = (
    CauseBuild(cause=Cause.SOURCE, sizes={"load_and_run": 1_300}),
    CauseBuild(cause=Cause.FLAGS, sizes={}, failure="it does not compile"),
)
GROWTH = divide_exactly({"load_and_run": 1_000}, {"load_and_run": 3_000}, BUILDS)


def test_each_cause_has_a_row_and_they_add_up() -> None:
    """With the reason where one cannot be built."""
    changes = InputChanges(causes=(Cause.SOURCE, Cause.FLAGS), files=("a.cpp",))

    lines = causes.draw_text(GROWTH, BUILDS, changes).splitlines()

    assert lines[0] == "load_and_run  1.0 KiB → 2.9 KiB"
    assert [line.split()[:-2] for line in lines[3:6]] == [
        ["source", "+300"],
        ["together,", "with", "flags", "+1,700"],
        ["[growth]", "+2,000"],
    ]
    assert "source: a.cpp differs" in lines
    assert lines[-1] == "flags cannot be built by itself: it does not compile"


def test_other_programs_read_the_same_numbers() -> None:
    """As JSON with a version."""
    data = json.loads(causes.draw_data(GROWTH, BUILDS))

    assert data == {
        "version": 1,
        "artifacts": {
            "load_and_run": {
                "base_bytes": 1_000,
                "head_bytes": 3_000,
                "causes": {"source": 300},
                "together_bytes": 1_700,
            }
        },
        "not_built": {"flags": "it does not compile"},
    }


def test_a_base_is_needed(shell: Shell) -> None:
    """What would it be compared with?"""
    answer = shell("size", "causes")

    assert answer.status == 2
    assert "--base" in answer.err
