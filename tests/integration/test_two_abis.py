"""One configuration for arm64-v8a and armeabi-v7a: trims by functions, one AAR, one program in C.

The NDK is a stand-in: what it makes are Linux programs, of Thumb code for armeabi-v7a.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.links import TRAPPED
from integration.planted_uses import (
    ARM64,
    ARMV7,
    KEPT,
    LIBRARY,
    PRINTED,
    Abi,
    expect_no_silent_use,
    plant,
)
from integration.sample_builds import build_c_consumer, run
from megtrim.core.checks.invocation import Options
from megtrim.libs.elf.symbol_table import read_table
from support.megtrim_cli import ARGV, Project
from support.prefab import read_package, unzip
from support.standin_ndk import make_standin_ndk

pytestmark = [pytest.mark.chain, pytest.mark.clang]

ABIS = {"arm64-v8a": ARM64, "armeabi-v7a": ARMV7}


@dataclass(slots=True)
class OneOf(Project):
    """A project as one of its toolchains sees it."""

    toolchain: str = ""

    @property
    def config(self) -> Path:
        return self.folder / f"megtrim.yaml#{self.toolchain}"


def narrow(project: Project, toolchain: str) -> OneOf:
    one = OneOf(project.folder, project.env, toolchain)
    one.out = project.out / toolchain
    return one


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project.of_sample(tmp_path_factory.mktemp("project"), models=("tiny-mobile",))
    ndk = make_standin_ndk(made.folder / "android-ndk-r21e")
    made.env["ANDROID_NDK_ROOT"] = str(ndk)
    plant(made)
    config = made.read()
    del config["toolchain"]
    config["toolchains"] = [
        {"name": abi, "kind": "ndk", "abi": abi, "api": 21, "stl": "c++_shared"} for abi in ABIS
    ]
    config["trim"] = {
        "level": "function",
        "base": "plain",
        "crash_ids": True,
        "exports": [*KEPT],
    }
    config["classes"] = [{"name": "any", "qemu_cpu": "max"}]
    config["devices"] = [
        {"name": name, "kind": "qemu", "class": "any", "sysroot": abi.sysroot, "toolchains": [name]}
        for name, abi in ABIS.items()
    ]
    programs = ("sample-classify", "loader")
    config["applications"] = [
        {"name": name, "source": "app", "library": "shared"} for name in programs
    ]
    inputs = config["models"][0]["scenarios"][0]["inputs"]
    config["models"][0]["scenarios"] = [
        {"name": f"by-{name}", "application": name, "args": PRINTED, "inputs": inputs}
        for name in programs
    ]
    config |= {"artifacts": [*programs, LIBRARY], "budgets": [], "waivers": []}
    made.write(config)
    made.expect("trim")
    return made


@pytest.fixture(scope="module")
def releases(project: Project) -> dict[str, Path]:
    made = {name: project.folder / f"release-{name}" for name in ABIS}
    for name, folder in made.items():
        narrow(project, name).expect("release build", str(folder), "--committed")
    return made


@pytest.mark.parametrize("name", ABIS)
def test_the_shared_object_is_trimmed_by_functions(project: Project, name: str) -> None:
    done = narrow(project, name).done()
    verdict = json.loads((done["verdict/verdict"] / "verdict.json").read_text(encoding="utf-8"))
    sizes = {
        artifact["name"]: {row["variant"]: row["size_bytes"] for row in artifact["sizes"]}
        for artifact in verdict["artifacts"]
    }
    unstripped = done["reduce/reduced"] / "links/shipped" / LIBRARY
    modes = {each.thumb for each in read_table(unstripped).functions}

    assert verdict["verdict"] == "pass"
    assert all(o["equal"] for s in verdict["scenarios"] for o in s["outputs"])
    assert sizes[LIBRARY]["reduced"] < 0.5 * sizes[LIBRARY]["plain"]
    assert (True in modes) == (name == "armeabi-v7a")


def test_no_use_of_what_was_left_out_is_silent_on_armv7(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANDROID_NDK_ROOT", project.env["ANDROID_NDK_ROOT"])
    one = narrow(project, "armeabi-v7a")
    options = Options(config=one.config, out=one.out, quiet=True)
    expect_no_silent_use(one, ARMV7, tmp_path, options=options)


def test_one_aar_has_both(project: Project, releases: dict[str, Path], tmp_path: Path) -> None:
    """From releases that are verified, or as ``export`` makes it: with the same bytes."""
    aar = tmp_path / "MegEngineTrimmed.aar"
    joined = run(*ARGV, "release", "aar", str(aar), *map(str, releases.values()))
    assert joined.ok, joined.stderr
    project.expect("export", str(tmp_path / "trimmed"))
    _, modules = read_package(unzip(aar.read_bytes()))

    assert modules["shared"].libraries.keys() == {*ABIS}
    assert (tmp_path / "trimmed" / aar.name).read_bytes() == aar.read_bytes()


@pytest.mark.parametrize(("name", "abi"), ABIS.items())
def test_a_program_in_c_uses_the_library(
    project: Project, releases: dict[str, Path], tmp_path: Path, name: str, abi: Abi
) -> None:
    program = build_c_consumer(releases[name], tmp_path / "consumer", abi.compiler)
    shutil.copytree(releases[name] / "lib", tmp_path / "whole")
    plain = narrow(project, name).file("build/plain", f"bin/{LIBRARY}")
    shutil.copy(plain, tmp_path / "whole" / LIBRARY)
    models = project.folder / "engine/models"
    given = (str(models / "tiny-mobile.sample"), f"data={models / 'tiny-mobile.data.npy'}")
    found = [{"QEMU_SET_ENV": f"LD_LIBRARY_PATH={tmp_path / each}"} for each in ("lib", "whole")]
    shutil.copytree(releases[name] / "lib", tmp_path / "lib")
    said = [abi.emulate(program, *given, env=env) for env in found]
    untraced = [abi.emulate(program, *given, "threads=2", env=env) for env in found]

    assert [each.rc for each in said] == [0, 0], said[0].stderr
    assert said[0].stdout.startswith("softmax29: ")
    assert said[0].stdout == said[1].stdout == untraced[1].stdout
    assert untraced[0].rc == TRAPPED[abi.machine]


def test_a_release_for_armv7_is_built_again_with_equal_bytes(
    project: Project, releases: dict[str, Path]
) -> None:
    again = narrow(project, "armeabi-v7a").expect(
        "release verify", str(releases["armeabi-v7a"]), "--rebuild"
    )
    assert "files have the same bytes" in again.stdout
