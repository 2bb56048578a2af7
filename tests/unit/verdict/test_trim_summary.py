"""How far the engine was trimmed, as a value of the verdict."""

from __future__ import annotations

from dataclasses import replace

from megtrim.verdict.model import TrimChoice
from megtrim.verdict.trim_summary import SizeFlagResult

FLAGS = (
    SizeFlagResult(name="small_code", value="Oz", why_not=""),
    SizeFlagResult(name="relocations", value="android", why_not="the phone is too old"),
    SizeFlagResult(name="unwind_tables", value="false", why_not=""),
)


def test_size_flags_are_used_or_have_a_reason() -> None:
    """Each in the order of the configuration."""
    choice = TrimChoice(
        level="region", layout="scoped", minimum_size=True, optimize="size", means=FLAGS
    )

    assert choice.used == ("small_code Oz", "unwind_tables false")
    assert choice.unused == ("relocations: the phone is too old",)
    assert (replace(choice, means=()).used, replace(choice, means=()).unused) == ((), ())
