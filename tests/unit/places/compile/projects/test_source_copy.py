import hashlib
import json
import os
from pathlib import Path

import pytest

from megtrim.core.build_spec import BuildSpec, Variant
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import source_copy
from megtrim.places.compile.projects.checkout import Checkout, digest_of, take
from megtrim.places.compile.projects.cmake.driver import WorkTree
from unit.places.compile.projects.support import snapshot, write

FILES = {"a.cpp": "a\n", "dir/b.h": "b\n", "dir/deep/c.h": "c\n"}
ORDER = BuildSpec(
    variant=Variant.REDUCED,
    targets=(),
    options=(),
    overrides=(("a.cpp", "other\r\n"),),
    include=(("midout.h", "regions\n"), ("megtrim/tags/kern.h", "kern\n")),
)
PLAIN = BuildSpec(variant=Variant.PLAIN, targets=(), options=())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "engine", FILES)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tmp_path / "work" / "src"


def contents(tree: Path) -> dict[str, str]:
    return {
        str(path.relative_to(tree)): path.read_text(encoding="utf-8")
        for path in sorted(tree.rglob("*"))
        if path.is_file()
    }


def age(tree: Path) -> None:
    for path in tree.rglob("*"):
        if path.is_file():
            os.utime(path, (1, 1))


def rewritten(tree: Path) -> list[str]:
    return sorted(
        str(path.relative_to(tree))
        for path in tree.rglob("*")
        if path.is_file() and path.stat().st_mtime != 1
    )


def test_the_tree_equals_the_checkout(processes: ProcessRunner, root: Path, tree: Path) -> None:
    before = snapshot(root)

    source_copy.sync(take(root, processes), tree, {"a.cpp": "mine\n", "new/d.h": "d\n"})

    assert contents(tree) == FILES | {"a.cpp": "mine\n", "new/d.h": "d\n"}
    assert snapshot(root) == before


def test_only_what_changed_is_written(processes: ProcessRunner, root: Path, tree: Path) -> None:
    """The build tool compiles what is new by its time."""
    source_copy.sync(take(root, processes), tree, {"a.cpp": "mine\n"})
    age(tree)

    source_copy.sync(take(root, processes), tree, {"a.cpp": "mine\n"})
    assert rewritten(tree) == []

    (root / "dir/b.h").write_text("changed\n", encoding="utf-8")
    (root / "a.cpp").write_text("hidden by ours\n", encoding="utf-8")
    source_copy.sync(take(root, processes), tree, {"a.cpp": "mine\n"})
    assert rewritten(tree) == ["dir/b.h"]

    age(tree)
    source_copy.sync(take(root, processes), tree, {"a.cpp": "mine, too\n"})
    assert rewritten(tree) == ["a.cpp"]
    source_copy.sync(take(root, processes), tree, {})
    now = FILES | {"a.cpp": "hidden by ours\n", "dir/b.h": "changed\n"}
    assert contents(tree) == now
    # The record is what the tree holds; a torn one means that everything is written.
    record = tree.parent / "shadow.json"
    assert json.loads(record.read_text(encoding="utf-8")) == {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in now.items()
    }
    record.write_text('{"a.cpp": "', encoding="utf-8")
    age(tree)
    source_copy.sync(take(root, processes), tree, {})
    assert rewritten(tree) == sorted(FILES)


def test_what_the_checkout_lost_goes(processes: ProcessRunner, root: Path, tree: Path) -> None:
    """The engine's build collects sources by pattern. What a build made there stays.

    What the copy lost comes back.
    """
    source_copy.sync(take(root, processes), tree, {})
    write(tree, {"build_dir/flatc": "made by the build"})
    (root / "dir/deep/c.h").unlink()
    (tree / "a.cpp").unlink()

    source_copy.sync(take(root, processes), tree, {})

    assert contents(tree) == {"a.cpp": "a\n", "dir/b.h": "b\n", "build_dir/flatc": (
        "made by the build"
    )}  # fmt: skip
    assert not (tree / "dir/deep").exists()


def test_a_folder_can_become_a_file_and_back(
    processes: ProcessRunner, root: Path, tree: Path
) -> None:
    source_copy.sync(take(root, processes), tree, {})
    other = write(root.parent / "other", {"dir": "now a file\n", "a.cpp/x.h": "x\n"})

    source_copy.sync(take(other, processes), tree, {})
    assert contents(tree) == {"dir": "now a file\n", "a.cpp/x.h": "x\n"}

    source_copy.sync(take(root, processes), tree, {})
    assert contents(tree) == FILES


def test_links_and_programs_stay_what_they_are(
    processes: ProcessRunner, root: Path, tree: Path
) -> None:
    (root / "link").symlink_to("a.cpp")
    (root / "nowhere").symlink_to("gone")
    script = root / "configure.sh"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)

    source_copy.sync(take(root, processes), tree, {})

    assert (tree / "link").readlink() == Path("a.cpp")
    assert (tree / "nowhere").readlink() == Path("gone")
    assert os.access(tree / "configure.sh", os.X_OK)
    assert (tree / "a.cpp").stat().st_mode & 0o777 == 0o644


def test_a_link_that_a_build_left_is_not_written_through(
    processes: ProcessRunner, root: Path, tree: Path
) -> None:
    """It may lead out of the tree, to the checkout itself."""
    source_copy.sync(take(root, processes), tree, {"made.h": "one\n"})
    outside = write(root.parent / "outside", {"a.cpp": "not ours\n", "made.h": "nor this\n"})
    for name in ("a.cpp", "made.h"):
        (tree / name).unlink()
        (tree / name).symlink_to(outside / name)
    (root / "a.cpp").write_text("changed\n", encoding="utf-8")

    source_copy.sync(take(root, processes), tree, {"made.h": "two\n"})

    assert contents(outside) == {"a.cpp": "not ours\n", "made.h": "nor this\n"}
    assert contents(tree) == FILES | {"a.cpp": "changed\n", "made.h": "two\n"}
    assert not any((tree / name).is_symlink() for name in ("a.cpp", "made.h"))


def test_a_sync_that_was_cut_off_leaves_no_stranger(
    processes: ProcessRunner, root: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = take(root, processes)
    source_copy.sync(old, tree, {})
    other = write(root.parent / "other", FILES | {"a.cpp": "other\n", "b.cpp": "new\n", "z": "z"})
    place = source_copy._place

    def cut_off(source: Path, target: Path, text: str | None) -> None:
        if target.name == "z":
            raise KeyboardInterrupt
        place(source, target, text)

    with monkeypatch.context() as patch:
        patch.setattr(source_copy, "_place", cut_off)
        with pytest.raises(KeyboardInterrupt):
            source_copy.sync(take(other, processes), tree, {})
    assert (tree / "b.cpp").exists()

    source_copy.sync(old, tree, {})

    assert contents(tree) == FILES


def test_a_checkout_that_changes_meanwhile_is_refused(
    processes: ProcessRunner, root: Path, tree: Path
) -> None:
    checkout = take(root, processes)
    (root / "a.cpp").write_text("saved in an editor\n", encoding="utf-8")

    with pytest.raises(InputError) as caught:
        source_copy.sync(checkout, tree, {})
    assert caught.value.message == f"{root}/a.cpp changed while megtrim was using it"

    source_copy.sync(take(root, processes), tree, {})
    assert contents(tree) == FILES | {"a.cpp": "saved in an editor\n"}


def test_a_place_that_cannot_be_written_is_shown(
    processes: ProcessRunner, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(InfrastructureFailure, match="cannot be written"):
        source_copy.sync(take(root, processes), tmp_path / "file" / "src", {})


def test_equal_texts_are_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "midout.h"
    source_copy.write_if_changed(path, "one")
    os.utime(path, (1, 1))

    source_copy.write_if_changed(path, "one")
    assert path.stat().st_mtime == 1

    source_copy.write_if_changed(path, "two")
    assert path.read_text(encoding="utf-8") == "two"


@pytest.fixture
def checkout(root: Path) -> Checkout:
    files = {name: digest_of(root / name) or "" for name in FILES}
    return Checkout(root=root, files=files, commit="", dirty=())


@pytest.fixture
def work_tree(tmp_path: Path) -> WorkTree:
    return WorkTree(root=tmp_path / "work")


def test_the_tree_has_what_is_ordered_and_no_more(
    checkout: Checkout, tree: Path, work_tree: WorkTree
) -> None:
    source_copy.update(ORDER, work_tree, checkout)

    assert (tree / "a.cpp").read_bytes() == b"other\r\n"
    assert contents(tree) == FILES | {"a.cpp": "other\n"}
    assert contents(work_tree.include) == dict(ORDER.include)
    source_copy.expect_unchanged(ORDER, work_tree)

    source_copy.update(PLAIN, work_tree, checkout)
    assert (contents(tree), contents(work_tree.include)) == (FILES, {})


@pytest.mark.parametrize("name", ["src/a.cpp", "include/megtrim/tags/kern.h"])
def test_a_file_that_changed_meanwhile_is_shown(
    checkout: Checkout, work_tree: WorkTree, name: str
) -> None:
    source_copy.update(ORDER, work_tree, checkout)
    (work_tree.root / name).write_text("otherwise\n", encoding="utf-8")

    with pytest.raises(ProductFailure, match="changed during the build"):
        source_copy.expect_unchanged(ORDER, work_tree)
