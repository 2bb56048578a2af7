import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from megtrim.core.build_spec import Linkage, Variant
from megtrim.engines.load_and_run.dialects import LITE, SDK
from megtrim.engines.megengine.engine import (
    SCRIPT,
    MegEngine,
    _parse_comparisons,
    _parse_gflags,
    check_ndk,
    describe_library,
    expect_abi,
    narrow_dialect,
    script_for,
)
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.libs.programs.flags import Dialect
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import checkout
from unit.places.compile.projects.support import BUILT, TOOLCHAIN, make_spec, repository, write
from unit.places.compile.projects.support import NEWEST as MEGENGINE

MODES_SCRIPT = """\
import sys
option, what, source, output = sys.argv[1:]
assert (option, what) == ("--write-enum-items", "Elemwise:Mode")
open(output, "w").write(open(source).read())
"""
SAMPLE = {
    "CMakeLists.txt": "project(sample)\n",
    "src/bin_reduce_cmake.h": "",
    "src/elemwise_modes.txt": "# name value\nRELU 0\n\nADD 16\n",
    "src/kernels/relu.cpp": "MIDOUT_BEGIN(relu)\n",
    "README.md": "hello\n",
    "models/a.mge": "model\n",
}
LINUX = replace(TOOLCHAIN, kind="clang-linux-arm64", version="clang 14")
SDK_PROGRAM = "sdk/load-and-run/"
LITE_PROGRAM = "lite/load_and_run/"
OLD_SOURCE = """\
void parse() {
        if (!strcmp(argv[i], "--cpu")) {
            continue;
        }
        if (!strcmp(argv[i], "--iter")) {
            ++ i;
            continue;
        }
#define cb(_layout) if (!strcmp(argv[i], "--enable-" #_layout)) { continue; }
        cb(nchw44);
        cb(nchw88);
        if (!strcmp(argv[i], "--own-value")) {
            ++i;
            if (!strcmp(argv[i], "cuda")) { }
            continue;
        }
        if (!strcmp(argv[i],
                    "--own-switch")) {
            continue;
        }
        if (strncmp(argv[i], "--", 2)) { }
}
"""
NEW_SOURCE = """\
DEFINE_bool(cpu, false, "x");
DEFINE_bool(
        own_switch, false, "x");
DEFINE_string(input, "", "x");
DEFINE_int32(iter, 10, "x"); DEFINE_uint64(workspace_limit, 1, "x");
DEFINE_double( own_value, 1, "x");
DECLARE_bool(elsewhere); // UNDEFINE_bool(no)
"""
NDK = replace(TOOLCHAIN, kind="ndk", version="NDK r21e", abi="arm64-v8a")


def test_a_complete_checkout_is_taken(processes: ProcessRunner, tmp_path: Path) -> None:
    engine = MegEngine(repository(processes, tmp_path, MEGENGINE), processes)
    (tmp_path / "new.cpp").touch()
    changed = MegEngine(tmp_path, processes)

    identity = engine.identity()
    assert (identity.kind, identity.generation) == ("megengine", 20220507)
    assert identity.digest == engine.checkout.digest
    assert len(identity.commit) == 40
    assert identity.dirty == ()
    assert changed.identity().dirty == ("new.cpp",)


def test_the_variants_of_megengine(processes: ProcessRunner, tmp_path: Path) -> None:
    engine = MegEngine(write(tmp_path, MEGENGINE), processes)
    plain, profile = (make_spec(engine, each) for each in (Variant.PLAIN, Variant.PROFILE))
    reduced = make_spec(engine, Variant.REDUCED)

    assert ("MGE_INFERENCE_ONLY", "ON") in plain.options
    assert ("MGE_WITH_JIT", "OFF") in plain.options
    assert set(profile.options) - set(plain.options) == {("MGE_WITH_MIDOUT_PROFILE", "ON")}
    assert set(reduced.options) - set(plain.options) == {("MGE_WITH_MINIMUM_SIZE", "ON")}
    assert (plain.overrides, plain.include, plain.forced_header) == ((), (), None)
    assert reduced.overrides == (("src/bin_reduce_cmake.h", "forced\n"),)
    assert reduced.include == (("midout.h", "regions\n"),)
    assert reduced.forced_header == "src/bin_reduce_cmake.h"
    assert reduced.targets == ("load_and_run",)
    whole = make_spec(engine, Variant.REDUCED, minimum_size=False)
    assert dict(whole.options)["MGE_WITH_MINIMUM_SIZE"] == "OFF"


@pytest.mark.parametrize(
    ("schemas", "formats"),
    [
        ({"schema.fbs": "mgb1"}, ("mge v1",)),
        ({"schema.fbs": "mgb1", "schema_v2.fbs": "mgv2"}, ("mge v1", "mge v2")),
        ({"schema.fbs": "mgb1", "schema_v2.fbs": "ours"}, ()),
        ({}, ()),
    ],
)
def test_the_tree_says_which_models_it_reads(
    processes: ProcessRunner, tmp_path: Path, schemas: dict[str, str], formats: tuple[str, ...]
) -> None:
    texts = {
        f"src/serialization/impl/{name}": f'namespace mgb;\n\nfile_identifier "{identifier}";\n'
        for name, identifier in schemas.items()
    }
    others = {path: text for path, text in MEGENGINE.items() if not path.endswith(".fbs")}
    engine = MegEngine(write(tmp_path, {**others, **texts}), processes)

    assert engine.formats() == formats


def test_the_linker_folds_only_where_it_can(processes: ProcessRunner, tmp_path: Path) -> None:
    """And sources that may mark regions are listed, also those of damaged text."""
    engine = MegEngine(write(tmp_path, MEGENGINE), processes)

    for variant in BUILT:
        flags = make_spec(engine, variant, toolchain="clang-linux-arm64").link_flags
        assert flags == ("-Wl,-z,nocopyreloc", "-Wl,--icf=all")
        assert make_spec(engine, variant, toolchain="zig").link_flags == ()
    (tmp_path / "dnn/src/kernel.cpp").write_bytes(b"\xffx\n")
    assert dict(MegEngine(tmp_path, processes).texts()) == {
        "src/bin_reduce_cmake.h": "",
        "lite/load_and_run/main.cpp": "MIDOUT_BEGIN\n",
        "dnn/src/kernel.cpp": "\ufffdx\n",
        "dnn/src/common/elemwise/opr_impl.cpp": "MIDOUT_DECL(megdnn_common_elemwise_mode)\n",
    }


@pytest.mark.parametrize(("kind", "tree"), [(MegEngine, MEGENGINE), (SampleEngine, SAMPLE)])
def test_the_upstream_layout_has_one_file(
    processes: ProcessRunner,
    tmp_path: Path,
    kind: type[MegEngine | SampleEngine],
    tree: dict[str, str],
) -> None:
    engine = kind(write(tmp_path, tree), processes)
    reduced = make_spec(engine, Variant.REDUCED, header={"bin_reduce.h": "all\n"})

    assert reduced.overrides == (("src/bin_reduce_cmake.h", "all\n"),)
    assert reduced.include == ()
    assert reduced.forced_header == "src/bin_reduce_cmake.h"


def test_elementwise_modes_come_from_the_engines_own_script(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    modes = {
        "dnn/scripts/gen_param_defs.py": MODES_SCRIPT,
        "dnn/scripts/opr_param_defs.py": "RELU = 0,\nFUSE_MUL_ADD3=36\n\n",
    }
    engine = MegEngine(write(tmp_path, MEGENGINE | modes), processes)

    assert engine.elemwise_modes() == (("RELU", 0), ("FUSE_MUL_ADD3", 36))
    assert sorted(file.name for file in (tmp_path / "dnn/scripts").iterdir()) == [
        "gen_param_defs.py",
        "opr_param_defs.py",
    ]


@pytest.mark.parametrize("targets", ["", "add_library(lite_shared_x S)", "# lite_shared"])
def test_a_tree_without_it_is_refused(targets: str) -> None:
    with pytest.raises(InputError) as caught:
        describe_library(targets, Linkage.SHARED, LINUX, root="tree")
    assert caught.value.message == (
        "tree has no library for applications: lite/CMakeLists.txt makes no lite_shared"
    )


def of_tree(
    processes: ProcessRunner, root: Path, files: Mapping[str, str], dialect: Dialect, program: str
) -> Dialect:
    return narrow_dialect(dialect, checkout.take(write(root, files), processes), program)


def test_the_older_programs_flags(processes: ProcessRunner, tmp_path: Path) -> None:
    files = {"sdk/load-and-run/src/mgblar.cpp": OLD_SOURCE, "sdk/load-and-run/main.cpp": "main"}
    found = of_tree(processes, tmp_path, files, SDK, SDK_PROGRAM)

    assert found.switches == {"cpu", "enable_nchw44", "enable_nchw88", "own_switch"}
    assert found.values == {"iter", "own_value"}
    assert found.literal
    assert not found.knows("winograd_transform")


def test_the_newer_programs_flags(processes: ProcessRunner, tmp_path: Path) -> None:
    files = {"lite/load_and_run/src/options/a.cpp": NEW_SOURCE}
    found = of_tree(processes, tmp_path, files, LITE, LITE_PROGRAM)

    assert found.switches - {"help", "helpfull", "helpshort", "version"} == {"cpu", "own_switch"}
    assert found.values == {"input", "iter", "workspace_limit", "own_value"}


def test_a_tree_that_shows_none_keeps_the_list(processes: ProcessRunner, tmp_path: Path) -> None:
    files = {
        "lite/src/a.cpp": NEW_SOURCE,
        "lite/load_and_run/README.md": NEW_SOURCE,
        "lite/load_and_run/src/main.cpp": "int main;\n",
    }
    write(tmp_path, files)
    (tmp_path / "lite/load_and_run/src/linked.cpp").symlink_to(tmp_path / "lite/src/a.cpp")

    assert of_tree(processes, tmp_path, {}, LITE, LITE_PROGRAM) is LITE
    assert of_tree(processes, tmp_path, {}, SDK, SDK_PROGRAM) is SDK


@given(st.text(max_size=60) | st.lists(st.sampled_from(OLD_SOURCE.split("\n"))).map("\n".join))
def test_any_source_is_read(text: str) -> None:
    for name, _ in (*_parse_comparisons(text), *_parse_gflags(text)):
        assert name.isidentifier() or name[0].isdigit()


def test_the_script_is_shown_abi_and_targets() -> None:
    script = script_for(NDK, ("load_and_run", "lite_shared"))

    assert script.path == "scripts/cmake-build/cross_build_android_arm_inference.sh"
    assert script.arguments == ("-a", "arm64-v8a", "-e", "load_and_run lite_shared")
    assert script.build == "build_dir/android/arm64-v8a/Release/build"
    assert script.why


@given(st.text(min_size=1))
@example("a b; touch x $(id) 'q'")
def test_options_win_over_its_own_and_come_as_words(hostile: str) -> None:
    """It pastes them into a shell: a value with spaces stays one word, and runs nothing."""
    script = script_for(NDK, ("load_and_run",))
    reported = script.variables(("-DMGE_WITH_JIT=OFF", f"-DX={hostile}"))

    assert reported["NDK_ROOT"] == NDK.ndk
    assert reported["CMAKE_POLICY_VERSION_MINIMUM"] == "3.5"
    assert shlex.split(reported["EXTRA_CMAKE_ARGS"]) == [
        "-DMGE_WITH_JIT=OFF",
        f"-DX={hostile}",
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
    ]


def test_an_abi_that_the_tree_cannot_build_is_refused() -> None:
    script = 'ARCHS=("arm64-v8a" "armeabi-v7a")\nwhile getopts "lnvrkhdfa:e:j:" arg; do'
    expect_abi(script, "armeabi-v7a", root="engine")

    with pytest.raises(InputError, match="does not name the ABI x86, so this tree cannot build it"):
        expect_abi(script, "x86", root="engine")
    with pytest.raises(InputError, match=r"^engine has no scripts/cmake-build/cross_build_android"):
        expect_abi("", "arm64-v8a", root="engine")


@pytest.mark.parametrize("options", ['getopts "rkhdfpa:" arg', 'getopts "nvrkhdfa:e:" arg', ""])
def test_a_script_that_takes_no_targets_or_jobs_is_refused(options: str) -> None:
    """Those of the releases up to 1.5 would end with their usage, in the middle of a build."""
    with pytest.raises(InputError) as caught:
        expect_abi(f'"arm64-v8a"\nwhile {options}', "arm64-v8a", root="engine")

    script = f"engine/{SCRIPT}"
    expected = f"{script} has no options -e TARGET and -j JOBS, which megtrim uses"
    assert caught.value.message == expected
    assert caught.value.hint == "the engine's script has them from release 1.6 on"


@pytest.mark.parametrize(
    "version",
    [
        "NDK r20, Android (5220042) clang version 8.0.7",
        "NDK r21e, Android (7019983) clang version 9.0.9",
        "NDK r22, Debian clang version 14.0.6",
        "NDK r27c, Android (12470979) clang version 18.0.3",
    ],
)
def test_what_is_not_known_to_fail_is_let_through(version: str) -> None:
    check_ndk(replace(NDK, version=version))


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("NDK r19c, Android clang version 8.0.2", "NDK r19 is too old for this engine"),
        ("NDK r28, Android clang version 19.0.0", "clang 19 of the NDK is too new for this engine"),
    ],
)
def test_what_is_known_to_fail_is_refused(version: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_ndk(replace(NDK, version=version))

    assert caught.value.message.startswith(message)
    assert "r21e" in caught.value.hint


def test_the_sample_engine_is_its_sources(processes: ProcessRunner, tmp_path: Path) -> None:
    engine = SampleEngine(write(tmp_path, SAMPLE), processes)
    assert engine.elemwise_modes() == (("RELU", 0), ("ADD", 16))
    before = engine.identity()
    write(tmp_path, {"models/b.mge": "another", "README.md": "changed"})
    same = SampleEngine(tmp_path, processes).identity()
    write(tmp_path, {"src/kernels/relu.cpp": "changed"})
    other = SampleEngine(tmp_path, processes).identity()

    assert sorted(engine.checkout.files) == [
        "CMakeLists.txt",
        "src/bin_reduce_cmake.h",
        "src/elemwise_modes.txt",
        "src/kernels/relu.cpp",
    ]
    assert (before.kind, before.generation) == ("sample", 20220507)
    assert same == before
    assert other.digest != before.digest
    assert dict(engine.texts()) == {
        "src/bin_reduce_cmake.h": "",
        "src/kernels/relu.cpp": "changed",
    }


def test_the_variants_of_the_sample_engine(processes: ProcessRunner, tmp_path: Path) -> None:
    engine = SampleEngine(write(tmp_path, SAMPLE), processes)
    switches = {variant: dict(make_spec(engine, variant).options) for variant in BUILT}
    off = {"CMAKE_BUILD_TYPE": "Release"} | dict.fromkeys(
        ("MGE_WITH_MIDOUT_PROFILE", "MGE_WITH_MINIMUM_SIZE"), "OFF"
    )

    assert switches[Variant.PLAIN] == off
    assert switches[Variant.PROFILE] == off | {"MGE_WITH_MIDOUT_PROFILE": "ON"}
    assert switches[Variant.REDUCED] == off | {"MGE_WITH_MINIMUM_SIZE": "ON"}
    whole = make_spec(engine, Variant.REDUCED, minimum_size=False)
    assert dict(whole.options) == off
    reduced = make_spec(engine, Variant.REDUCED)
    assert reduced.include == (("midout.h", "regions\n"),)
    assert make_spec(engine, Variant.PLAIN).forced_header is None


def test_another_folder_is_no_sample_engine(processes: ProcessRunner, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        SampleEngine(write(tmp_path, {"src/main.cpp": ""}), processes)

    assert caught.value.message == (
        f"{tmp_path} is not a sample engine: it has no src/bin_reduce_cmake.h"
    )


def test_the_flags_of_the_sample_are_those_that_its_program_names(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    embedded = SampleEngine(find_embedded_source(), processes, tmp_path / "keepset")
    assert embedded.identity().kind == "sample"
    assert dict(embedded.elemwise_modes())["RELU"] == 0
    whole = embedded.dialect()
    bare = SampleEngine(write(tmp_path, SAMPLE), processes).dialect()

    assert {"cpu", "enable_nchw44", "record_comp_seq", "help"} < whole.switches
    assert {"iter", "warmup_iter", "multithread"} < whole.values
    assert not whole.knows("enable_jit")
    assert bare.knows("enable_jit")
    assert bare.knows("no_such_flag")
