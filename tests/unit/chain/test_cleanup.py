"""What ``megtrim clean`` removes of a folder of results, and what it never touches."""

import os
from pathlib import Path

import pytest

from megtrim.chain.cleanup import list_leftovers, remove
from megtrim.chain.stage_result import StageResult
from megtrim.chain.store import MANIFEST, Store
from unit.cli.support import Shell


class Nothing(StageResult):
    pass


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


def leave(out: Path, task: str, inputs: str, *, at_ns: int = 0, size: int = 100) -> Path:
    stage, name = task.split("/", 1)

    def produce(folder: Path) -> Nothing:
        (folder / "bin").mkdir()
        (folder / "bin/app").write_bytes(b"x" * size)
        return Nothing()

    made, _ = Store(out).ensure(stage, name, {"inputs": inputs}, produce, Nothing)
    if at_ns:
        os.utime(made.path / MANIFEST, ns=(at_ns, at_ns))
    return made.path


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.fixture
def out(shell: Shell) -> Path:
    out = shell.folder / "megtrim-out"
    for number, inputs in enumerate("abc", 1):
        leave(out, "build/plain", inputs, at_ns=number)
    leave(out, "build/plain", "a", at_ns=10)  # the last run took it again
    leave(out, "verify/m/s@any", "a")
    with Store(out).lock("work-sample"):
        (out / "work/sample/build").mkdir(parents=True)
    (out / "work/sample/build/a.o").write_bytes(b"x" * 5000)
    (out / "final").mkdir()
    (out / "final/verdict.json").touch()
    return out


def test_each_task_keeps_what_its_last_run_had(shell: Shell, out: Path) -> None:
    kept = leave(out, "build/plain", "a", at_ns=20)
    before = files_in(out)
    looked = shell("clean", "--dry-run").expect(0)
    assert files_in(out) == before

    answer = shell("clean").expect(0)

    assert answer.out.replace("removed", "would remove") == looked.out
    lines = answer.out.splitlines()
    assert [line.split()[1:-1] for line in lines[2:-1]] == [
        *(["build/plain"], ["build/plain"], ["build", "tree", "sample"]),
    ]
    assert lines[-1].endswith(" KiB from megtrim-out")
    assert [path.parent for path in out.glob("build/*/manifest.json")] == [kept]
    assert [*out.glob("verify/*/bin/app")]
    assert (out / "final/verdict.json").exists()
    assert not (out / "work").exists()
    assert shell("clean").expect(0).out == "megtrim-out: nothing to remove\n"


def test_all_leaves_nothing(shell: Shell, out: Path) -> None:
    leave(out / "arm64", "build/plain", "a")
    (out / "runs").mkdir()
    shell("clean", "--all").expect(0)

    assert not out.exists()


@pytest.mark.parametrize("words", [(), ("--all",)])
def test_what_others_wrote_stays(shell: Shell, out: Path, words: tuple[str, ...]) -> None:
    old = min(out.glob("build/*/manifest.json"), key=lambda path: path.stat().st_mtime_ns).parent
    mine = {
        *("notes.txt", "build/notes.txt", "build/0123/notes.txt", "work/mine/a.o", "verify/x.json"),
        f"build/{old.name}/bin/notes.txt",
        f"build/{old.name}/notes.txt",
    }
    for name in mine:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).touch()
    shell("clean", *words).expect(0)

    assert mine <= files_in(out)
    assert not (old / MANIFEST).exists()


PLACES = ("build", "work", "work/sample", "verify", "final", "build/OLD", "build/OLD/bin", "arm64")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("words", [(), ("--all",)])
def test_no_link_is_followed(shell: Shell, out: Path, place: str, words: tuple[str, ...]) -> None:
    """What is behind it is what megtrim itself wrote there."""
    elsewhere = shell.folder / "elsewhere"
    oldest = min(out.glob("build/*/manifest.json"), key=lambda path: path.stat().st_mtime_ns)
    leave(out / "arm64", "build/plain", "a", at_ns=1)
    leave(out / "arm64", "build/plain", "b")
    link = out / place.replace("OLD", oldest.parent.name)
    link.rename(elsewhere)
    link.symlink_to(elsewhere)
    before = files_in(elsewhere)

    shell("clean", *words).expect(0)

    assert files_in(elsewhere) == before
    assert before


def test_what_a_run_takes_meanwhile_stays(out: Path) -> None:
    found = [each for each in list_leftovers(out) if each.what == "build/plain"]
    for leftover in found:
        os.utime(leftover.path / MANIFEST)

    assert not any(remove(leftover, print) for leftover in found)
    assert all(leftover.path.exists() for leftover in found)


def test_a_folder_without_results_is_refused(shell: Shell) -> None:
    (shell.folder / "megtrim-out/build/0123456789abcdef0123").mkdir(parents=True)
    shell("clean", "--all").expect(2, "found no results of megtrim", out="")
    assert (shell.folder / "megtrim-out/build/0123456789abcdef0123").exists()


def test_results_of_another_version_and_unfinished_ones_go(shell: Shell, out: Path) -> None:
    [path] = out.glob("verify/*/manifest.json")
    path.unlink()
    other = leave(out, "size/artifacts", "a")
    other.rename(other.with_name("0" * 20))

    shown = shell("clean").expect(0).out

    assert "verify, unfinished" in shown
    assert "size/artifacts, of another version" in shown
    assert not (out / "verify").exists()
    assert not (out / "size").exists()
