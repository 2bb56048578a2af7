from pathlib import Path

import pytest

from megtrim.build.engines import KINDS
from megtrim.build.engines.sample import SampleEngine, find_embedded_source
from megtrim.build_spec import Variant
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.build.engines.support import BUILT, SCOPED, make_spec, write

SAMPLE = {
    "CMakeLists.txt": "project(sample)\n",
    "src/bin_reduce_cmake.h": "",
    "src/elemwise_modes.txt": "# name value\nRELU 0\n\nADD 16\n",
    "src/kernels/relu.cpp": "MIDOUT_BEGIN(relu)\n",
    "README.md": "hello\n",
    "models/a.mge": "model\n",
}


def test_the_upstream_layout_has_one_file(processes: ProcessRunner, tmp_path: Path) -> None:
    engine = SampleEngine(write(tmp_path, SAMPLE), processes)
    reduced = make_spec(engine, Variant.REDUCED, header={"bin_reduce.h": "all\n"})

    assert reduced.overrides == (("src/bin_reduce_cmake.h", "all\n"),)
    assert reduced.include == ()
    assert reduced.forced_header == "src/bin_reduce_cmake.h"


def test_damaged_text_does_not_matter(processes: ProcessRunner, tmp_path: Path) -> None:
    write(tmp_path / "s", SAMPLE)
    (tmp_path / "s/src/kernels/relu.cpp").write_bytes(b"\xffx\n")
    sample = SampleEngine(tmp_path / "s", processes)
    assert dict(sample.texts()) == {
        "src/bin_reduce_cmake.h": "",
        "src/kernels/relu.cpp": "\ufffdx\n",
    }


def test_the_sample_engine_is_its_sources(processes: ProcessRunner, tmp_path: Path) -> None:
    engine = SampleEngine(write(tmp_path, SAMPLE), processes)
    before = engine.identity()
    write(tmp_path, {"models/b.mge": "another", "README.md": "changed"})
    same = SampleEngine(tmp_path, processes).identity()
    write(tmp_path, {"src/kernels/relu.cpp": "changed"})
    other = SampleEngine(tmp_path, processes).identity()

    assert sorted(engine.checkout.files) == [
        *("CMakeLists.txt", "src/bin_reduce_cmake.h", "src/elemwise_modes.txt"),
        "src/kernels/relu.cpp",
    ]
    assert (before.kind, before.generation) == ("sample", 20220507)
    assert same == before
    assert other.digest != before.digest


def test_the_variants_of_the_sample_engine(processes: ProcessRunner, tmp_path: Path) -> None:
    engine = SampleEngine(write(tmp_path, SAMPLE), processes)
    switches = {
        variant: dict(
            make_spec(engine, variant, header=SCOPED if variant == "reduced" else {}).options
        )
        for variant in BUILT
    }
    off = {"CMAKE_BUILD_TYPE": "Release"} | dict.fromkeys(
        ("MGE_WITH_MIDOUT_PROFILE", "MGE_WITH_MINIMUM_SIZE"), "OFF"
    )

    assert switches[Variant.PLAIN] == off
    assert switches[Variant.PROFILE] == off | {"MGE_WITH_MIDOUT_PROFILE": "ON"}
    assert switches[Variant.REDUCED] == off | {"MGE_WITH_MINIMUM_SIZE": "ON"}
    whole = make_spec(engine, Variant.REDUCED, header=SCOPED, minimum_size=False)
    assert dict(whole.options) == off
    reduced = make_spec(engine, Variant.REDUCED, header=SCOPED)
    assert reduced.include == (("midout.h", "regions\n"),)
    assert make_spec(engine, Variant.PLAIN).forced_header is None


def test_the_sample_engine_lists_its_modes(processes: ProcessRunner, tmp_path: Path) -> None:
    engine = SampleEngine(write(tmp_path, SAMPLE), processes)

    assert engine.elemwise_modes() == (("RELU", 0), ("ADD", 16))


def test_another_folder_is_no_sample_engine(processes: ProcessRunner, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        SampleEngine(write(tmp_path, {"src/main.cpp": ""}), processes)

    assert caught.value.message == (
        f"{tmp_path} is not a sample engine: it has no src/bin_reduce_cmake.h"
    )


def test_the_embedded_source_is_the_sample_engine(processes: ProcessRunner) -> None:
    engine = KINDS["sample"](find_embedded_source(), processes)

    assert engine.identity().kind == "sample"
    assert dict(engine.elemwise_modes())["RELU"] == 0


def test_the_flags_of_the_sample_are_those_that_its_program_names(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    whole = SampleEngine(find_embedded_source(), processes).dialect()
    bare = SampleEngine(write(tmp_path, SAMPLE), processes).dialect()

    assert {"cpu", "enable_nchw44", "record_comp_seq", "help"} < whole.switches
    assert {"iter", "warmup_iter", "multithread"} < whole.values
    assert not whole.knows("enable_jit")
    assert bare.knows("enable_jit")
    assert bare.knows("no_such_flag")
