from __future__ import annotations

import pytest

from megtrim.functions.keep_patterns import KeepPattern
from megtrim.functions.observables import Observables
from megtrim.regions.keepset import KeepSet, ScenarioRecord, build_keep_set
from megtrim.trim.builds.links import UnfoldedLink, UntrimmedProgram
from megtrim.util.errors import InputError
from unit.functions.test_keep_patterns import (
    FORMAT,
    LOAD,
    NAMES,
    ORIGINS,
    PROBE,
    RUN,
    WRITE,
    code_of,
)

LINK, OTHER = "a" * 64, "b" * 64


def make_program(*patterns: str) -> UntrimmedProgram:
    code = code_of(NAMES, {RUN: [FORMAT], FORMAT: [WRITE]})
    groups = tuple((name,) for name in sorted(NAMES))
    return UntrimmedProgram(
        target="load_and_run",
        identity=LINK,
        unfolded=UnfoldedLink(
            table=code.table,
            code=code,
            observables=Observables(link_sha256=LINK, groups=groups),
        ),
        origins=ORIGINS,
        patterns=tuple(KeepPattern(text=each) for each in patterns),
    )


def make_keep_set(link: str = LINK, **functions: tuple[str, ...]) -> KeepSet:
    records = (
        ScenarioRecord(
            id=f"{model}/default@any",
            model_sha256="0" * 64,
            arguments=(),
            inputs=(),
            algo_cache_sha256=None,
            threads=1,
            trace_sha256="0" * 64,
            regions=(),
            functions=names,
            link_sha256=link,
        )
        for model, names in functions.items()
    )
    return build_keep_set(20220507, records, None)


def test_what_no_scenario_needs_is_dropped() -> None:
    program = make_program()

    both = program.trim(make_keep_set(vgg=(RUN,), mobile=(LOAD,)))
    one = program.trim(make_keep_set(vgg=(RUN,)))

    assert both.kept == {RUN, LOAD}
    assert {*one.dropped} - {*both.dropped} == {LOAD}
    assert {FORMAT, WRITE, PROBE} <= {*both.dropped}


def test_what_always_stays_brings_what_it_calls() -> None:
    dropped = make_program("my::log::format").trim(make_keep_set(vgg=(LOAD,))).dropped

    assert {FORMAT, WRITE}.isdisjoint(dropped)
    assert RUN in dropped


def test_functions_of_another_link_keep_nothing() -> None:
    with pytest.raises(InputError, match="nothing of it would stay"):
        make_program().trim(make_keep_set(OTHER, vgg=(RUN,)))
