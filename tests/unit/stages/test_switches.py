"""What each switch buys: the builds that are made for it, the table, and what is refused before.

The engine and its builder are stand-ins: a program is as large as its options say.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.build_spec import (
    BuildRecord,
    BuildSpec,
    EngineIdentity,
    RebuiltSources,
    Toolchain,
    Variant,
)
from megtrim.config.load import load_config
from megtrim.engines.checkout import Checkout
from megtrim.errors import InputError, ProductFailure
from megtrim.pipeline.building import switch_checks, variants
from megtrim.pipeline.result_content import content_of
from megtrim.pipeline.results import HeaderResult
from megtrim.pipeline.session import Session
from megtrim.pipeline.summary.keepset_usage import trim_choice
from megtrim.pipeline.summary.sizes import switch_sizes
from megtrim.plan.graph import HEADER, SWITCHES, Stage, tasks, tasks_up_to
from megtrim.stages import runner, switches
from unit.engines.support import TOOLCHAIN
from unit.stages.results import sample
from unit.stages.support import changed, open_session

SIZES = {
    "MGE_WITH_MINIMUM_SIZE=ON": 700,
    "MGE_ENABLE_RTTI=OFF": 100,
    "MGE_ENABLE_LOGGING=OFF": -24,
    "MGE_ENABLE_EXCEPTIONS=OFF": 300,
}
"""Bytes that an option takes off a program of 1,000."""
OPTIONS = ("MGE_ENABLE_RTTI", "MGE_ENABLE_LOGGING", "MGE_ENABLE_EXCEPTIONS")


class Engine:
    """Says what to build as the real ones do; MegEngine's own tree drops RTTI for Arm."""

    def __init__(
        self, root: Path, kind: str = "sample", options: tuple[str, ...] = OPTIONS
    ) -> None:
        text = "".join(f'option({name} "x" ON)\n' for name in options)
        if kind == "megengine":
            text += 'if(T STREQUAL "Release" AND NOT A STREQUAL "x86_64")\n'
            text += "set(MGE_ENABLE_RTTI OFF)\nendif()\n"
        (root / "CMakeLists.txt").write_text(text, encoding="utf-8")
        self.checkout = Checkout(root=root, files={"CMakeLists.txt": "d"}, commit="", dirty=())
        self.kind = kind

    def identity(self) -> EngineIdentity:
        return self.checkout.identity(self.kind, 20220507)

    def make_spec(
        self,
        variant: Variant,
        toolchain: Toolchain,
        *,
        targets: tuple[str, ...],
        minimum_size: bool,
        header: Mapping[str, str],
    ) -> BuildSpec:
        assert header == ({} if variant is Variant.PLAIN else {"midout.h": "regions"})
        minimum = ("MGE_WITH_MINIMUM_SIZE", "ON" if minimum_size else "OFF")
        options = (("CMAKE_BUILD_TYPE", "Release"), minimum)
        return BuildSpec(variant=variant, targets=targets, options=options)


class Builder:
    """Writes a program of the size that the options make, and remembers what was asked."""

    def __init__(self, fails_with: str = "") -> None:
        self.built: list[tuple[str, str]] = []
        self.fails_with = fails_with

    def build(
        self, spec: BuildSpec, *, work: Path, folder: Path, progress: object, applications: object
    ) -> BuildRecord:
        said = [f"{name}={value}" for name, value in spec.options]
        self.built.append((work.name, " ".join(each for each in said if each in SIZES)))
        if self.fails_with in said:
            msg = "log.cpp:3: error: unused\nin all its length"
            raise ProductFailure(msg)
        (folder / "bin").mkdir()
        (folder / "bin/load_and_run").write_bytes(
            bytes(1000 - sum(SIZES.get(each, 0) for each in said))
        )
        return BuildRecord(
            artifacts=(("load_and_run", "bin/load_and_run"),),
            translation_units=1,
            units_with_header=1,
            units_with_regions=1,
            rebuilt=RebuiltSources(predicted=None, compiled=("log.cpp",), cpu_s=None),
        )


def made(
    folder: Path,
    trim: str,
    *,
    kind: str = "sample",
    builder: Builder | None = None,
    model: str = "",
) -> Session:
    """Return a session with a header and with this trim section."""
    folder.mkdir(exist_ok=True)
    base, _ = open_session(folder)
    if model:
        data = Path(__file__).parents[2] / "data/models" / model
        (folder / "m.mge").write_bytes(data.read_bytes())
    text = (folder / "megtrim.yaml").read_text(encoding="utf-8")
    (folder / "megtrim.yaml").write_text(f"{text}trim: {trim}\n", encoding="utf-8")
    (folder / "engine").mkdir()
    ready = changed(
        base,
        loaded=load_config(folder / "megtrim.yaml"),
        engine=cast(Any, Engine(folder / "engine", kind)),
        toolchain=TOOLCHAIN,
        builder=cast(Any, builder or Builder()),
    )

    def write(path: Path) -> HeaderResult:
        (path / "include").mkdir()
        (path / "include/midout.h").write_text("regions", encoding="utf-8")
        return sample(HeaderResult)

    ready.results.done[HEADER] = ready.services.store.ensure(
        "header", "keepset", {}, write, HeaderResult
    )[0]
    return ready


def run(ready: Session) -> list[tuple[str, int | None, int | None, str]]:
    """Run the stage's own tasks and the reduced build; return the table."""
    config = ready.request.config
    wanted = [
        task
        for task in tasks_up_to(Stage.SWITCHES, tasks(config))
        if task.stage in (Stage.REDUCE, Stage.SWITCHES)
    ]
    runner.run(wanted, ready)
    return [
        (row.build, row.size_bytes, row.saved_bytes, row.note)
        for row in switch_sizes(ready.results)
    ]


def test_the_table(tmp_path: Path) -> None:
    """Each switch against all on, though one costs bytes; the last is the reduced build."""
    builder = Builder()
    ready = made(tmp_path, "{measure: [exceptions, rtti, logging]}", builder=builder)

    table = run(ready)

    assert table == [
        ("all-on", 1000, 0, ""),
        ("rtti-off", 900, 100, ""),
        ("logging-off", 1024, -24, ""),
        ("exceptions-off", 700, 300, ""),
        ("all-off", 300, 700, ""),
    ]
    tree = "sample-host-aarch64-switches"
    assert sorted(builder.built) == [
        ("sample-host-aarch64-reduced", "MGE_WITH_MINIMUM_SIZE=ON"),
        (tree, ""),
        (tree, "MGE_ENABLE_EXCEPTIONS=OFF"),
        (tree, "MGE_ENABLE_LOGGING=OFF"),
        (tree, "MGE_ENABLE_RTTI=OFF"),
    ]
    first = switch_sizes(ready.results)
    assert [row.off for row in first][-1] == ("rtti", "logging", "exceptions")
    assert [row.saved_share for row in first] == [0.0, 0.1, -0.024, 0.3, 0.7]
    assert {row.artifact for row in first} == {"load_and_run"}


def test_nothing_is_built_twice(tmp_path: Path) -> None:
    """A second run finds all of it."""
    builder = Builder()
    ready = made(tmp_path, "{measure: [rtti]}", builder=builder)
    run(ready)
    count = len(builder.built)
    again = changed(ready, done={HEADER: ready.results.done[HEADER]})

    assert run(again) == run(ready)
    assert len(builder.built) == count == 3


def test_what_an_engine_never_has_is_not_built(tmp_path: Path) -> None:
    """MegEngine's Release build for Arm has no RTTI, whatever is said."""
    builder = Builder()
    ready = made(tmp_path, "{measure: [rtti]}", kind="megengine", builder=builder)

    assert run(ready) == [
        ("all-on", 1000, 0, ""),
        ("rtti-off", None, None, "always off in this engine's Release build for aarch64"),
        ("all-off", 300, 700, ""),
    ]
    assert len(builder.built) == 2


@pytest.mark.parametrize(
    ("failing", "sizes", "saved"),
    [
        ("MGE_ENABLE_LOGGING=OFF", [1000, None, 300], [0, None, 700]),
        ("MGE_WITH_MINIMUM_SIZE=OFF", [None, None, 300], [None, None, None]),
    ],
)
def test_a_build_that_fails_is_told_in_the_table(
    tmp_path: Path, failing: str, sizes: list[int | None], saved: list[int | None]
) -> None:
    """It fails nothing: whether the engine compiles so was the question."""
    ready = made(tmp_path, "{measure: [logging]}", builder=Builder(failing))

    table = run(ready)

    assert [row[1] for row in table] == sizes
    assert [row[2] for row in table] == saved
    assert table[1][3] == "not built: log.cpp:3: error: unused"
    assert ready.results.failed == {}


def test_without_measure_there_is_no_table(tmp_path: Path) -> None:
    """A verdict then says nothing of switches."""
    ready = made(tmp_path, "{minimum_size: false, switches: {logging: false}}")

    assert tasks_up_to(Stage.SWITCHES, tasks(ready.request.config)) == ()
    assert switch_sizes(ready.results) == ()
    assert trim_choice(ready).switched_off == ("logging",)


def test_what_is_off_beside_the_minimum_size(tmp_path: Path) -> None:
    """Only that: the minimum size has a word of its own."""
    ready = made(tmp_path, "{switches: {rtti: false, flatbuffers: false}}")

    assert trim_choice(ready).switched_off == ("flatbuffers",)


def test_the_switches_are_in_the_reduced_build_alone(tmp_path: Path) -> None:
    """Plain is what people have; profile must tell everything. engine.cmake has the last word."""
    ready = made(tmp_path, "{minimum_size: false, switches: {logging: false, rtti: false}}")

    def options(variant: Variant) -> dict[str, str]:
        header = {} if variant is Variant.PLAIN else {"midout.h": "regions"}
        return dict(variants.make_spec(ready, variant, header).options)

    assert options(Variant.REDUCED) == options(Variant.PLAIN) | {
        "MGE_ENABLE_RTTI": "OFF",
        "MGE_ENABLE_LOGGING": "OFF",
    }
    assert options(Variant.PLAIN)["MGE_WITH_MINIMUM_SIZE"] == "OFF"


@pytest.mark.parametrize(
    ("trim", "kind", "told"),
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
            "{measure: [rtti, flatbuffers]}",
            "sample",
            (
                "megtrim.yaml:5: trim.measure: flatbuffers: the engine at {engine} has no option "
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
def test_what_cannot_be_had_is_refused(tmp_path: Path, trim: str, kind: str, told: str) -> None:
    """Before anything is built, with file and line."""
    ready = made(tmp_path, trim, kind=kind)

    with pytest.raises(InputError) as caught:
        switch_checks.expect_switchable(ready)

    assert caught.value.message == f"{tmp_path}/{told}".format(engine=tmp_path / "engine")


@pytest.mark.parametrize("name", ["resnet18-s.mge", "resnet18-s.v2.mge"])
@pytest.mark.parametrize(
    ("trim", "where"),
    [
        ("{switches: {flatbuffers: false}}", "trim.switches.flatbuffers"),
        ("{measure: [flatbuffers]}", "trim.measure: flatbuffers"),
    ],
)
def test_a_model_in_flatbuffers_keeps_them(
    tmp_path: Path, name: str, trim: str, where: str
) -> None:
    """Both formats of the engine are; the file itself says so."""
    ready = made(tmp_path, trim, model=name)
    Engine(tmp_path / "engine", options=(*OPTIONS, "MGB_WITH_FLATBUFFERS"))

    with pytest.raises(InputError) as caught:
        switch_checks.expect_switchable(ready)

    assert caught.value.message == (
        f"{tmp_path}/megtrim.yaml:5: {where}: the model m (m.mge) is FlatBuffers"
    )
    assert caught.value.hint == "no build without FlatBuffers can load it: leave this switch on"


def test_a_model_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    """An encrypted one may be anything; its scenarios will tell. True is no question at all."""
    ready = made(tmp_path, "{switches: {flatbuffers: false}}")
    Engine(tmp_path / "engine", options=(*OPTIONS, "MGB_WITH_FLATBUFFERS"))
    warned: list[str] = []
    spoken = changed(ready, console=cast(Any, SimpleNamespace(warn=warned.append)))

    switch_checks.expect_switchable(spoken)

    assert len(warned) == 1
    assert "m.mge is in a format that megtrim cannot read" in warned[0]
    on = made(tmp_path / "on", "{switches: {flatbuffers: true}}", model="resnet18-s.mge")
    Engine(tmp_path / "on/engine", options=(*OPTIONS, "MGB_WITH_FLATBUFFERS"))
    switch_checks.expect_switchable(on)


def test_a_table_rests_on_its_builds(tmp_path: Path) -> None:
    """Another build of one of them is another table."""
    ready = made(tmp_path, "{measure: [rtti]}")
    run(ready)
    task = next(each for each in tasks(ready.request.config) if each.id == SWITCHES)

    builds = ("switches/all-on", "switches/rtti-off", "reduce/reduced")
    assert switches.inputs(task, ready) == {
        "artifacts": "load_and_run",
        **{need: content_of(ready.results.done[need]) for need in builds},
    }
