"""Attempts to let megtrim remove what a person made, by the names that it gives its own."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from megtrim.core.chain import final
from megtrim.core.chain.cleanup import clear_results
from megtrim.core.chain.graph import Stage
from megtrim.core.chain.result_store import Store, key_of
from megtrim.core.chain.stage_result import StageResult
from megtrim.hosting.cli.evidence import join
from megtrim.lab.evidence.bundle import BUNDLE_FILE
from megtrim.lab.jobs import pack
from megtrim.libs.util.errors import InputError
from megtrim.places.compile.projects.cmake.driver import is_build_tree
from megtrim.places.compile.sources import fetch
from megtrim.places.devices.local import open_scratch
from megtrim.ship.release.archive import from_text, write_folder
from support.megtrim_cli import SAMPLE
from unit.conftest import shell
from unit.core.cli.support import Shell

__all__ = ["shell"]

VERDICT = '{"version": 1, "verdict": "pass", "programs": ["megtrim-out/final/bin/app"]}\n'
KEY = "0123456789abcdef0123"


class Nothing(StageResult):
    pass


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"a person's {name}\n", encoding="utf-8")


def read(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def leave_final(out: Path, source: Path) -> Store:
    store = Store(out)
    put(source, "page", "app")
    (source / "verdict").write_text(VERDICT, encoding="utf-8")
    files = {"verdict.json": "verdict", "index.html": "page", "bin/app": "app"}
    final.replace(store, {name: source / file for name, file in files.items()})
    return store


@pytest.fixture
def project(shell: Shell) -> Path:
    shutil.copytree(SAMPLE, shell.folder, dirs_exist_ok=True)
    return shell.folder


def expect_refused(shell: Shell, *words: str) -> None:
    before = read(shell.folder)
    shell(*words).expect(
        2, "that megtrim did not make, so megtrim does not touch it", "move it elsewhere"
    )
    after = read(shell.folder)
    assert {name: after.get(name) for name in before} == before


def test_a_project_with_a_final_folder_is_the_folder_of_results(
    shell: Shell, project: Path
) -> None:
    put(project, "final/thesis.tex", "final/bin/app")
    expect_refused(shell, "trim", "--out", ".")
    expect_refused(shell, "trim", "--out", ".", "--no-gate")


def test_a_final_folder_is_a_link(shell: Shell, project: Path) -> None:
    leave_final(project / "other", project / "made")
    (project / "out").mkdir()
    (project / "out/final").symlink_to(project / "other/final")
    expect_refused(shell, "trim", "--out", "out")
    assert (project / "out/final").is_symlink()


def test_a_final_folder_is_a_file(shell: Shell, project: Path) -> None:
    put(project, "out/final")
    expect_refused(shell, "trim", "--out", "out")


def test_a_final_folder_was_copied_from_other_results(shell: Shell, project: Path) -> None:
    leave_final(project / "megtrim-out", project / "made")
    shutil.copytree(project / "megtrim-out/final", project / "final")
    put(project, "final/notes.txt")
    expect_refused(shell, "trim", "--out", ".")


def test_a_final_folder_has_the_names_of_a_former_one(shell: Shell, project: Path) -> None:
    put(project, "final/report.md", "final/index.html", "final/verdict.json")
    expect_refused(shell, "trim", "--out", ".")
    (project / "final/verdict.json").write_text(VERDICT, encoding="utf-8")
    put(project, "final/bin/another")
    expect_refused(shell, "trim", "--out", ".")


def test_a_person_keeps_notes_in_final(project: Path) -> None:
    store = leave_final(project / "out", project / "made")
    put(project / "out/final", "notes.txt", "bin/notes.txt", "mine/a/b.txt")
    (project / "out/final/old").symlink_to("bin")
    put(project / "made", "next")
    final.replace(store, {"verdict.json": project / "made/next"})

    left = read(project / "out/final")
    assert {*left} == {
        ".made-by-megtrim",
        "verdict.json",
        "notes.txt",
        "bin/notes.txt",
        "mine/a/b.txt",
    }
    assert (project / "out/final/old").is_symlink()
    assert left["verdict.json"] == b"a person's next\n"
    assert not [*(project / "out").glob(".final*")]


def test_a_program_comes_where_a_person_put_a_file(project: Path) -> None:
    store = leave_final(project / "out", project / "made")
    put(project / "out/final", "bin/new")
    before = read(project / "out/final")
    with pytest.raises(InputError, match="final/bin/new: found a file that megtrim did not make"):
        final.replace(store, {"bin/new": project / "made/app"})

    assert read(project / "out/final") == before


def test_a_mistyped_command_follows_a_pass(shell: Shell, project: Path) -> None:
    leave_final(project / "megtrim-out", project / "made")
    before = read(project / "megtrim-out/final")
    text = shell.read("megtrim.yaml")

    def expect_whole() -> None:
        left = read(project / "megtrim-out/final")
        assert {name: left.get(name) for name in before if name[0] != "."} == {
            name: data for name, data in before.items() if name[0] != "."
        }
        assert shell("ci", "gate", "megtrim-out/final").status != 0

    said = "megtrim-out/final is from an earlier run: this one has no verdict"
    shell("trim", "--against", "no-such-commit").expect(2, said, "found no such commit")
    expect_whole()
    shell.write("megtrim.yaml", f"{text}\nno-such-key: 1\n")
    shell("trim").expect(2, said, "no-such-key")
    expect_whole()
    shell("trim", "--no-gate").expect(2, said)
    left = read(project / "megtrim-out/final")
    assert all(left[name] == before[name] for name in ("verdict.json", "index.html", "bin/app"))
    assert b"no-such-key" in left["junit.xml"]
    assert shell("ci", "gate", "megtrim-out/final").status == 2


def test_a_project_has_folders_called_like_ours(shell: Shell, project: Path) -> None:
    names = ("runs/a", "runs/run-1-a/b", "final/a", "ccache/a", "sysroots/a", "work/mine/a")
    put(
        project, *names, "against.json", "last-pass.json", ".gitignore", "work/mine/configured.json"
    )
    before = read(project)
    Store(project).ensure("build", "plain", {}, lambda _: Nothing(), Nothing)

    answer = shell("clean", "--out", ".", "--all").expect(0)

    assert {name: read(project).get(name) for name in before} == before
    for name in ("runs", "final", "ccache", "sysroots", "work/mine"):
        assert f"{name} stays: an earlier version or a person made it" in answer.err
    assert not (project / "build").exists()


def test_a_folder_is_called_like_a_key(shell: Shell, project: Path) -> None:
    Store(project / "out").ensure("build", "plain", {}, lambda _: Nothing(), Nothing)
    names = [f"out/{stage}/{KEY}/notes.txt" for stage in Stage]
    put(project, *names, f"out/build/{KEY}.before/notes.txt")
    before = read(project)
    for words in ((), ("--all",)):
        answer = shell("clean", "--out", "out", *words).expect(0)
        assert f"build/{KEY} stays" in answer.err
        assert {name: read(project).get(name) for name in names} == {
            name: before[name] for name in names
        }


def test_a_stage_is_done_again_beside_a_folder_of_a_person(project: Path) -> None:
    store = Store(project / "out")
    store.ensure("report", "report", {}, lambda _: Nothing(), Nothing)
    mine = ("report/site/manifest.json", f"report/{KEY}/manifest.json")
    put(project / "out", *mine)
    before = read(project / "out")
    store.discard("report")
    store.ensure("report", "report", {}, lambda _: Nothing(), Nothing)

    assert all(read(project / "out")[name] == before[name] for name in mine)


def test_a_key_is_taken_by_a_person(project: Path) -> None:
    store = Store(project / "out")
    name = f"build/{key_of('build', 'plain', {})}"
    put(project / "out", f"{name}/notes.txt")
    with pytest.raises(InputError, match="found a folder that megtrim did not make"):
        store.ensure("build", "plain", {}, lambda _: Nothing(), Nothing)
    assert (
        read(project / "out")[f"{name}/notes.txt"]
        == b"a person's " + f"{name}/notes.txt\n".encode()
    )


def test_a_build_tree_is_a_folder_of_a_person(project: Path) -> None:
    store = Store(project / "out")
    put(project / "out", "work/sample/build/thesis.tex")
    with pytest.raises(InputError, match="work/sample: found a folder that megtrim did not make"):
        store.claim("work/sample", is_former=is_build_tree)
    assert read(project / "out/work")


def test_runs_of_a_person_are_called_like_ours(project: Path) -> None:
    put(project, "runs/run-1-a/b", "runs/run-999999-b/c")
    before = read(project)
    with pytest.raises(InputError, match="runs: found a folder"), open_scratch(project / "runs"):
        pass
    assert {name: read(project)[name] for name in before} == before


def test_a_run_of_a_person_is_kept_among_ours(shell: Shell, project: Path) -> None:
    """In a folder of runs with a marker, where a run was cut off, too."""
    cut_off = project / "runs/run-999999-x"
    with open_scratch(project / "runs"):
        put(project, "runs/run-999999-b/c", "runs/run-1-a/b", "runs/run-999999-x/trace")
        (project / "runs/.run-999999-x").touch()
    Store(project).ensure("build", "plain", {}, lambda _: Nothing(), Nothing)
    mine = ("runs/run-999999-b/c", "runs/run-1-a/b")

    with open_scratch(project / "runs") as run:
        put(run, "trace")
        assert not cut_off.exists()
    assert not run.exists()
    put(project, "runs/run-999999-x/trace")
    (project / "runs/.run-999999-x").touch()
    shell("clean", "--out", ".", "--all").expect(0)

    left = read(project / "runs")
    assert {*left} == {name.removeprefix("runs/") for name in mine}


def test_results_hide_no_file_of_a_project(project: Path) -> None:
    for folder, hides in (("", False), ("out", True)):
        Store(project / folder).ensure("build", "plain", {}, lambda _: Nothing(), Nothing)
        assert (project / folder / ".gitignore").exists() is hides


def leave_work_tree(folder: Path) -> None:
    put(folder, "a.cpp")
    (folder / ".git").write_text("gitdir: /elsewhere/.git/worktrees/engine\n", encoding="utf-8")


SUBMODULES: dict[str, Callable[[Path], None]] = {
    "a repository": lambda folder: put(folder, ".git/config", "src/mine.cpp"),
    "files": lambda folder: put(folder, "notes.txt"),
    "a file": lambda folder: put(folder.parent, folder.name),
    "a work tree of another": leave_work_tree,
    "a marker of results": lambda folder: put(folder, ".made-by-megtrim", "notes.txt"),
}


@pytest.mark.parametrize("leave", SUBMODULES.values(), ids=SUBMODULES)
def test_a_submodule_is_fetched_over_work_of_a_person(
    project: Path, leave: Callable[[Path], None]
) -> None:
    leave(project / "third_party/engine")
    before = read(project)
    for shared in (None, project / "base/third_party/engine"):
        with pytest.raises(InputError, match="that megtrim did not fetch"):
            fetch._clear(project, PurePosixPath("third_party/engine"), shared)
    assert read(project) == before


def test_locks_of_a_person(shell: Shell, project: Path) -> None:
    put(project, "locks/final.lock", "final/a")
    expect_refused(shell, "trim", "--out", ".")


def test_a_folder_for_a_rebuild_is_a_person_s(project: Path) -> None:
    put(project, "rebuilt/a", "one/rebuilt")
    Store(project / "two/rebuilt").ensure("build", "plain", {}, lambda _: Nothing(), Nothing)
    put(project, "two/rebuilt/build/notes.txt")
    (project / "three").mkdir()
    (project / "three/rebuilt").symlink_to(project / "rebuilt")
    mine = ("rebuilt/a", "one/rebuilt", "two/rebuilt/build/notes.txt")
    for folder in ("rebuilt", "one/rebuilt", "two/rebuilt", "three/rebuilt"):
        with pytest.raises(InputError, match="that megtrim did not make"):
            clear_results(project / folder, print)

    assert {*mine} <= {*read(project)}
    Store(project / "four").ensure("build", "plain", {}, lambda _: Nothing(), Nothing)
    clear_results(project / "four", print)
    assert not (project / "four").exists()


BUNDLES: dict[str, Callable[[Path], None]] = {
    "of another tool": lambda folder: put(folder, BUNDLE_FILE),
    "among other files": lambda folder: put(folder, "notes.txt"),
    "with other files": lambda folder: put(folder, "files/notes.txt"),
}


@pytest.mark.parametrize("change", BUNDLES.values(), ids=BUNDLES)
def test_a_bundle_is_packed_over_a_project(project: Path, change: Callable[[Path], None]) -> None:
    put(project, f"to/files/{'0' * 64}")
    (project / "to" / BUNDLE_FILE).write_text('{"version": 1, "purpose": "verify"}\n', "utf-8")
    change(project / "to")
    before = read(project)
    with pytest.raises(InputError, match="found a folder with other files"):
        pack._clear(project / "to")
    assert read(project) == before


def test_a_report_is_joined_over_a_site(project: Path) -> None:
    put(project, "site/index.html", "site/report.md")
    before = read(project)
    with pytest.raises(InputError, match=r"found report\.md of something else"):
        join._clear(project / "site")
    assert read(project) == before


def test_an_export_is_cut_off_beside_a_folder_of_a_person(project: Path) -> None:
    put(project, f".app.{os.getpid()}.partial/notes.txt")
    before = read(project)
    write_folder([from_text("a.txt", "a")], project / "app")
    assert {name: read(project)[name] for name in before} == before
