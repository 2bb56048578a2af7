from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.core.build_spec import BuildScript, BuildSpec, Link, Switch, Variant
from megtrim.core.chain.graph import HEADER
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.functions.kept_functions import KeepPattern
from megtrim.core.functions.observables import Observables
from megtrim.core.keep.keepset import KeepSet, build_keep_set
from megtrim.core.trim.builds import links, switches, variants
from megtrim.core.trim.builds.links import UnfoldedLink, UntrimmedProgram
from megtrim.core.trim.builds.switches import is_minimum_size, switch_options
from megtrim.core.trim.keepset_usage import trim_choice
from megtrim.core.trim.stages import header
from megtrim.engines.midout.header import FORCED, macro_file, tag_file
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.engines.source_texts import SourceTexts
from megtrim.libs.elf.layout import WITH_BUILD_ID
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from unit.core.functions.made_links import calling
from unit.core.functions.test_kept_functions import (
    FORMAT,
    LOAD,
    NAMES,
    ORIGINS,
    PROBE,
    RUN,
    WRITE,
)
from unit.core.trim.stages.built import LINK, linked
from unit.core.trim.stages.support import changed, keep_set, open_session
from unit.core.trim.stages.switch_builds import Builder, made

HEADERS = {"midout.h": "regions"}
RTTI, LOGGING, EXCEPTIONS, FLATBUFFERS = Switch


def test_only_the_reduced_variant_has_the_switches_and_a_build_id(tmp_path: Path) -> None:
    session = made(tmp_path, "{minimum_size: false, switches: {logging: false}}")
    plain, profile, shipped = (
        variants.make_spec(session, variant, HEADERS if variant is Variant.REDUCED else {})
        for variant in (Variant.PLAIN, Variant.PROFILE, Variant.REDUCED)
    )

    assert dict(shipped.options)["MGE_ENABLE_LOGGING"] == "OFF"
    assert "MGE_ENABLE_LOGGING" not in dict(plain.options)
    assert dict(plain.options)["MGE_WITH_MINIMUM_SIZE"] == "OFF"
    assert trim_choice(session).switched_off == ("logging",)
    assert WITH_BUILD_ID in shipped.link_flags
    assert WITH_BUILD_ID not in (*plain.link_flags, *profile.link_flags)
    both = made(tmp_path / "both", "{switches: {rtti: false, flatbuffers: false}}")
    assert trim_choice(both).switched_off == ("flatbuffers",)


def test_what_enters_a_build_is_named(tmp_path: Path) -> None:
    session = made(tmp_path, "{level: region}")
    named = variants.region_inputs(session)

    assert named["header midout.h"] == session.done[HEADER].files["include/midout.h"]
    assert named["engine"] == session.services.engine.identity().digest
    assert named["targets"] == "load_and_run"
    assert "CMAKE_BUILD_TYPE=Release" in named["options"]
    assert {label for label in named if label.startswith("toolchain ")} == {
        f"toolchain {label}" for label in session.services.toolchain.identity()
    }
    assert variants.header_files(session.results) == HEADERS
    # Options of the team come last.
    config = session.config
    engine = config.engine.model_copy(update={"cmake": {"CMAKE_BUILD_TYPE": "Debug"}})
    loaded = replace(session.request.loaded, config=config.model_copy(update={"engine": engine}))
    for variant, files in ((Variant.PLAIN, {}), (Variant.REDUCED, HEADERS)):
        asked = variants.make_spec(changed(session, loaded=loaded), variant, files)
        assert dict(asked.options)["CMAKE_BUILD_TYPE"] == "Debug"
    # Flags beyond the recipe enter only where there are any.
    spec = variants.make_spec(session, Variant.PLAIN, {})
    own = variants.inputs(session, replace(spec, own_link_flags=("-Wl,--icf=all",)))
    added = own.items() - variants.inputs(session, spec).items()
    assert added == {("engine's own link flags", "-Wl,--icf=all")}


def test_the_tree_of_a_variant_is_used_again(tmp_path: Path) -> None:
    builder = Builder()
    session = made(tmp_path, "{level: region}", builder=builder)
    spec = variants.make_spec(session, Variant.PLAIN, {})
    for name in ("first", "again"):
        (tmp_path / name).mkdir()
        summary = variants.work(session, spec, tmp_path / name)
        assert summary.artifacts == {"load_and_run": 300}
        assert summary.rebuilt == ("log.cpp",)

    assert [name for name, _ in builder.built] == ["sample-host-aarch64-plain"] * 2


def test_a_build_that_fails_frees_its_tree(tmp_path: Path) -> None:
    builder = Builder(fails_with="CMAKE_BUILD_TYPE=Release")
    session = made(tmp_path, "{level: region}", builder=builder)
    spec = variants.make_spec(session, Variant.PLAIN, {})
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        with pytest.raises(ProductFailure):
            variants.work(session, spec, tmp_path / name)


@pytest.mark.parametrize(
    ("script", "way"),
    [
        (None, "a direct CMake call: the engine's own script is used only for Android"),
        (
            BuildScript(path="build.sh", arguments=("-a", "arm64"), why="the recipe", build="b"),
            "build.sh -a arm64: the recipe",
        ),
    ],
)
def test_how_a_variant_is_built_has_a_reason(script: BuildScript | None, way: str) -> None:
    spec = BuildSpec(variant=Variant.PLAIN, targets=(), options=(), script=script)

    assert variants.way_of(spec) == way


def check(session: Session) -> None:
    switches.expect_switchable(session, variants.make_spec(session, Variant.PLAIN, {}))


@pytest.mark.parametrize(
    ("trim", "kind", "reported"),
    [
        (
            "{switches: {flatbuffers: false}}",
            "sample",
            (
                "megtrim.yaml:5: trim.switches.flatbuffers: the engine at {engine} has no option "
                "MGB_WITH_FLATBUFFERS"
            ),
        ),
        (
            "{minimum_size: false, switches: {rtti: true}}",
            "megengine",
            (
                "megtrim.yaml:5: trim.switches.rtti: found true, but it is always off in this "
                "engine's Release build for aarch64"
            ),
        ),
    ],
)
def test_what_cannot_be_had_is_refused(tmp_path: Path, trim: str, kind: str, reported: str) -> None:
    ready = made(tmp_path, trim, kind=kind)

    with pytest.raises(InputError) as caught:
        check(ready)

    assert caught.value.message == f"{tmp_path}/{reported}".format(engine=tmp_path / "engine")


@pytest.mark.parametrize("name", ["resnet18-s.mge", "resnet18-s.v2.mge"])
def test_a_model_in_flatbuffers_keeps_them(tmp_path: Path, name: str) -> None:
    ready = made(tmp_path, "{switches: {flatbuffers: false}}", kind="megengine", model=name)

    with pytest.raises(InputError) as caught:
        check(ready)

    assert caught.value.message == (
        f"{tmp_path}/megtrim.yaml:5: trim.switches.flatbuffers: "
        "the model m (m.mge) is a FlatBuffers file"
    )
    assert caught.value.hint == "no build without FlatBuffers can load it: leave this switch on"


def test_a_model_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    """An encrypted one may be anything; its scenarios will tell. True is no question at all."""
    ready = made(tmp_path, "{switches: {flatbuffers: false}}", kind="megengine")
    warned: list[str] = []
    spoken = changed(ready, console=cast(Any, SimpleNamespace(warn=warned.append)))

    check(spoken)

    assert len(warned) == 1
    assert "m.mge is in a format that megtrim cannot read" in warned[0]
    on = made(
        tmp_path / "on", "{switches: {flatbuffers: true}}", kind="megengine", model="resnet18-s.mge"
    )
    check(on)


@pytest.mark.parametrize(
    ("off", "minimum", "options"),
    [
        ((), False, {}),
        ((RTTI,), False, {"MGE_ENABLE_RTTI": False}),
        (
            (LOGGING, EXCEPTIONS),
            False,
            {"MGE_ENABLE_LOGGING": False, "MGE_ENABLE_EXCEPTIONS": False},
        ),
        ((RTTI, LOGGING, EXCEPTIONS), True, {}),
        ((RTTI, LOGGING, EXCEPTIONS, FLATBUFFERS), True, {"MGB_WITH_FLATBUFFERS": False}),
        ((FLATBUFFERS,), False, {"MGB_WITH_FLATBUFFERS": False}),
    ],
)
def test_options(off: tuple[Switch, ...], minimum: bool, options: dict[str, bool]) -> None:
    assert is_minimum_size(off) is minimum
    assert switch_options(off) == options


@pytest.fixture
def session(tmp_path: Path, processes: ProcessRunner) -> Session:
    engine = SampleEngine(find_embedded_source(), processes)
    return changed(open_session(tmp_path)[0], engine=engine)


def layout(session: Session, name: str) -> Session:
    config = session.config
    trim = config.trim.model_copy(update={"layout": name})
    loaded = replace(session.request.loaded, config=config.model_copy(update={"trim": trim}))
    return changed(session, loaded=loaded)


def test_only_scoped_facts_have_files_of_their_own(session: Session) -> None:
    scoped = layout(session, "scoped")
    upstream = layout(session, "upstream")
    one, two = (header.files(keep_set(*numbers), scoped) for numbers in ((1,), (1, 2)))
    files = header.files(keep_set(1, 2), upstream)
    own = SourceTexts(session.services.engine.checkout).scopes

    assert [name for name in one if "/" in name] == [
        *map(tag_file, own.tags),
        *map(macro_file, own.macros),
    ]
    assert len(one) > 20
    assert one.keys() == two.keys()
    assert [*files] == [FORCED]
    assert len(files) < len(two)
    assert any("kern" in text for text in files.values())
    assert files != header.files(keep_set(1), upstream)


def test_links_lie_by_label_and_target(tmp_path: Path) -> None:
    assert links.locate_unstripped(Link.NAMED, "classify") == "links/named/classify"
    assert links.locate_stripped(Link.SHIPPED, "classify") == "links/shipped/stripped/classify"
    assert links.observables("classify") == "links/unfolded/classify.observables"
    assert links.identities(linked(tmp_path).results) == {"load_and_run": LINK}


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


def test_the_base_build_is_reduced_or_plain(tmp_path: Path) -> None:
    reduced = made(tmp_path / "a", "{level: function}")
    plain = made(tmp_path / "b", "{level: function, base: plain}")

    assert links.make_base_spec(reduced).variant is Variant.REDUCED
    assert links.make_base_spec(plain).variant is Variant.PLAIN
    assert links.shipped_flags(plain)[-1] == WITH_BUILD_ID
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
            table=code.table,
            code=code,
            observables=Observables(link_sha256=LINK, groups=groups),
        ),
        origins=ORIGINS,
        patterns=tuple(KeepPattern(text=each) for each in patterns),
        graphs=None,
    )


def make_keep_set(link: str = LINK, **functions: tuple[str, ...]) -> KeepSet:
    [record] = keep_set().scenarios
    records = (
        replace(record, id=f"{model}/default@any", functions=names, link_sha256=link)
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
    # What always stays brings what it calls; functions of another link keep nothing.
    dropped = make_program("my::log::format").trim(make_keep_set(vgg=(LOAD,))).dropped
    assert {FORMAT, WRITE}.isdisjoint(dropped)
    assert RUN in dropped
    with pytest.raises(InputError, match="so none of them would be kept"):
        program.trim(make_keep_set("b" * 64, vgg=(RUN,)))
