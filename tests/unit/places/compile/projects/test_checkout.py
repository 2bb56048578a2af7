import hashlib
import os
import shutil
from pathlib import Path

import pytest

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects.checkout import Checkout, take
from unit.places.compile.projects.support import git, repository, snapshot, write

FILES = {"src/a.cpp": "int a;\n", "src/b.h": "int b;\n", "README": "hello\n"}


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_clean_repository_is_its_commit(processes: ProcessRunner, tmp_path: Path) -> None:
    root = repository(processes, tmp_path, FILES)

    checkout = take(root, processes)

    assert checkout == Checkout(
        root=root,
        files={name: sha(text) for name, text in FILES.items()},
        commit=git(processes, root, "rev-parse", "HEAD").strip(),
        dirty=(),
    )
    # In the format of sha256sum, sorted by name: anyone can compute it.
    checkout = Checkout(root=tmp_path, files={"b": "22", "a": "11"}, commit="", dirty=())
    assert checkout.digest == sha("11  a\n22  b\n")


def test_changed_new_and_removed_files_are_dirty(processes: ProcessRunner, tmp_path: Path) -> None:
    """New ones enter the build, for its patterns find them; ignored ones and lost ones do not."""
    root = repository(processes, tmp_path, FILES | {".gitignore": "*.o\nout/\n"})
    write(
        root, {"src/a.cpp": "changed\n", "src/ä new.cpp": "new\n", "src/a.o": "x", "out/big": "x"}
    )
    (root / "README").unlink()

    checkout = take(root, processes)

    assert sorted(checkout.files) == [".gitignore", "src/a.cpp", "src/b.h", "src/ä new.cpp"]
    assert checkout.files["src/a.cpp"] == sha("changed\n")
    assert checkout.dirty == ("README", "src/a.cpp", "src/ä new.cpp")


def test_reading_writes_and_runs_nothing(processes: ProcessRunner, tmp_path: Path) -> None:
    """Git would refresh its index in passing; the checkout may be read-only, or busy."""
    root = repository(processes, tmp_path / "engine", FILES)
    os.utime(root / "src/a.cpp", (1, 1))
    # A repository's settings can name a program that git starts to look for changes.
    hook = write(tmp_path / "hooks", {"hook": f"#!/bin/sh\ntouch {tmp_path}/ran\n"}) / "hook"
    hook.chmod(0o755)
    git(processes, root, "config", "core.fsmonitor", str(hook))
    before = snapshot(root)

    assert take(root, processes).dirty == ()

    assert snapshot(root) == before
    assert not (tmp_path / "ran").exists()


def test_submodules_belong_to_the_engine(processes: ProcessRunner, tmp_path: Path) -> None:
    inner = repository(processes, tmp_path / "inner", {"inner.h": "1\n"})
    library = repository(processes, tmp_path / "library", {"lib.h": "1\n"})
    root = repository(processes, tmp_path / "engine", FILES)
    for tree, submodule, place in ((library, inner, "in"), (root, library, "third_party/lib")):
        git(processes, tree, "submodule", "--quiet", "add", str(submodule), place)
        git(processes, tree, "commit", "-q", "-m", place)
    git(processes, root, "submodule", "--quiet", "update", "--init", "--recursive")
    clean = take(root, processes)
    (root / "third_party/lib/lib.h").write_text("2\n", encoding="utf-8")
    changed = take(root, processes)

    assert clean.files["third_party/lib/lib.h"] == sha("1\n")
    assert clean.dirty == ()
    assert changed.files["third_party/lib/lib.h"] == sha("2\n")
    assert changed.dirty == ("third_party/lib",)
    assert changed.digest != clean.digest
    recorded = {
        place: git(processes, tree, "rev-parse", "HEAD").strip()
        for place, tree in (("third_party/lib", library), ("third_party/lib/in", inner))
    }
    assert clean.submodules == changed.submodules == recorded


def test_a_submodule_that_was_not_fetched_has_no_files(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    library = repository(processes, tmp_path / "library", {"lib.h": "1\n"})
    origin = repository(processes, tmp_path / "origin", FILES)
    git(processes, origin, "submodule", "--quiet", "add", str(library), "lib")
    git(processes, origin, "commit", "-q", "-m", "library")
    git(processes, tmp_path, "clone", "-q", str(origin), "clone")

    checkout = take(tmp_path / "clone", processes)

    assert (tmp_path / "clone" / "lib").is_dir()
    assert sorted(checkout.files) == [".gitmodules", "README", "src/a.cpp", "src/b.h"]
    assert list(checkout.submodules) == ["lib"]


def test_without_the_program_git_a_tree_is_an_input_error_or_its_files(tmp_path: Path) -> None:
    no_one = ProcessRunner({"PATH": str(tmp_path / "empty")})
    archive = write(tmp_path / "archive", FILES)

    assert sorted(take(archive, no_one).files) == sorted(FILES)
    (archive / ".git").mkdir()
    with pytest.raises(InputError, match="no program 'git'"):
        take(archive, no_one)


@pytest.mark.parametrize("with_git", [True, False])
def test_links_are_links(processes: ProcessRunner, tmp_path: Path, with_git: bool) -> None:
    root = write(tmp_path, FILES)
    for name, target in (("file", "src/a.cpp"), ("folder", "src"), ("nothing", "gone")):
        (root / name).symlink_to(target)
    if with_git:
        repository(processes, root, {})

    checkout = take(root, processes)

    assert sorted(checkout.files) == sorted([*FILES, "file", "folder", "nothing"])
    assert checkout.files["folder"] == sha("link:src")
    assert checkout.files["file"] == sha("link:src/a.cpp")


def test_equal_trees_are_equal_engines_wherever_they_lie(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    one = take(repository(processes, tmp_path / "one", FILES), processes)
    two = take(write(tmp_path / "deep" / "two", FILES), processes)
    shutil.move(tmp_path / "one", tmp_path / "moved")
    moved = take(tmp_path / "moved", processes)

    assert one.digest == two.digest == moved.digest
    assert moved.commit == one.commit


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "src/a.cpp").write_text("int a:\n", encoding="utf-8"),
        lambda root: (root / "src/a.cpp").rename(root / "src/c.cpp"),
        lambda root: (root / "src/b.h").unlink(),
        lambda root: (root / "new").touch(),
        lambda root: ((root / "README").unlink(), (root / "README").symlink_to("src/b.h")),
    ],
    ids=["a byte", "a name", "a file less", "an empty file more", "a link"],
)
def test_every_change_is_another_engine(
    processes: ProcessRunner, tmp_path: Path, change: object
) -> None:
    root = write(tmp_path, FILES)
    before = take(root, processes).digest
    assert callable(change)
    change(root)

    assert take(root, processes).digest != before


def test_a_name_that_is_no_text_does_not_matter(processes: ProcessRunner, tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.h")).touch()

    assert len(take(root, processes).digest) == 64


def test_what_is_no_folder_is_refused(processes: ProcessRunner, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        take(tmp_path / "gone", processes)

    assert caught.value.message == f"there is no engine checkout at {tmp_path}/gone"
    assert "engine.source" in caught.value.hint
    assert "--engine" in caught.value.hint


def test_results_are_no_part_of_a_tree_without_git(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    """They may lie in it, and would be other ones after each run; other rules hide no folder."""
    write(tmp_path, FILES | {"megtrim-out/.gitignore": "*\n", "megtrim-out/build/build.log": "1"})
    kept = {"kept/.gitignore": "*.o\n"}
    write(tmp_path, {"src/__pycache__/a.pyc": "x"} | kept)
    checkout = take(tmp_path, processes)

    assert checkout.files == {name: sha(text) for name, text in (FILES | kept).items()}
    assert (checkout.commit, checkout.dirty) == ("", ())


def test_of_a_link_or_a_huge_file_there_is_no_text(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    write(tmp_path, FILES)
    (tmp_path / "src/.#a.cpp").symlink_to("me@host.1234")
    (tmp_path / "src/endless.cpp").symlink_to("/dev/zero")
    (tmp_path / "src/other.cpp").write_bytes(b"\xff\n")

    checkout = take(tmp_path, processes)

    assert {name: checkout.text(name) for name in checkout.files} == FILES | {
        "src/.#a.cpp": "",
        "src/endless.cpp": "",
        "src/other.cpp": "\N{REPLACEMENT CHARACTER}\n",
    }
    assert checkout.text("src/a.cpp", most_bytes=6) == ""
    assert checkout.text("src/a.cpp", most_bytes=7) == FILES["src/a.cpp"]


@pytest.mark.parametrize("in_git", [True, False])
def test_what_megtrim_writes_is_no_part_of_a_checkout(
    processes: ProcessRunner, tmp_path: Path, in_git: bool
) -> None:
    """An application may lie around its configuration, whose keep set a trim writes."""
    root = repository(processes, tmp_path, FILES | {"megtrim/keepset/m/s@any.json": "{}\n"})
    if not in_git:
        shutil.rmtree(root / ".git")
    write(root, {"megtrim/keepset/m/s@any.json": "changed\n", "megtrim/keepset/m/new@any.json": ""})

    checkout = take(root, processes, without=root / "src/../megtrim/keepset")

    assert sorted(checkout.files) == sorted(FILES)
    assert checkout.dirty == ()
