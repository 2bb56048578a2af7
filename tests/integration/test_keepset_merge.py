"""A scenario's file under git: where two branches traced it again, regions merge by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.regions.keepset import (
    KeepSet,
    build_keep_set,
    dump_keep_set,
    parse_keep_set,
)
from megtrim.regions.region import Region
from megtrim.util.errors import InputError
from megtrim.util.process import Command, ProcessRunner
from support.scenario_records import make_record

pytestmark = pytest.mark.chain

Scenarios = dict[str, tuple[str, ...]]
"""Scenario id -> the texts of its regions."""


def keep(scenarios: Scenarios) -> KeepSet:
    records = [
        make_record(map(Region.parse, texts), scenario=name) for name, texts in scenarios.items()
    ]
    return build_keep_set(generation=20220507, scenarios=records, operators=None)


class Merge:
    """``git merge-file`` over three versions of the committed file."""

    def __init__(self, folder: Path, processes: ProcessRunner) -> None:
        self.folder = folder
        self.processes = processes

    def __call__(self, *, ours: KeepSet, base: KeepSet, theirs: KeepSet) -> str | None:
        """Return the merged text; None where git leaves conflicts."""
        names = []
        for name, each in (("ours", ours), ("base", base), ("theirs", theirs)):
            (self.folder / name).write_text(dump_keep_set(each), encoding="utf-8")
            names.append(str(self.folder / name))
        outcome = self.processes.run(
            Command(argv=("git", "merge-file", "-p", *names), timeout_s=60)
        )
        return outcome.stdout if outcome.rc == 0 else None


@pytest.fixture
def merged(tmp_path: Path, processes: ProcessRunner) -> Merge:
    return Merge(tmp_path, processes)


BASE: Scenarios = {"d/s@c": tuple(f"tag_{letter}<1>" for letter in "bdfhj")}


def test_regions_added_in_different_places_merge_by_themselves(merged: Merge) -> None:
    """Git sees two changes of different lines; the result is the keep set of both."""
    base = keep(BASE)
    ours = keep({"d/s@c": (*BASE["d/s@c"], "tag_a<1>")})
    theirs = keep({"d/s@c": (*BASE["d/s@c"], "tag_i<1>", "tag_k<float>")})
    text = merged(ours=ours, base=base, theirs=theirs)

    assert text is not None
    assert parse_keep_set(text, source="k") == keep(
        {"d/s@c": (*BASE["d/s@c"], "tag_a<1>", "tag_i<1>", "tag_k<float>")}
    )


def test_the_last_region_and_the_first_may_both_be_new(merged: Merge) -> None:
    """No line's comma depends on whether it is the last."""
    base = keep({"d/s@c": ("m<1>", "n<1>", "o<1>")})
    ours = keep({"d/s@c": ("a<1>", "m<1>", "n<1>", "o<1>")})
    theirs = keep({"d/s@c": ("m<1>", "n<1>", "o<1>", "z<1>")})
    text = merged(ours=ours, base=base, theirs=theirs)

    assert text is not None
    assert text == dump_keep_set(keep({"d/s@c": ("a<1>", "m<1>", "n<1>", "o<1>", "z<1>")}))


def test_a_conflict_that_was_committed_is_refused() -> None:
    whole = dump_keep_set(keep({"d/s@c": ("b<1>", "c<1>")}))
    text = whole.replace(' "region c<1>"', '<<<<<<< ours\n "region c<1>"')
    place = f"k:{text[: text.index('<<<<')].count(chr(10)) + 1}: not JSON"

    with pytest.raises(InputError, match=place):
        parse_keep_set(text, source="k")
