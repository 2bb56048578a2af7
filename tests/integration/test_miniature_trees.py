"""Miniatures of the real engine's two generations, built for a stand-in of the Android NDK.

First by their own script, as a user of the engine does; then by megtrim.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from integration.sample_builds import run
from megtrim.engines.megengine.engine import MegEngine
from megtrim.libs.util.process import CompletedCommand, ProcessRunner
from support.megtrim_cli import Project
from support.miniature import Generation, make_miniature
from support.standin_ndk import make_standin_ndk

pytestmark = [pytest.mark.chain, pytest.mark.clang]

SCRIPT = "scripts/cmake-build/cross_build_android_arm_inference.sh"
KERNEL = "dnn/src/fallback/kernel.cpp"
BUILD = "build_dir/android/arm64-v8a/Release/build"
RECORDER = "src/CMakeFiles/megbrain.dir/__/third_party/midout/src/midout.cpp.o"
OUR_PROGRAMS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def ndk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_standin_ndk(tmp_path_factory.mktemp("ndk") / "android-ndk-r21e")


def _script(tree: Path, ndk: Path, *arguments: str, extra: str = "") -> CompletedCommand:
    """Run the tree's own script. What it bundles is older than what new CMakes take."""
    env = {
        "NDK_ROOT": str(ndk),
        "EXTRA_CMAKE_ARGS": extra,
        "PATH": f"{OUR_PROGRAMS}:{os.environ['PATH']}",
        "CMAKE_POLICY_VERSION_MINIMUM": "3.5",
    }
    return run("bash", str(tree / SCRIPT), "-j", "2", *arguments, env=env)


def test_equal_arguments_make_equal_folders(tmp_path: Path) -> None:
    """A tree says its generation."""
    trees = [
        make_miniature(tmp_path / f"{generation}-{number}", generation)
        for generation in Generation
        for number in (1, 2)
    ]
    numbers = [MegEngine(e, ProcessRunner(os.environ)).identity().generation for e in trees]
    commits = [run("git", "-C", str(tree), "rev-parse", "HEAD").stdout for tree in trees]
    first, second = (make_standin_ndk(tmp_path / name) for name in ("ndk-1", "ndk-2"))

    assert numbers == [20190219, 20190219, 20220507, 20220507]
    assert commits[0] == commits[1] != commits[2] == commits[3]
    assert run("diff", "-r", "--no-dereference", str(first), str(second)).rc == 0


def test_up_to_1_6_a_release_cannot_profile(tmp_path: Path, ndk: Path) -> None:
    """For Arm, Release switches RTTI off even where regions are recorded by their types."""
    tree = make_miniature(tmp_path / "tree", Generation.SDK)
    profile = "-DMGE_WITH_MIDOUT_PROFILE=ON"
    release = _script(tree, ndk, "-e", RECORDER, extra=profile)
    other = _script(tree, ndk, "-e", RECORDER, extra=f"{profile} -DCMAKE_BUILD_TYPE=RelWithDebInfo")

    assert release.rc == 1
    assert "use of typeid requires -frtti" in release.stdout
    assert other.ok, other.stdout[-3000:] + other.stderr[-3000:]


def test_from_1_7_on_a_release_profiles_and_old_options_do_nothing(
    tmp_path: Path, ndk: Path
) -> None:
    """An option that is gone is no error: nothing is trimmed, and nothing fails."""
    tree = make_miniature(tmp_path / "tree", Generation.LITE)
    profile = "-DMGE_WITH_MIDOUT_PROFILE=ON -DMGE_BIN_REDUCE=/there/is/no/such.h"
    built = _script(tree, ndk, "-e", RECORDER, extra=profile)

    assert built.ok, built.stdout[-3000:] + built.stderr[-3000:]


def test_a_second_shell_reads_the_words(tmp_path: Path, ndk: Path) -> None:
    """Quotes within EXTRA_CMAKE_ARGS keep a value whole; a path with a space is torn apart."""
    tree = make_miniature(tmp_path / "tree", Generation.LITE)
    quoted = _script(tree, ndk, "-n", "-e", RECORDER, extra="'-DA_NOTE=two words; and more'")
    cache = (tree / BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    spaced = make_standin_ndk(tmp_path / "two words")
    torn = _script(tree, spaced, "-r", "-n", "-e", RECORDER)

    assert quoted.ok, quoted.stdout[-3000:] + quoted.stderr[-3000:]
    assert "A_NOTE:UNINITIALIZED=two words; and more\n" in cache
    assert torn.rc != 0


@pytest.mark.parametrize(
    ("generation", "toolchain", "optimize"),
    [
        (Generation.SDK, {"kind": "ndk", "abi": "armeabi-v7a"}, "none"),
        (Generation.LITE, {"kind": "ndk"}, "size"),
        (Generation.LITE, {"kind": "clang-linux-arm64"}, "none"),
    ],
)
def test_one_command_trims_a_miniature(
    tmp_path: Path, ndk: Path, generation: Generation, toolchain: dict[str, str], optimize: str
) -> None:
    """The whole chain, through the engine's own script where it is for Android.

    What is compiled for size is all but the kernels, by that way as by any.
    """
    project = Project.of_sample(tmp_path / "project", models=("tiny-mobile", "tiny-quant"))
    tree = make_miniature(project.folder / "tree", generation, more={KERNEL: "int kernel;\n"})
    project.env["ANDROID_NDK_ROOT"] = str(ndk)
    # Models of the sample engine, which MegEngine's reader does not know.
    models = [
        {**model, "strip_info": f"{model['file']}.json"} for model in project.read()["models"]
    ]
    project.change(
        engine={"kind": "megengine", "source": "tree", "target": "load_and_run"},
        models=models,
        toolchain=toolchain,
        trim={"optimize": optimize},
        budgets=[],
    )
    project.expect("trim")
    verdict = project.verdict()
    sizes = {row["variant"]: row["size_bytes"] for row in verdict["artifacts"][0]["sizes"]}
    logs = [
        project.file(task, "build.log").read_text(encoding="utf-8")
        for task in ("build/plain", "build/profile", "reduce/reduced")
    ]

    assert verdict["verdict"] == "pass"
    assert [s["status"] for s in verdict["scenarios"]] == ["pass"] * 2
    assert all(o["equal"] for s in verdict["scenarios"] for o in s["outputs"])
    assert all(s["outputs"] for s in verdict["scenarios"])
    assert 0 < verdict["regions"]["kept"] < verdict["regions"]["held"]
    assert sizes["reduced"] < sizes["plain"] < sizes["profile"]
    assert [SCRIPT in log for log in logs] == [toolchain["kind"] == "ndk"] * 3
    assert run("git", "-C", str(tree), "status", "--porcelain").stdout == ""
    for_size = _compiled_for_size(project.out)
    assert KERNEL in for_size[False]
    assert len(for_size[True]) == (0 if optimize == "none" else len(for_size[False]) + 49)


def _compiled_for_size(out: Path) -> dict[bool, list[str]]:
    found = out.glob("work/*-reduced/**/compile_commands.json")
    # The engine's own tool for this machine is built next to it.
    (records,) = (path for path in found if "host_flatc" not in path.parts)
    reported: dict[bool, list[str]] = {True: [], False: []}
    for entry in json.loads(records.read_text(encoding="utf-8")):
        source = entry["file"].partition("/src/")[2]
        reported[" -Oz " in entry["command"]].append(source)
    return reported
