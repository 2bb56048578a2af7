"""What git and a job know of the project that a run is about."""

import os
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from megtrim.build_spec import Origin
from megtrim.cli.session.origin import read_event_origin, read_origin
from megtrim.util.process import ProcessRunner
from support.source_forge import SourceForge
from unit.github.support import HEAD, environment

VERSION = version("megtrim")
FILES = {"megtrim.yaml": "version: 1\n", "android/megtrim.yaml": "version: 1\n", "m.mge": "m"}


@pytest.fixture
def forge(tmp_path: Path) -> SourceForge:
    return SourceForge(tmp_path)


def read(config: Path, **env: str) -> Origin:
    return read_origin(config, ProcessRunner({"PATH": os.environ["PATH"], **env}))


def work_tree(forge: SourceForge) -> tuple[Path, str]:
    commit = forge.commit("camera-app", FILES)
    return forge.root / "work" / "camera-app", commit


def test_what_is_known_of_a_project(forge: SourceForge, tmp_path: Path) -> None:
    """Git knows the commit, wherever in the project the configuration is, if it is committed.

    Outside of git, and on a machine without it, a folder has its name: a job's variables are of
    another project.
    """
    folder, commit = work_tree(forge)
    for name in ("MegEngine", "demo"):
        place = (tmp_path if name == "MegEngine" else folder) / name
        place.mkdir()
        (place / "megtrim.yaml").write_text("version: 1\n", encoding="utf-8")
    alone = Origin(project="camera-app", config="megtrim.yaml", megtrim=VERSION)
    known = replace(alone, commit=commit, committed_at="2024-01-01T00:00:00Z")
    processes = ProcessRunner({"PATH": os.environ["PATH"]})
    file = folder / "android" / "megtrim.yaml"

    assert read(file) == replace(known, config="android/megtrim.yaml")
    assert read_origin(file, processes, name="megtrim.yaml#arm64") == replace(
        known, config="android/megtrim.yaml#arm64"
    )
    assert read(folder / "demo" / "megtrim.yaml") == replace(alone, project="demo")
    outside = read(tmp_path / "MegEngine" / "megtrim.yaml", GITHUB_REPOSITORY="acme/kit")
    assert outside == replace(alone, project="MegEngine")
    without = read_origin(folder / "megtrim.yaml", ProcessRunner({"PATH": str(tmp_path)}))
    assert without == alone


def test_a_commit_is_not_named_where_changes_are_unknown(forge: SourceForge) -> None:
    folder, _ = work_tree(forge)
    (folder / ".git" / "index").write_bytes(b"damaged")

    found = read(folder / "android" / "megtrim.yaml")
    assert (found.config, found.commit, found.committed_at) == ("android/megtrim.yaml", "", "")
    assert not found.changed


def test_a_date_of_no_calendar_is_not_shown(forge: SourceForge, tmp_path: Path) -> None:
    """Whoever commits may write any number: this one is in the year 33658."""
    folder, _ = work_tree(forge)
    tree = forge.git("-C", str(folder), "rev-parse", "HEAD^{tree}")
    written = tmp_path / "commit"
    who = "forge <forge@example.invalid> 999999999999 +0000"
    written.write_text(f"tree {tree}\nauthor {who}\ncommitter {who}\n\nLate\n", encoding="utf-8")
    sha = forge.git("-C", str(folder), "hash-object", "-t", "commit", "-w", str(written))
    forge.git("-C", str(folder), "update-ref", "HEAD", sha)

    found = read(folder / "megtrim.yaml")
    assert (found.commit, found.committed_at) == (sha, "")


def test_a_clone_has_the_name_of_its_repository(forge: SourceForge) -> None:
    work_tree(forge)
    clone = forge.root / "project"
    forge.git("clone", "--quiet", str(forge.bare("camera-app")), str(clone))

    assert read(clone / "megtrim.yaml").project == "camera-app"
    assert read(clone / "megtrim.yaml", CI_PROJECT_NAME="lens").project == "lens"
    given = {"GITHUB_REPOSITORY": "acme/vision", "CI_PROJECT_NAME": "lens"}
    assert read(clone / "megtrim.yaml", **given).project == "vision"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://user:secret@forge.example/team/vision.git", "vision"),
        ("git@forge.example:vision.git", "vision"),
        ("ssh://forge.example/team/vision/", "vision"),
        ("https://forge.example/%2e%2e", "camera-app"),
    ],
)
def test_a_remote_names_the_project_and_shows_no_password(
    forge: SourceForge, url: str, name: str
) -> None:
    folder, _ = work_tree(forge)
    forge.git("-C", str(folder), "config", "remote.origin.url", url)

    assert read(folder / "megtrim.yaml").project == name


def test_changes_are_seen(forge: SourceForge) -> None:
    folder, _ = work_tree(forge)
    (folder / "megtrim-out").mkdir()
    assert not read(folder / "megtrim.yaml").changed
    (folder / "m.mge").write_text("another", encoding="utf-8")

    assert read(folder / "megtrim.yaml").changed
    assert not read(folder / "android" / "megtrim.yaml").changed


@pytest.mark.parametrize("name", ["m.mge", "*.mge"])
def test_changes_of_shared_files_are_seen(forge: SourceForge, name: str) -> None:
    files = {**FILES, name: "shared", "other.mge": "other"}
    forge.commit("camera-app", files)
    folder = forge.root / "work" / "camera-app"
    processes = ProcessRunner({"PATH": os.environ["PATH"]})
    named = (folder / name, forge.root / "outside.mge")

    def changed() -> bool:
        config = folder / "android" / "megtrim.yaml"
        return read_origin(config, processes, named=named).changed

    (folder / "other.mge").write_text("another", encoding="utf-8")
    assert not changed()
    (folder / name).write_text("another", encoding="utf-8")
    assert changed()


def test_a_job_knows_its_pull_request(forge: SourceForge, tmp_path: Path) -> None:
    folder, _ = work_tree(forge)
    env = environment(tmp_path, "pull_request")

    assert read(folder / "megtrim.yaml", **env).pull_request == 17
    assert read(folder / "megtrim.yaml", CI_MERGE_REQUEST_IID="4").pull_request == 4
    assert read(folder / "megtrim.yaml", CI_MERGE_REQUEST_IID="4; ls").pull_request == 0


def test_an_event_says_what_it_knows(tmp_path: Path) -> None:
    env = environment(tmp_path, "pull_request")

    assert read_event_origin(env, "a/megtrim.yaml") == Origin(
        project="phone", config="a/megtrim.yaml", commit=HEAD, pull_request=17, megtrim=VERSION
    )
    assert read_event_origin({}, "megtrim.yaml") == Origin(config="megtrim.yaml", megtrim=VERSION)
    assert read_event_origin(env, "../megtrim.yaml") == Origin(megtrim=VERSION)
