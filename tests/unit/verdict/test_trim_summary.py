"""How far the engine was trimmed, as a value of the verdict."""

from __future__ import annotations

from dataclasses import replace

from megtrim.verdict.join import join
from megtrim.verdict.model import TrimChoice, parse_verdict, to_json
from megtrim.verdict.trim_summary import SizeFlagResult, SwitchSize
from unit.verdict.examples import facts

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


def test_a_switch_may_cost_bytes() -> None:
    """A verdict with such a row is read as it was written."""
    row = SwitchSize(
        artifact="load_and_run",
        build="logging-off",
        off=("logging",),
        size_bytes=1024,
        saved_bytes=-24,
        saved_share=-0.024,
    )
    missing = replace(row, size_bytes=None, saved_bytes=None, saved_share=None, note="no build")
    verdict = join(facts(switches=(row, missing)))

    assert parse_verdict(to_json(verdict), source="v").switches == (row, missing)
