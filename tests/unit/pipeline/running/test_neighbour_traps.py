"""What a trap lacked: the function that says its number, else regions by difference."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from megtrim.config.scenarios import all_scenarios
from megtrim.devices import Lease
from megtrim.midout.keepset import dump_keep_set
from megtrim.pipeline.running.execution import RunSpec
from megtrim.pipeline.running.neighbour_traps import needs_of
from megtrim.pipeline.running.trap_diagnosis import SymbolizingLink
from megtrim.plan.graph import PLAIN, PROFILE, REDUCED
from unit.stages.built import PROGRAMS, built
from unit.stages.fake_device import GOOD, TRAPS, FakeDevice
from unit.stages.support import keep_set, run

DROPPED = ("_ZN2ns3oneEv", "_ZN2ns3twoEv")
SAYS_ONE = "exit 133\nstderr megtrim: function #1 is not kept\n"


@pytest.mark.parametrize(
    ("profile", "named", "needed"),
    [
        (True, SAYS_ONE, ("ns::two()",)),
        (True, TRAPS, ("kern<7>",)),
        (True, None, ("kern<7>",)),
        (False, SAYS_ONE, ("ns::two()",)),
        (False, TRAPS, ()),
        (False, None, ()),
    ],
)
def test_a_trap_is_named_as_far_as_that_is_at_hand(
    tmp_path: Path, profile: bool, named: str | None, needed: tuple[str, ...]
) -> None:
    """``named`` is what the named link does. No profile build is made: this is no scenario."""
    programs = {PLAIN: GOOD, REDUCED: TRAPS} | ({PROFILE: PROGRAMS[PROFILE]} if profile else {})
    session = built(tmp_path, programs=programs, keep=dump_keep_set(keep_set(1)))
    link = None
    if named is not None:
        (tmp_path / "named").mkdir()
        program = tmp_path / "named/load_and_run"
        program.write_text(named, encoding="utf-8")
        link = SymbolizingLink(program=program, dropped=DROPPED)
    spec = RunSpec(
        program=tmp_path / "m.mge",
        model=tmp_path / "m.mge",
        arguments=("--cpu",),
        inputs={},
        threads=1,
        timeout_s=9.0,
    )
    needs = needs_of(next(all_scenarios(session.request.config)), session, link)

    assert needs(cast("Lease", FakeDevice()), spec, run(133)) == needed
