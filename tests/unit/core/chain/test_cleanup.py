"""What ``megtrim clean`` removes of a folder of results, and what it never touches."""

import os
from pathlib import Path

import pytest

from megtrim.core.chain import final
from megtrim.core.chain.cleanup import list_leftovers, remove, remove_rest
from megtrim.core.chain.result_store import MANIFEST, Store
from megtrim.core.chain.stage_result import StageResult
from unit.core.cli.support import Shell


class Nothing(StageResult):
    pass


def leave(out: Path, task: str, inputs: str, *, at_ns: int) -> Path:
    stage, name = task.split("/", 1)

    def produce(folder: Path) -> Nothing:
        touch(folder / "bin/app")
        return Nothing()

    made, _ = Store(out).ensure(stage, name, {"inputs": inputs}, produce, Nothing)
    os.utime(made.path / MANIFEST, ns=(at_ns, at_ns))
    return made.path


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 1000)


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


@pytest.fixture
def out(shell: Shell) -> Path:
    """The last run took the first of three results again."""
    out = shell.folder / "megtrim-out"
    for at_ns, inputs in enumerate("abca", 1):
        leave(out, "build/plain", inputs, at_ns=at_ns)
    leave(out, "verify/m/s@any", "a", at_ns=1)
    store = Store(out)
    with store.lock("work-sample"):
        touch(store.claim("work/sample") / "build/a.o")
    page = shell.folder / "page"
    touch(page)
    final.replace(store, {"verdict.json": page})
    return out


@pytest.fixture
def oldest(out: Path) -> Path:
    return min(out.glob("build/*/manifest.json"), key=lambda path: path.stat().st_mtime_ns).parent


def test_each_task_keeps_what_its_last_run_had(shell: Shell, out: Path) -> None:
    kept = leave(out, "build/plain", "a", at_ns=20)
    before = files_in(out)
    looked = shell("clean", "--dry-run").expect(0)
    assert files_in(out) == before

    answer = shell("clean").expect(0)

    assert answer.out.replace("removed", "would remove") == looked.out
    *rows, total = answer.out.splitlines()
    assert [line.split()[1:-1] for line in rows[2:]] == [
        ["build/plain"],
        ["build/plain"],
        ["build", "tree", "sample"],
    ]
    assert total.endswith(" KiB from megtrim-out")
    assert [path.parent for path in out.glob("build/*/manifest.json")] == [kept]
    assert [*out.glob("verify/*/bin/app")]
    assert (out / "final/verdict.json").exists()
    assert not (out / "work").exists()
    assert shell("clean").expect(0).out == "megtrim-out: nothing to remove\n"


def test_all_leaves_nothing(shell: Shell, out: Path) -> None:
    leave(out / "arm64", "build/plain", "a", at_ns=1)
    touch(Store(out).claim("runs") / "run-1-a/output")
    touch(out / "runs/.run-1-a")
    touch(Store(out).claim("ccache") / "a")
    for name in ("last-pass.json", "arm64/pass-before.json", "against.json"):
        (out / name).write_text('{"version": 1, "artifacts": {}}', encoding="utf-8")
    passes = Store(out).claim("passes")
    for name in ("00000001.json", "00000001.made-of.json"):
        touch(passes / name)
    shell("clean", "--all").expect(0)

    assert not out.exists()


def test_an_earlier_version_left_empty_folders_and_its_gitignore(shell: Shell, out: Path) -> None:
    (out / ".gitignore").write_text("*\n", encoding="utf-8")
    for name in ("runs", "sysroots"):
        (out / name).mkdir()

    assert shell("clean", "--all").expect(0).err == ""
    assert not out.exists()


def test_a_lock_that_another_run_holds_stays(shell: Shell, out: Path) -> None:
    for leftover in list_leftovers(out, everything=True):
        remove(leftover, print)
    with Store(out).lock("build-a"):
        remove_rest(out)
        assert {".gitignore", "locks/build-a.lock"} <= files_in(out)
    shell("clean", "--all").expect(0)

    assert not out.exists()


@pytest.mark.parametrize("words", [(), ("--all",)])
def test_what_others_wrote_stays(
    shell: Shell, out: Path, oldest: Path, words: tuple[str, ...]
) -> None:
    mine = {
        "notes.txt",
        "build/notes.txt",
        "build/0123/notes.txt",
        "work/mine/a.o",
        "verify/x.json",
        *(f"build/{oldest.name}/{name}" for name in ("bin/notes.txt", "notes.txt")),
    }
    for name in mine:
        touch(out / name)
    shell("clean", *words).expect(0)

    assert mine <= files_in(out)
    assert not (oldest / MANIFEST).exists()
    if words:
        assert files_in(out) == mine
        assert {each.name for each in out.iterdir()} == {"notes.txt", "build", "work", "verify"}


PLACES = ("build", "work", "work/sample", "verify", "final", "build/OLD", "build/OLD/bin", "arm64")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("words", [(), ("--all",)])
def test_no_link_is_followed(
    shell: Shell, out: Path, oldest: Path, place: str, words: tuple[str, ...]
) -> None:
    """What is behind it is what megtrim itself wrote there."""
    for at_ns, inputs in enumerate("ab", 1):
        leave(out / "arm64", "build/plain", inputs, at_ns=at_ns)
    elsewhere = shell.folder / "elsewhere"
    link = out / place.replace("OLD", oldest.name)
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
    touch(shell.folder / "megtrim-out/build/0123456789abcdef0123/a.o")
    shell("clean", "--all").expect(2, "found no results of megtrim", out="")
    assert files_in(shell.folder) == {"megtrim-out/build/0123456789abcdef0123/a.o"}


def test_results_of_another_version_and_unfinished_ones_go(shell: Shell, out: Path) -> None:
    former = out / "verify/0123456789abcdef0123/notes.txt"
    touch(former)
    [path] = out.glob("verify/*/manifest.json")
    path.unlink()
    other = leave(out, "size/artifacts", "a", at_ns=1)
    other.rename(other.with_name("0" * 20))

    answer = shell("clean").expect(0)

    assert "verify, unfinished" in answer.out
    assert "size/artifacts, of another version" in answer.out
    assert f"{former.parent.relative_to(out)} stays: an earlier version or" in answer.err
    assert files_in(out / "verify") == {former.relative_to(out / "verify").as_posix()}
    assert not (out / "size").exists()
