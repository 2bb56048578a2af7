"""What a trap lacked: the function that says its number, else regions by difference."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from megtrim.config.scenarios import all_scenarios
from megtrim.devices import Seat
from megtrim.midout.keepset import dump_keep_set
from megtrim.plan.graph import PLAIN, PROFILE, REDUCED
from megtrim.stages import trap_needs
from megtrim.stages.proving import Named
from megtrim.stages.runs import RunOrder
from unit.stages.built import PROGRAMS, built
from unit.stages.fake_device import GOOD, TRAPS, FakeDevice
from unit.stages.support import keep_set, run

DROPPED = ("_ZN2ns3oneEv", "_ZN2ns3twoEv")
SAYS_ONE = "exit 133\nstderr megtrim: function #1 is not kept\n"


def needed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, profile: bool, named: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is named by function and by region, and let the named link play ``named``."""
    programs = {PLAIN: GOOD, REDUCED: TRAPS} | ({PROFILE: PROGRAMS[PROFILE]} if profile else {})
    context = built(folder, programs=programs, keep=dump_keep_set(keep_set(1)))
    link = None
    if named is not None:
        (folder / "named").mkdir()
        program = folder / "named/load_and_run"
        program.write_text(named, encoding="utf-8")
        link = Named(program=program, dropped=DROPPED)
    monkeypatch.setattr(trap_needs, "named", lambda *_: link)
    scenario = next(all_scenarios(context.loaded.config))
    order = RunOrder(
        program=folder / "m.mge",
        model=folder / "m.mge",
        arguments=("--cpu",),
        inputs={},
        threads=1,
        timeout_s=9.0,
    )
    seat = cast("Seat", FakeDevice())
    by_function = trap_needs.function(scenario, context)(seat, order, run(133))
    by_region = trap_needs.regions(scenario, context)(seat, order, run(133))
    return by_function, by_region


@pytest.mark.parametrize(
    ("profile", "named", "by_function", "by_region"),
    [
        (True, SAYS_ONE, ("ns::two()",), ("kern<7>",)),
        (True, TRAPS, ("kern<7>",), ("kern<7>",)),
        (True, None, ("kern<7>",), ("kern<7>",)),
        (False, SAYS_ONE, ("ns::two()",), ()),
        (False, TRAPS, (), ()),
        (False, None, (), ()),
    ],
)
def test_a_trap_is_named_as_far_as_that_is_at_hand(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    profile: bool,
    named: str | None,
    by_function: tuple[str, ...],
    by_region: tuple[str, ...],
) -> None:
    """No profile build is made for it: a neighbour is no scenario."""
    found = needed(tmp_path, monkeypatch, profile=profile, named=named)

    assert found == (by_function, by_region)
