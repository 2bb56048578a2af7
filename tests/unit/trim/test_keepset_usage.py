from pathlib import Path
from typing import Any, cast

import pytest

from megtrim.chain.graph import FUNCTIONS, HEADER, PROFILE, REDUCED, VERDICT, tasks, trace_task
from megtrim.chain.session import Session
from megtrim.regions.keepset_files import dump_keep_set
from megtrim.trim import keepset_usage
from megtrim.trim.results import FunctionCount, Rebuild
from megtrim.verdict import stage as verdict
from unit.trim.stages.built import finish
from unit.trim.stages.support import changed, keep_set, only_scenario, open_session


@pytest.fixture
def now(tmp_path: Path) -> Session:
    return changed(open_session(tmp_path)[0], committed=True)


def test_regions_of_a_scenario_come_from_its_trace_or_the_committed_file(now: Session) -> None:
    assert keepset_usage.traced_regions(now) == {}
    finish(now, HEADER, {"keepset.json": dump_keep_set(keep_set(1, 2, 3))})
    assert keepset_usage.traced_regions(now) == {"m/s@any": 3}

    traced = changed(now, committed=False)
    assert keepset_usage.traced_regions(traced) == {}
    finish(now, trace_task(only_scenario(now)), {}, regions=5)
    assert keepset_usage.traced_regions(traced) == {"m/s@any": 5}


def test_what_ran_and_what_stays_are_two_numbers(now: Session) -> None:
    finish(now, FUNCTIONS, {}, functions=487)
    counts = {
        "a": FunctionCount(held=1_900, dropped=1_300),
        "b": FunctionCount(held=64, dropped=34),
    }
    finish(now, REDUCED, {}, functions=counts)

    assert verdict._describe_result(FUNCTIONS, now.results) == "487 functions ran"
    assert verdict._describe_result(REDUCED, now.results) == (
        "linked without 1334 of 1964 functions; 630 stay: what ran, and what must stay whatever ran"
    )
    assert [(each.kept, each.held) for each in keepset_usage.functions_use(now.results)] == [
        (600, 1_900),
        (30, 64),
    ]


class Texts:
    def texts(self) -> dict[str, str]:
        return {}


def test_what_an_earlier_run_built_was_not_compiled(now: Session) -> None:
    finish(now, HEADER, {})
    finish(now, REDUCED, {})
    built = keepset_usage.rebuild(now.results)
    now.results.taken.add(REDUCED)
    taken = keepset_usage.rebuild(now.results)

    assert built is not None
    assert taken == Rebuild(compiled=0, units=built.units)


@pytest.mark.parametrize(
    ("committed", "held", "of_tags"),
    [(False, 4, [("kern", 2, 3), ("other", 0, 1)]), (True, 0, [("kern", 2, 0)])],
)
def test_a_profile_build_that_a_trap_made_is_not_counted(
    now: Session, committed: bool, held: int, of_tags: list[tuple[str, int, int]]
) -> None:
    here = changed(now, committed=committed, engine=cast(Any, Texts()))
    finish(here, HEADER, {"keepset.json": dump_keep_set(keep_set(1, 2))})
    finish(here, PROFILE, {"regions.txt": "kern<1>\nkern<2>\nkern<3>\nother<1>\n"})
    every = {task.id: task for task in tasks(here.request.config, committed=committed)}

    use = keepset_usage.regions_use(every[VERDICT], here)

    assert (use.held, use.kept) == (held, 2)
    assert [(each.tag, each.kept, each.held) for each in use.by_tag] == of_tags
