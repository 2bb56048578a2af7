from pathlib import Path

import pytest

from megtrim.build_spec import Link, Variant
from megtrim.chain.graph import HEADER
from megtrim.chain.stage_result import StageResult
from megtrim.chain.store import StageFolder
from megtrim.elf.layout import WITH_BUILD_ID
from megtrim.functions.keep_patterns import KeepPattern
from megtrim.functions.observables import Observables
from megtrim.regions.keepset import KeepSet, ScenarioRecord, build_keep_set
from megtrim.trim.builds import links
from megtrim.trim.builds.links import UnfoldedLink, UntrimmedProgram
from megtrim.util.errors import InputError
from unit.functions.made_links import calling
from unit.functions.test_keep_patterns import (
    FORMAT,
    LOAD,
    NAMES,
    ORIGINS,
    PROBE,
    RUN,
    WRITE,
)
from unit.trim.stages.built import LINK, linked
from unit.trim.stages.switch_builds import made

OTHER = "b" * 64


def test_links_lie_by_label_and_target() -> None:
    assert links.locate_unstripped(Link.NAMED, "classify") == "links/named/classify"
    assert links.locate_stripped(Link.SHIPPED, "classify") == "links/shipped/stripped/classify"
    assert links.observables("classify") == "links/unfolded/classify.observables"


def test_symbols_are_with_what_was_linked_or_built(tmp_path: Path) -> None:
    folders = [
        StageFolder(
            path=tmp_path,
            stage="reduce",
            name="reduced",
            key="x",
            inputs={},
            result=StageResult(),
            files=dict.fromkeys(files, ""),
        )
        for files in (
            ("bin/a", "unstripped/a", "links/shipped/a"),
            ("bin/a", "unstripped/a"),
            ("bin/a", "unstripped/b"),
        )
    ]

    found = [links.locate_named(each, "a") for each in folders]

    assert found == ["links/shipped/a", "unstripped/a", ""]


def test_a_list_belongs_to_the_link_of_its_program(tmp_path: Path) -> None:
    assert links.identities(linked(tmp_path).results) == {"load_and_run": LINK}


def test_a_link_that_ships_has_a_build_id(tmp_path: Path) -> None:
    plain = made(tmp_path, "{level: function, base: plain}")

    assert links.shipped_flags(plain)[-1] == WITH_BUILD_ID


def test_the_base_build_is_reduced_or_plain(tmp_path: Path) -> None:
    reduced = made(tmp_path / "a", "{level: function}")
    plain = made(tmp_path / "b", "{level: function, base: plain}")

    assert links.make_base_spec(reduced).variant is Variant.REDUCED
    assert links.make_base_spec(plain).variant is Variant.PLAIN
    digest = reduced.results.done[HEADER].files["include/midout.h"]
    assert links.base_inputs(reduced)["header midout.h"] == digest
    assert not [label for label in links.base_inputs(plain) if label.startswith("header ")]


def make_program(*patterns: str) -> UntrimmedProgram:
    code = calling(NAMES, {RUN: [FORMAT], FORMAT: [WRITE]})
    groups = tuple((name,) for name in sorted(NAMES))
    return UntrimmedProgram(
        target="load_and_run",
        identity=LINK,
        unfolded=UnfoldedLink(
            table=code.table, code=code, observables=Observables(link_sha256=LINK, groups=groups)
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
