from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.build.engines.link import inputs
from megtrim.util.errors import InfrastructureFailure
from unit.build.engines.support import TOOLCHAIN, bench

ARCHIVE = b"!<arch>\n"
OBJECT = b"\x7fELF"


def found(root: Path, *words: str) -> dict[str, str]:
    made = root / "tree/made"
    for folder in (made, root / "tree/build"):
        folder.mkdir(parents=True, exist_ok=True)
    place = bench(root / "tree", made, replace(TOOLCHAIN, image="sha256:0"))
    reported = inputs.resolve_argv(words, place)
    mirrored = str(made / "image") + str(root)
    return {word: str(path).replace(mirrored, "IMAGE") for word, path in reported if path}


def files(root: Path, **contents: bytes) -> None:
    """Write files; ``__`` is a slash, and the last ``_`` a dot."""
    for name, content in contents.items():
        path = root / ".".join(name.replace("__", "/").rsplit("_", 1))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_what_lies_outside_of_the_tree_is_copied(tmp_path: Path) -> None:
    files(tmp_path, tree__build__one_o=OBJECT, usr__two_o=OBJECT, usr__lib__libx_a=ARCHIVE)
    two, folder = f"{tmp_path}/tree/../usr/two.o", f"-L{tmp_path}/usr/sub/../lib"

    assert found(tmp_path, "one.o", two, folder, "-lx", "-ly", f"{tmp_path}/usr/none.o") == {
        "one.o": str(tmp_path / "tree/build/one.o"),
        two: "IMAGE/usr/two.o",
        "-lx": "IMAGE/usr/lib/libx.a",
    }
    assert sorted(path.name for path in (tmp_path / "tree/made").rglob("*") if path.is_file()) == [
        "libx.a",
        "two.o",
    ]


def test_the_libraries_that_one_stands_for_are_copied_too(tmp_path: Path) -> None:
    files(tmp_path, usr__libx_a=b"INPUT(-lone -ltwo)", real_a=ARCHIVE, usr__libtwo_a=ARCHIVE)
    (tmp_path / "usr/libone.a").symlink_to("../real.a")

    assert found(tmp_path, f"-L{tmp_path}/usr", "-lx") == {
        "-lone": "IMAGE/usr/libone.a",
        "-ltwo": "IMAGE/usr/libtwo.a",
    }
    assert not (tmp_path / f"tree/made/image{tmp_path}/usr/libone.a").is_symlink()


def test_what_no_one_may_change_can_be_copied(tmp_path: Path) -> None:
    files(tmp_path, usr__libx_a=b"INPUT(-lone)", usr__libone_a=ARCHIVE)
    (tmp_path / "usr/libx.a").chmod(0o444)
    (tmp_path / "usr").chmod(0o555)

    assert found(tmp_path, f"-L{tmp_path}/usr", "-lx") == {"-lone": "IMAGE/usr/libone.a"}
    copied = tmp_path / f"tree/made/image{tmp_path}/usr"
    assert copied.stat().st_mode & (copied / "libx.a").stat().st_mode & 0o200


def test_a_shared_library_is_still_the_one_that_the_linker_takes(tmp_path: Path) -> None:
    files(tmp_path, usr__libx_so=OBJECT, usr__libx_a=ARCHIVE)
    assert found(tmp_path, f"-L{tmp_path}/usr", "-lx") == {}


def test_a_copy_that_fails_is_nobodys_fault_but_the_machines(tmp_path: Path) -> None:
    files(tmp_path, usr__one_o=OBJECT)
    in_the_way = tmp_path / f"tree/made/image{tmp_path}/usr"
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("")

    with pytest.raises(
        InfrastructureFailure, match="cannot be copied out of this machine"
    ) as reported:
        found(tmp_path, f"{tmp_path}/usr/one.o")
    assert str(tmp_path / "tree/log") in str(reported.value.hint)


def test_there_is_no_room_for_copies(tmp_path: Path) -> None:
    files(tmp_path, usr__one_o=OBJECT)
    (tmp_path / "tree/made").mkdir(parents=True)
    (tmp_path / "tree/made/image").write_bytes(b"")

    with pytest.raises(InfrastructureFailure, match="image cannot be written"):
        found(tmp_path, f"{tmp_path}/usr/one.o")
