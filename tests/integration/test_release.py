"""A release of the sample engine: what people do with it, and whether two are equal."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.sample_builds import run
from megtrim.process import ProcessRunner
from support.megtrim_cli import ARGV, ROOT, Project

pytestmark = pytest.mark.chain

CONSUMER = """\
cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(MegEngineTrimmed REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE MegEngineTrimmed::shared)
"""


def team(make_project: MakeProject, name: str) -> Project:
    """Return a team that ships the program and the shared library."""
    project = make_project("tiny-mobile", name=name)
    config = project.read()
    config["artifacts"] = ["load_and_run", "libsample_engine.so"]
    project.write(config)
    return project


@contextmanager
def use_umask(mask: int) -> Iterator[None]:
    """Be a user with that umask."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_a_consumer_links_and_runs_what_was_exported(
    make_project: MakeProject, tmp_path: Path
) -> None:
    """By ``find_package`` alone, with outputs like those of the whole engine's program."""
    project = team(make_project, "exported")
    ended = project.run("export", str(tmp_path / "made"))
    assert ended.rc == 0, ended.stderr
    shutil.move(tmp_path / "made", tmp_path / "trimmed")
    source = tmp_path / "consumer"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(CONSUMER, encoding="utf-8")
    shutil.copy(ROOT / "examples/applications/sample-classify/main.cpp", source)
    processes = ProcessRunner(os.environ)
    cmake, ninja = processes.build_tool("cmake"), processes.build_tool("ninja")
    configured = run(
        *(cmake, "-G", "Ninja", "-S", str(source), "-B", str(source / "build")),
        f"-DCMAKE_MAKE_PROGRAM={ninja}",
        f"-DCMAKE_PREFIX_PATH={tmp_path / 'trimmed'}",
    )
    assert configured.ok, configured.stdout + configured.stderr
    compiled = run(ninja, "-C", str(source / "build"))
    assert compiled.ok, compiled.stdout + compiled.stderr
    models = project.folder / "engine/models"
    answer = run(
        str(source / "build/consumer"),
        str(models / "tiny-mobile.sample"),
        f"data={models / 'tiny-mobile.data.npy'}",
    )

    assert answer.ok, answer.stderr
    assert answer.stdout
    assert (tmp_path / "trimmed/report/index.html").is_file()


def test_two_releases_are_equal(make_project: MakeProject, tmp_path: Path) -> None:
    """Built in other folders, each from nothing, with another umask, language and time zone."""
    first, second = team(make_project, "first"), team(make_project, "second")
    second.out = tmp_path / "longer" / "way" / "to-its-results"
    elsewhere = {"LC_ALL": "C", "LANG": "tr_TR.UTF-8", "TZ": "Asia/Tokyo"}
    for project, name, mask, env in (
        (first, "one", 0o022, {}),
        (second, "two", 0o077, elsewhere),
    ):
        with use_umask(mask):
            ended = run(*project.argv("release build", str(tmp_path / name)), env=env)
        assert ended.ok, ended.stderr
        verified = run(*ARGV, "release", "verify", str(tmp_path / name))
        assert verified.ok, verified.stderr

    assert read(tmp_path / "one") == read(tmp_path / "two")


def read(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return the mode and content of each file, by its path."""
    return {
        str(each.relative_to(folder)): (each.stat().st_mode, each.read_bytes())
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }
