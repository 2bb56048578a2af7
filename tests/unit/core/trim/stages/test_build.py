import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from megtrim.core.build_spec import BuildRecord, BuildSpec, LinkSpec, Variant
from megtrim.core.chain.graph import Stage, Task
from megtrim.core.chain.session import Session
from megtrim.core.keep.keepset_files import dump_keep_set, read_keep_set
from megtrim.core.keep.operators import OperatorNeeds
from megtrim.core.trim.results import HeaderResult
from megtrim.core.trim.stages import build, header
from megtrim.engines.midout.header import macro_file, tag_file
from megtrim.engines.source_texts import SourceTexts
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from unit.core.trim.stages import support
from unit.core.trim.stages.switch_builds import made


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
    return support.changed(made(folder, trim), builder=cast(Any, Builder(data)))


def test_the_plain_build_counts_no_regions(tmp_path: Path) -> None:
    """A profile build without any traces nothing."""
    ready = session(tmp_path, b"\x7fELF")
    found = build.work(task(Variant.PLAIN), ready, tmp_path / "left")

    assert found.build.artifacts == {"load_and_run": 4}
    assert not (tmp_path / "left/regions.txt").exists()
    again = session(tmp_path / "again", b"\x7fELF")
    with pytest.raises(ProductFailure, match="load_and_run contains no midout regions"):
        build.work(task(Variant.PROFILE), again, tmp_path / "again/left")


def test_functions_are_refused_at_the_first_build(tmp_path: Path) -> None:
    ready = session(tmp_path, trim="{level: function}")
    with pytest.raises(InputError, match="cannot leave functions out"):
        build.work(task(Variant.PLAIN), ready, tmp_path / "left")


def test_the_profile_build_lists_the_regions_that_it_holds(tmp_path: Path) -> None:
    names = support.trace(7, 1, 7).splitlines()[1:]
    ready = session(tmp_path, b"\x7fELF\0" + b"\0".join(names) + b"\0")
    build.work(task(Variant.PROFILE), ready, tmp_path / "left")

    assert (tmp_path / "left/regions.txt").read_text(encoding="utf-8") == "kern<1>\nkern<7>\n"


def test_the_key_is_of_the_variant(tmp_path: Path) -> None:
    on = session(tmp_path / "a")
    off = session(tmp_path / "b", trim="{switches: {flatbuffers: false}}")

    for variant in (Variant.PLAIN, Variant.PROFILE):
        assert build.inputs(task(variant), on) == build.inputs(task(variant), off)
    assert build.inputs(task(Variant.PLAIN), on)["targets"] == "load_and_run"


@pytest.fixture
def now(tmp_path: Path, processes: ProcessRunner) -> Session:
    return support.open_committed(tmp_path, processes)[0]


def test_the_header_is_made_from_the_committed_file(now: Session) -> None:
    support.commit(now, support.keep_set(1, 2))

    folder = support.make_header(now)

    assert read_keep_set(folder.file("keepset.json")) == support.keep_set(1, 2)
    text = folder.file("include/midout.h").read_text(encoding="utf-8")
    assert text.count("kern") > 0
    assert folder.result == HeaderResult(regions=2, operators=0, warnings=())
    files = {name for name in folder.files if name.startswith("include/")}
    scopes = SourceTexts(now.services.engine.checkout).scopes
    assert files == {
        "include/bin_reduce.h",
        "include/midout.h",
        *(f"include/{tag_file(tag)}" for tag in scopes.tags),
        *(f"include/{macro_file(macro)}" for macro in scopes.macros),
    }
    assert len(scopes.tags) > 20


def test_the_order_of_lines_changes_nothing(now: Session) -> None:
    """A merge by line is the same keep set: the same key, and the file is the normal form."""
    path = support.commit(now, support.keep_set(1, 2)) / "m/s@any.json"
    whole = path.read_text(encoding="utf-8")
    before = header.inputs(support.HEADER_TASK, now)
    lines = whole.splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if '"region' in line]
    lines[places[0]], lines[places[1]] = lines[places[1]], lines[places[0]]
    path.write_text("".join(lines), encoding="utf-8")

    assert path.read_text(encoding="utf-8") != whole
    assert header.inputs(support.HEADER_TASK, now) == before
    assert support.make_header(now).file("keepset.json").read_text(encoding="utf-8") == whole


def test_the_file_is_bound_by_its_digest(now: Session) -> None:
    support.commit(now, support.keep_set(1))
    named = header.inputs(support.HEADER_TASK, now)

    digest = hashlib.sha256(dump_keep_set(support.keep_set(1)).encode()).hexdigest()
    assert named["committed keep set"] == digest
    assert named["scenarios"] == "m/s@any"
    assert named["generation"] == "20220507"
    assert set(named) == {
        "generation",
        "layout",
        "elementwise modes",
        "committed keep set",
        "scenarios",
        "files of their own",
    }
    support.commit(now, support.keep_set(1, 2))
    assert header.inputs(support.HEADER_TASK, now) != named


def test_what_is_kept_for_no_one_is_warned_of(now: Session) -> None:
    """A scenario that was taken out of the configuration still costs bytes."""
    [record] = support.keep_set(1).scenarios
    needs = OperatorNeeds(
        hashes=(), dtypes=(), operators=(("Conv", ("m",)), ("Pool", ("m",))), elemwise_modes=()
    )
    records = (record, replace(record, id="old/s@any"))
    support.commit(now, replace(support.keep_set(1), scenarios=records, operators=needs))

    old = "the keep set keeps regions for old/s@any, which is not configured any more"
    expected = HeaderResult(regions=1, operators=2, warnings=(old,))
    assert support.make_header(now).result == expected


def test_without_the_file_nothing_can_be_trimmed(now: Session) -> None:
    with pytest.raises(InputError) as caught:
        header.inputs(support.HEADER_TASK, now)

    lacking = "megtrim/keepset: there is no keep set, but --committed needs one"
    assert caught.value.message == lacking
    assert caught.value.hint == "make it, and commit it: megtrim trim --accept"
