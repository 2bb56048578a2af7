"""What each size optimisation won."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.config.model import TrimConfig
from megtrim.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.pipeline.pricing import built, optimisations
from megtrim.pipeline.pricing.attributed import PricedArtifact
from megtrim.pipeline.pricing.optimisations import (
    OptimisationCheck,
    list_optimisations,
    read_measured,
)
from megtrim.pipeline.session import Session
from megtrim.plan.graph import REDUCED
from megtrim.size.prices.price_list import SizeOptimisation
from megtrim.store import StageFolder
from unit.pipeline.building.test_size_options import ready

ARTIFACT = cast(PricedArtifact, SimpleNamespace(name="load_and_run", size_bytes=900))


def measure(
    session: Session, name: str, monkeypatch: pytest.MonkeyPatch, ended: int | Exception
) -> tuple[SizeOptimisation, list[TrimConfig]]:
    """Return what one of them won, and what was built."""
    asked = []

    def build_as(trim: TrimConfig, *_: Any) -> Mapping[str, int]:
        asked.append(trim)
        if isinstance(ended, Exception):
            raise ended
        return {"load_and_run": ended}

    monkeypatch.setattr(built, "build_as", build_as)
    monkeypatch.setattr(optimisations, "content_of", str)
    session.results.done.setdefault(REDUCED, cast(StageFolder, "a trim"))
    check = OptimisationCheck(session=session, obtain=lambda *_: None)
    found = next(each for each in list_optimisations(session) if each.name == name)
    return check.measure(ARTIFACT, found), asked


def test_all_that_is_used_can_be_measured(tmp_path: Path) -> None:
    """What this toolchain cannot use is none of it; switches that are off are."""
    used = list_optimisations(ready(tmp_path, "trim: {optimize: size, means: {lto: none}}\n"))

    assert [(each.name, each.value) for each in used] == [
        ("unwind_tables", "false"),
        ("small_code", "Oz"),
        ("fold", "all"),
        ("rtti", "false"),
        ("logging", "false"),
        ("exceptions", "false"),
    ]
    assert {each.won_bytes for each in used} == {None}


def test_from_the_plain_build_only_links_differ(tmp_path: Path) -> None:
    """Nothing is compiled for it, so no switch is off."""
    more = "trim: {level: function, base: plain, optimize: size}\n"

    assert [each.name for each in list_optimisations(ready(tmp_path, more))] == ["fold"]


def test_one_is_left_out_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others stay as they are; what it won is of the larger file."""
    session = ready(tmp_path, "trim: {optimize: size}\n")

    found, (trim,) = measure(session, "fold", monkeypatch, 1000)

    assert (found.without_bytes, found.won_bytes, found.won_share) == (1000, 100, 0.1)
    assert (trim.means.fold, trim.means.lto, trim.optimize) == ("none", None, "size")
    assert found.note == ""


@pytest.mark.parametrize(
    ("name", "more"), [("lto", "virtual_functions"), ("exceptions", "unwind_tables")]
)
def test_what_needs_it_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, more: str
) -> None:
    """A switch is turned on, and the others stay off. A file may be larger with it."""
    session = ready(tmp_path, "trim: {optimize: size}\n")

    found, (trim,) = measure(session, name, monkeypatch, 800)

    assert (found.won_bytes, found.note) == (-100, f"with {more}, which needs it")
    if name == "exceptions":
        assert trim.switches.exceptions is True
        assert (trim.switches.rtti, trim.minimum_size) == (False, False)


@pytest.mark.parametrize(
    "failure", [InputError("two\nlines", hint=""), ProductFailure("two\nlines", hint="")]
)
def test_what_cannot_be_built_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    """The others are still measured."""
    session = ready(tmp_path, "trim: {optimize: size}\n")

    found, _ = measure(session, "fold", monkeypatch, failure)

    assert (found.won_bytes, found.note) == (None, "not built: two")


def test_what_was_measured_stays_for_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not built again, and others are listed next to it; of another trim nothing is known."""
    session = ready(tmp_path, "trim: {optimize: size}\n")
    first, (_,) = measure(session, "fold", monkeypatch, 1000)

    again, built_again = measure(session, "fold", monkeypatch, 2000)

    assert (again, built_again) == (first, [])
    found = {each.name: each.won_bytes for each in read_measured("load_and_run", session)}
    assert (found["fold"], found["lto"]) == (100, None)
    assert read_measured("other", session) == ()
    session.results.done[REDUCED] = cast(StageFolder, "another trim")
    assert read_measured("load_and_run", session) == ()


def test_an_infrastructure_failure_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run measures it."""
    session = ready(tmp_path, "trim: {optimize: size}\n")

    with pytest.raises(InfrastructureFailure, match="disk full"):
        measure(session, "fold", monkeypatch, InfrastructureFailure("disk full"))

    found, _ = measure(session, "fold", monkeypatch, 1000)
    assert found.won_bytes == 100
