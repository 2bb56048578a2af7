"""Attempts by a repository that is not the caller's: its settings name programs to run.

Git is real, and so is the owner where root runs the test; else a switch of git's own test suite
has it take each repository for another user's.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from megtrim.core.cli.session.origin import read_origin
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import checkout
from support.megtrim_cli import Project
from unit.core.cli.support import Shell
from unit.places.compile.projects.support import git

pytestmark = [pytest.mark.unit]

NOBODY = 65_534
FOREIGN = "GIT_TEST_ASSUME_DIFFERENT_OWNER"
PROCESSES = ProcessRunner({name: os.environ[name] for name in ("PATH", "HOME")})


@dataclass
class Scene:
    """A project in a repository; what that names leaves a mark when it runs."""

    project: Project
    shell: Shell
    monkeypatch: pytest.MonkeyPatch
    warned: bool = False

    @property
    def top(self) -> Path:
        return self.project.folder.parent

    @property
    def mark(self) -> Path:
        return self.top.with_name("ran")

    @property
    def command(self) -> str:
        return f"touch {self.mark}; cat"

    def set(self, name: str, value: str, folder: Path | None = None) -> None:
        git(PROCESSES, folder or self.top, "config", name, value)

    def filter(self, folder: Path) -> None:
        """Plant a filter in a repository, and see that git runs it for its owner."""
        (folder / ".git/info/attributes").write_text("* filter=planted\n", encoding="utf-8")
        self.set("filter.planted.clean", self.command, folder)
        self.expect_live(folder)

    def expect_live(self, folder: Path) -> None:
        self.touch_all(folder)
        git(PROCESSES, folder, "--no-optional-locks", "status", "--porcelain")
        self.mark.unlink()

    def touch_all(self, folder: Path) -> None:
        for path in folder.rglob("*"):
            if path.is_file() and ".git" not in path.parts:
                os.utime(path, (1, 1))

    def give_away(self, folder: Path) -> None:
        """Make it another user's, down to each file."""
        if os.geteuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.lchown(path, NOBODY, NOBODY)
            return
        programs = self.top.with_name("programs")
        programs.mkdir()
        real = shutil.which("git")
        wrapper = programs / "git"
        wrapper.write_text(f'#!/bin/sh\n{FOREIGN}=1 exec {real} "$@"\n', encoding="utf-8")
        wrapper.chmod(0o755)
        self.monkeypatch.setenv("PATH", str(programs), prepend=":")

    def plan(self) -> int:
        """Plan, which asks git all that any verb does of a project and its engine."""
        where = ("--config", str(self.project.config), "--out", str(self.project.out))
        answer = self.shell("plan", *where)
        self.warned = "belongs to another user, so git refuses to read it" in answer.err
        return answer.status


@pytest.fixture
def scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Scene:
    for name in ("SUDO_UID", "GITHUB_ACTIONS", "GITLAB_CI", "JENKINS_URL"):
        monkeypatch.delenv(name, raising=False)
    top = tmp_path / "top"
    project = Project.of_sample(top / "project", models=("tiny-mobile",))
    project.change(toolchain={"kind": "host"}, budgets=[])
    commit(top)
    monkeypatch.chdir(project.folder)
    return Scene(project, Shell(folder=project.folder, capture=capsys), monkeypatch)


def commit(folder: Path) -> None:
    git(PROCESSES, folder, "init", "--quiet", "--initial-branch=main")
    git(PROCESSES, folder, "add", "--all")
    git(PROCESSES, folder, "commit", "--quiet", "--message", "all")


def plant_filter(scene: Scene) -> None:
    scene.filter(scene.top)


def plant_process_filter(scene: Scene) -> None:
    attributes = scene.top / ".git/info/attributes"
    attributes.write_text("* filter=planted\n", encoding="utf-8")
    scene.set("filter.planted.process", scene.command)
    scene.expect_live(scene.top)


def plant_monitor(scene: Scene) -> None:
    hook = scene.top / ".git/monitor"
    hook.write_text(f"#!/bin/sh\ntouch {scene.mark}\n", encoding="utf-8")
    hook.chmod(0o755)
    scene.set("core.fsmonitor", str(hook))
    scene.expect_live(scene.top)


def plant_included_settings(scene: Scene) -> None:
    included = scene.project.folder / "settings"
    included.write_text(f'[filter "planted"]\n clean = "{scene.command}"\n', encoding="utf-8")
    attributes = scene.top / ".git/info/attributes"
    attributes.write_text("* filter=planted\n", encoding="utf-8")
    scene.set("include.path", str(included))
    scene.expect_live(scene.top)


ATTEMPTS: dict[str, Callable[[Scene], None]] = {
    "a_repository_above_has_a_filter": plant_filter,
    "a_repository_above_has_a_filter_that_stays": plant_process_filter,
    "a_repository_above_has_a_monitor": plant_monitor,
    "a_repository_above_includes_settings": plant_included_settings,
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempt(scene: Scene, name: str) -> None:
    ATTEMPTS[name](scene)
    scene.give_away(scene.top)

    assert scene.plan() == 0
    assert scene.warned
    assert not scene.mark.exists()


def test_the_engine_is_another_users(scene: Scene) -> None:
    engine = scene.project.folder / "engine"
    commit(engine)
    scene.filter(engine)
    scene.give_away(engine)

    answer = scene.shell("plan", "--config", str(scene.project.config))
    assert answer.status == 2
    assert f"{engine} belongs to another user, so git refuses to read" in answer.err
    assert f"git config --global --add safe.directory {engine}" in answer.err
    assert not scene.mark.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder away")
def test_a_submodule_is_another_users(scene: Scene) -> None:
    """Its own settings name the filter; the engine around it is the caller's."""
    engine = scene.project.folder / "engine"
    part = scene.top.with_name("part")
    part.mkdir()
    (part / "part.h").write_text("int part;\n", encoding="utf-8")
    commit(part)
    git(PROCESSES, engine, "init", "--quiet")
    git(PROCESSES, engine, "submodule", "--quiet", "add", str(part), "part")
    git(PROCESSES, engine, "add", "--all")
    git(PROCESSES, engine, "commit", "--quiet", "--message", "all")
    inside = engine / ".git/modules/part"
    (inside / "info/attributes").write_text("* filter=planted\n", encoding="utf-8")
    scene.set("filter.planted.clean", scene.command, engine / "part")
    scene.expect_live(engine)
    scene.give_away(engine / "part")

    with pytest.raises(InputError, match="belongs to another user"):
        checkout.take(engine, PROCESSES)
    assert not scene.mark.exists()


def test_a_folder_looks_like_a_repository(scene: Scene) -> None:
    """The caller's own, as unpacked files are: a bare one, whose work tree lies within."""
    folder = scene.project.folder
    tree = folder / "tree"
    tree.mkdir()
    shutil.copy(folder / "megtrim.yaml", tree)
    commit(tree)
    for path in (tree / ".git").iterdir():
        path.rename(folder / path.name)
    (tree / ".git").rmdir()
    shutil.rmtree(scene.top / ".git")
    hook = folder / "monitor"
    hook.write_text(f"#!/bin/sh\ntouch {scene.mark}\n", encoding="utf-8")
    hook.chmod(0o755)
    core = "[core]\n repositoryFormatVersion = 0\n bare = false\n worktree = tree\n"
    core += f" fsmonitor = {hook}\n"
    planted = f'[filter "planted"]\n clean = "{scene.command}"\n'
    (folder / "config").write_text(core + planted, encoding="utf-8")
    (folder / "info/attributes").write_text("* filter=planted\n", encoding="utf-8")
    scene.expect_live(folder)
    scene.plan()

    assert not scene.mark.exists()


def test_variables_of_git_lead_elsewhere(scene: Scene) -> None:
    """Named so, git asks for no owner; a hook leaves such variables."""
    other = scene.top.with_name("other")
    other.mkdir()
    (other / "a").write_text("a\n", encoding="utf-8")
    commit(other)
    scene.filter(other)
    scene.give_away(other)
    for name, value in (
        ("GIT_DIR", str(other / ".git")),
        ("GIT_WORK_TREE", str(other)),
        ("GIT_EXTERNAL_DIFF", f"touch {scene.mark}"),
        ("GIT_SSH_COMMAND", f"touch {scene.mark}"),
    ):
        scene.monkeypatch.setenv(name, value)
    scene.plan()

    assert not scene.mark.exists()


def test_what_a_partial_clone_lacks_is_fetched(scene: Scene) -> None:
    """By a program that the settings name; the caller's own clone, of a server that is not."""
    git(PROCESSES, scene.top, "repack", "-a", "-d", "-q")
    scene.set("remote.origin.url", f"ext::touch {scene.mark}")
    scene.set("protocol.ext.allow", "always")
    scene.set("remote.origin.promisor", "true")
    scene.set("extensions.partialClone", "origin")
    scene.set("core.repositoryFormatVersion", "1")
    for pack in (scene.top / ".git/objects/pack").iterdir():
        pack.unlink()
    with pytest.raises(AssertionError):
        git(PROCESSES, scene.top, "log", "-1")
    scene.mark.unlink()
    scene.plan()

    assert not scene.mark.exists()


def test_a_job_has_it_as_its_workspace(scene: Scene) -> None:
    """Its container runs as another user than the one who checked it out."""
    scene.give_away(scene.top)
    config = scene.project.config
    path = os.environ["PATH"]
    job = {"PATH": path, "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(scene.top)}
    elsewhere = job | {"GITHUB_WORKSPACE": str(scene.top.parent / "to")}

    assert read_origin(config, ProcessRunner(job)).commit
    for env in ({"PATH": path}, job | {"GITHUB_ACTIONS": ""}, elsewhere):
        assert not read_origin(config, ProcessRunner(env)).commit
