from pathlib import Path
from typing import Any, cast

import pytest

from megtrim.build_spec import BuildRecord, BuildSpec, LinkSpec, Variant
from megtrim.chain.graph import Stage, Task
from megtrim.chain.session import Session
from megtrim.trim.stages import build
from megtrim.util.errors import InputError, ProductFailure
from unit.trim.stages.support import changed, trace
from unit.trim.stages.switch_builds import made


class Builder:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[str] = []

    def build(self, spec: BuildSpec, *, folder: Path, **_: object) -> BuildRecord:
        (folder / "bin").mkdir()
        (folder / "bin/load_and_run").write_bytes(self.data)
        return BuildRecord(
            artifacts={"load_and_run": len(self.data)}, translation_units=1, rebuilt=()
        )

    def link(
        self, spec: BuildSpec, links: tuple[LinkSpec, ...], *, folder: Path, **_: object
    ) -> None:
        self.asked += (f"{spec.variant} {each.target}" for each in links)
        for each in links:
            linked = folder / "links" / each.label / each.target
            linked.parent.mkdir(parents=True)
            linked.write_bytes(self.data)

    def expect_linkable(self, spec: BuildSpec, targets: tuple[str, ...], **_: object) -> None:
        self.asked.append(f"{spec.variant} {' '.join(targets)}")
        msg = "the linker cannot leave functions out"
        raise InputError(msg)


def task(variant: Variant) -> Task:
    return Task(stage=Stage.BUILD, name=variant, needs=())


def session(folder: Path, data: bytes = b"", trim: str = "{level: region}") -> Session:
    (folder / "left").mkdir(parents=True)
    return changed(made(folder, trim), builder=cast(Any, Builder(data)))


def test_the_plain_build_counts_no_regions(tmp_path: Path) -> None:
    ready = session(tmp_path, b"\x7fELF")
    found = build.work(task(Variant.PLAIN), ready, tmp_path / "left")

    assert found.build.artifacts == {"load_and_run": 4}
    assert not (tmp_path / "left/regions.txt").exists()


def test_functions_are_refused_at_the_first_build(tmp_path: Path) -> None:
    ready = session(tmp_path, trim="{level: function}")
    with pytest.raises(InputError, match="cannot leave functions out"):
        build.work(task(Variant.PLAIN), ready, tmp_path / "left")


def test_the_profile_build_lists_the_regions_that_it_holds(tmp_path: Path) -> None:
    names = trace(7, 1, 7).splitlines()[1:]
    ready = session(tmp_path, b"\x7fELF\0" + b"\0".join(names) + b"\0")
    build.work(task(Variant.PROFILE), ready, tmp_path / "left")

    assert (tmp_path / "left/regions.txt").read_text(encoding="utf-8") == "kern<1>\nkern<7>\n"


def test_a_profile_build_without_regions_traces_nothing(tmp_path: Path) -> None:
    ready = session(tmp_path, b"\x7fELF")
    with pytest.raises(ProductFailure, match="load_and_run holds no midout regions"):
        build.work(task(Variant.PROFILE), ready, tmp_path / "left")


def test_the_key_is_of_the_variant(tmp_path: Path) -> None:
    on, off = (
        session(tmp_path / "a"),
        session(tmp_path / "b", trim="{switches: {flatbuffers: false}}"),
    )

    for variant in (Variant.PLAIN, Variant.PROFILE):
        assert build.inputs(task(variant), on) == build.inputs(task(variant), off)
    assert build.inputs(task(Variant.PLAIN), on)["targets"] == "load_and_run"
