import hashlib
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.compile.images.docker import DockerClient
from support.clock import until
from support.megtrim_cli import Project

MODEL = "tiny-quant"
PATIENCE_S = 1800
_CACHES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
CCACHE_DIR = str(_CACHES / "megtrim" / "ccache-in-images")
"""What was compiled in images alone, so that a build outside can be held against it."""


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def project_in(folder: Path, kind: str, image: str) -> Project:
    project = Project.of_sample(folder, models=(MODEL,))
    config = project.read()
    config["toolchain"] = {"kind": kind, "image": image}
    config["trim"] = {"level": "function"}
    for key in ("budgets", "waivers"):  # they fit what zig links
        config.pop(key, None)
    project.write(config)
    project.env["CCACHE_DIR"] = CCACHE_DIR
    return project


@pytest.fixture(scope="module")
def trimmed(linux_image: str, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = project_in(tmp_path_factory.mktemp("team"), "clang-linux-arm64", linux_image)
    before = digests(project.folder / "engine")
    outcome = project.run("trim", "--accept", timeout_s=PATIENCE_S)
    assert outcome.rc == 0, outcome.stdout + outcome.stderr[-3000:]
    assert digests(project.folder / "engine") == before
    return project


def manifest(project: Project, stage: str) -> dict[str, Any]:
    found = sorted((project.out / stage).glob("*/manifest.json"), key=lambda p: p.stat().st_mtime)
    data: dict[str, Any] = json.loads(found[-1].read_text(encoding="utf-8"))
    return data


def test_a_trim_inside(docker: DockerClient, trimmed: Project, linux_image: str) -> None:
    image = docker.image(linux_image).id
    verdict = trimmed.verdict()

    assert verdict["verdict"] == "pass"
    assert manifest(trimmed, "reduce")["inputs"]["toolchain image"] == image
    assert verdict["toolchain"]["image"] == image
    owners = {path.stat().st_uid for path in trimmed.out.rglob("*")}
    assert owners == {os.getuid()}


def test_the_same_binary_as_outside(trimmed: Project) -> None:
    inside = manifest(trimmed, "reduce")
    del trimmed.env["CCACHE_DIR"]
    outcome = trimmed.run("stage reduce", "--committed", "--no-docker", timeout_s=PATIENCE_S)
    assert outcome.rc == 0, outcome.stderr[-3000:]
    outside = manifest(trimmed, "reduce")

    assert outside["key"] != inside["key"]
    assert "toolchain image" not in outside["inputs"]
    name = "bin/load_and_run"
    assert outside["files"][name] == inside["files"][name]


def test_a_trim_with_an_ndk(
    docker: DockerClient, android_image: str, standin: Path, tmp_path: Path
) -> None:
    """The C++ library lies in the image alone, and loses what a machine's own loses."""
    project = project_in(tmp_path / "team", "ndk", android_image)
    outcome = project.run("trim", "--quick", timeout_s=PATIENCE_S)
    assert outcome.rc == 0, outcome.stdout + outcome.stderr[-3000:]

    inside = manifest(project, "reduce")
    # Asking megtrim where it is would be a trim that is not quick.
    verdict = json.loads((project.out / "final/verdict.json").read_text(encoding="utf-8"))
    assert verdict["toolchain"]["image"] == docker.image(android_image).id
    assert "stand-in" in verdict["toolchain"]["version"]
    assert verdict["verdict"] == "pass"

    project.env = {"ANDROID_NDK_ROOT": str(standin)}
    outcome = project.run("trim", "--quick", "--no-docker", timeout_s=PATIENCE_S)
    assert outcome.rc == 0, outcome.stdout + outcome.stderr[-3000:]
    outside = manifest(project, "reduce")
    assert "toolchain image" not in outside["inputs"]
    assert outside["files"]["bin/load_and_run"] == inside["files"]["bin/load_and_run"]


def test_an_image_that_cannot(base: str, tmp_path: Path) -> None:
    project = Project.of_sample(tmp_path / "team", models=(MODEL,))
    no_daemon = {"DOCKER_HOST": f"unix://{tmp_path}/none"}
    no_clang = f"clang and lld of one version were not found on image {base}"
    for kind, image, env, rc, said in (
        ("clang-linux-arm64", base, {}, 2, no_clang),
        ("ndk", base, {}, 2, f"ANDROID_NDK_ROOT is not set on image {base}"),
        ("zig", base, {}, 2, f"but not in image {base}"),
        ("host", "no-such/image:here", {}, 2, "with `docker build`"),
        ("host", base, {}, 2, f"image {base} has no C++ compiler"),
        ("host", base, no_daemon, 3, "no Docker daemon answers"),
    ):
        project.change(toolchain={"kind": kind, "image": image})
        project.env = env
        outcome = project.run("trim")
        assert (outcome.rc, said in outcome.stderr) == (rc, True), outcome.stderr
        assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill -9"])
def test_a_trim_that_is_ended_leaves_no_container(
    linux_image: str, ours: Callable[[int], list[str]], tmp_path: Path, number: signal.Signals
) -> None:
    project = project_in(tmp_path / "team", "clang-linux-arm64", linux_image)
    project.env["CCACHE_DIR"] = str(tmp_path / "ccache")  # it must take its time
    log = tmp_path / "log"
    command = Command(argv=project.argv("stage build"), env=project.env, timeout_s=0, log=log)
    with ProcessRunner(os.environ).background(command) as run:
        until(lambda: any(project.out.glob(_OBJECT)), "an object", within_s=120)
        os.kill(run.pid, number)
        until(lambda: not run.alive(), "its end", within_s=120)
        until(lambda: ours(run.pid) == [], "the containers", within_s=120)


# Not below CMakeScratch, whose folders CMake takes away while one looks.
_OBJECT = "work/*/build/CMakeFiles/load_and_run.dir/**/*.cpp.o"
