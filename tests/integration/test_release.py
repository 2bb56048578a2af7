"""A release of the sample engine: what people do with it, and whether two are equal; the wheel."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.sample_builds import build_consumer, run
from megtrim.libs.util.process import Command, ProcessRunner
from support.megtrim_cli import ARGV, ROOT, Project

pytestmark = pytest.mark.chain


def team(make_project: MakeProject) -> Project:
    return make_project("tiny-mobile", artifacts=["load_and_run", "libsample_engine.so"])


def test_a_consumer_links_and_runs_what_was_exported(
    make_project: MakeProject, tmp_path: Path
) -> None:
    """By ``find_package`` alone, with outputs like those of the whole engine's program."""
    project = team(make_project)
    project.expect("export", str(tmp_path / "made"))
    shutil.move(tmp_path / "made", tmp_path / "trimmed")
    program = build_consumer(tmp_path / "trimmed", tmp_path / "consumer")
    models = project.folder / "engine/models"
    answer = run(
        str(program), str(models / "tiny-mobile.sample"), f"data={models / 'tiny-mobile.data.npy'}"
    )

    assert answer.ok, answer.stderr
    assert answer.stdout
    assert (tmp_path / "trimmed/report/index.html").is_file()


def test_two_releases_are_equal(make_project: MakeProject, tmp_path: Path) -> None:
    """Built in other folders, the second from nothing, with another umask and language.

    By the committed keep set, as releases are.
    """
    first = team(make_project)
    second = team(make_project)
    first.out = tmp_path / "results"  # shared ones may have a device that another test named
    first.expect("trim", "--accept")
    shutil.copytree(first.folder / "megtrim/keepset", second.folder / "megtrim/keepset")
    second.out = tmp_path / "longer" / "way" / "to-its-results"
    elsewhere = {"LC_ALL": "C", "LANG": "tr_TR.UTF-8", "TZ": "Asia/Tokyo"}
    for project, name, mask, env in ((first, "one", "022", {}), (second, "two", "077", elsewhere)):
        argv = project.argv("release build", str(tmp_path / name), "--committed")
        ended = run("sh", "-c", 'umask "$0"; exec "$@"', mask, *argv, env=env)
        assert ended.ok, ended.stderr
        verified = run(*ARGV, "release", "verify", str(tmp_path / name))
        assert verified.ok, verified.stderr

    assert read(tmp_path / "one") == read(tmp_path / "two")
    # Where it can be built, it can be built again, and run.
    again = second.expect("release verify", str(tmp_path / "one"), "--rebuild")
    assert "files have the same bytes" in again.stdout
    assert [*(second.out / "rebuilt/reduce").iterdir()]  # not what the first build left


def read(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(each.relative_to(folder)): (each.stat().st_mode, each.read_bytes())
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }


def test_the_wheel_trims_without_a_checkout(tmp_path: Path) -> None:
    """Built, installed, checked for its libraries; then the demo, ``init`` and ``trim``."""

    def release(*argv: str) -> str:
        script = (sys.executable, str(ROOT / "scripts/kit_release.py"), *argv)
        command = Command(argv=script, timeout_s=900, cwd=tmp_path, merge_stderr=True)
        done = ProcessRunner(os.environ).run(command)
        assert done.ok, done.stdout
        return done.stdout

    release("build", "dist", "--python", sys.executable)
    said = release("try", "dist", "--libraries", sys.executable)
    assert said.endswith("installed, checked, ran the demo, and trimmed a model\n")
    assert said.count("verdict: pass") == 2
    assert "4 of 4 scenarios verified" in said
    assert re.search(r"\n  deferred: .* in its companion file, .* to download both\.\n", said)
