from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.build.engines.link import relink
from megtrim.build_spec import LinkSpec
from megtrim.util.errors import InfrastructureFailure, InputError
from unit.build.engines.support import TOOLCHAIN, bench
from unit.elf.made_objects import Named, Part, archive, object_file

ARCHIVE = b"!<arch>\n"
PLAIN = b"\x7fELF"
OBJECT = object_file(
    [Part(name=".text.gone", content=bytes(16)), Part(name=".text.kept", content=bytes(16))],
    [Named(name=name, part=f".text.{name}", size=16) for name in ("gone", "kept")],
)
KEPT = object_file(
    [Part(name=".text.kept", content=bytes(16))], [Named(name="kept", part=".text.kept", size=16)]
)
ORDER = LinkSpec(target="program", label="shipped", emptied=("gone",))


def found(root: Path, *words: str) -> dict[str, str]:
    made = root / "tree/made"
    for folder in (made, root / "tree/build"):
        folder.mkdir(parents=True, exist_ok=True)
    place = bench(root / "tree", made, replace(TOOLCHAIN, image="sha256:0"))
    reported = relink.resolve_argv(words, place)
    mirrored = str(made / "image") + str(root)
    return {word: str(path).replace(mirrored, "IMAGE") for word, path in reported if path}


def files(root: Path, **contents: bytes) -> None:
    """Write files; ``__`` is a slash, and the last ``_`` a dot."""
    for name, content in contents.items():
        path = root / ".".join(name.replace("__", "/").rsplit("_", 1))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_what_lies_outside_of_the_tree_is_copied(tmp_path: Path) -> None:
    files(tmp_path, tree__build__one_o=PLAIN, usr__two_o=PLAIN, usr__lib__libx_a=ARCHIVE)
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
    files(tmp_path, usr__libx_so=PLAIN, usr__libx_a=ARCHIVE)
    assert found(tmp_path, f"-L{tmp_path}/usr", "-lx") == {}


def test_a_copy_that_fails_is_nobodys_fault_but_the_machines(tmp_path: Path) -> None:
    files(tmp_path, usr__one_o=PLAIN)
    in_the_way = tmp_path / f"tree/made/image{tmp_path}/usr"
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("")

    with pytest.raises(
        InfrastructureFailure, match="cannot be copied out of this machine"
    ) as reported:
        found(tmp_path, f"{tmp_path}/usr/one.o")
    assert str(tmp_path / "tree/log") in str(reported.value.hint)


def test_there_is_no_room_for_copies(tmp_path: Path) -> None:
    files(tmp_path, usr__one_o=PLAIN)
    (tmp_path / "tree/made").mkdir(parents=True)
    (tmp_path / "tree/made/image").write_bytes(b"")

    with pytest.raises(InfrastructureFailure, match="image cannot be written"):
        found(tmp_path, f"{tmp_path}/usr/one.o")


def linked(root: Path, *words: str) -> tuple[str, ...]:
    made = relink.copy_inputs(("ld.lld", *words), bench(root, root / "made"), ORDER)
    assert made[0] == "ld.lld"
    return tuple(word.replace(str(root / "made/inputs"), "COPIES") for word in made[1:])


def test_inputs_that_differ_are_copies(tmp_path: Path) -> None:
    files(
        tmp_path / "build", one_o=OBJECT, kept_o=KEPT, lib__libx_a=archive({"one.o/": OBJECT}),
        version_ld=b"{ local: *; };",
    )  # fmt: skip
    words = ("-z", "now", "one.o", "kept.o", "--version-script=version.ld", "version.ld")

    assert linked(tmp_path, *words, "lib/libx.a", "gone") == (
        *("-z", "now", "COPIES/0/one.o", *words[3:]),
        *("COPIES/2/libx.a", "gone"),
    )
    assert (tmp_path / "made/inputs/0/one.o").read_bytes() != OBJECT
    assert len((tmp_path / "made/inputs/0/one.o").read_bytes()) == len(OBJECT)
    assert (tmp_path / "build/one.o").read_bytes() == OBJECT


def test_an_input_that_stands_twice_has_one_copy(tmp_path: Path) -> None:
    files(tmp_path / "build", lib__libx_a=archive({"one.o/": OBJECT}))

    assert linked(tmp_path, "lib/libx.a", "-Llib", "-lx", "lib/libx.a") == (
        *("COPIES/0/libx.a", "-Llib", "COPIES/0/libx.a", "COPIES/0/libx.a"),
    )


def test_a_library_is_the_one_that_the_linker_takes(tmp_path: Path) -> None:
    """In the first folder that has it, and there the shared one, where that may be taken."""
    lib = archive({"one.o/": OBJECT})
    files(tmp_path / "build", a__libx_so=OBJECT, a__libx_a=lib, b__libx_a=lib, b__liby_a=lib)
    words = ("-La", "-L", "b")

    assert linked(tmp_path, *words, "-lx", "-ly", "-lz", "-l:liby.a") == (
        *(*words, "-lx", "COPIES/0/liby.a", "-lz", "COPIES/0/liby.a"),
    )


@pytest.mark.parametrize("word", ["-Bstatic", "-static", "-dn"])
def test_a_static_library_is_taken_where_that_is_asked(tmp_path: Path, word: str) -> None:
    lib = archive({"one.o/": OBJECT})
    files(tmp_path / "build", a__libx_so=OBJECT, a__libx_a=lib)

    assert linked(tmp_path, "-La", word, "-lx", "-Bdynamic", "-lx") == (
        *("-La", word, "COPIES/0/libx.a", "-Bdynamic", "-lx"),
    )


def test_a_library_that_stands_for_others(tmp_path: Path) -> None:
    lib = archive({"one.o/": OBJECT})
    files(
        tmp_path / "build", b__libcxx_a=b"INPUT(-lcxx_static -lcxxabi)\n", b__libcxx_static_a=lib,
        b__libm_a=b"GROUP ( /usr/lib/libm-2.36.a )",
    )  # fmt: skip
    # Spelt with underscores by ``files``.
    (tmp_path / "build/b/libcxx_static.a").write_bytes(lib)

    assert linked(tmp_path, "-Lb", "-Bstatic", "-lcxx", "-lm") == (
        *("-Lb", "-Bstatic", "COPIES/0/libcxx_static.a", "-lcxxabi", "-lm"),
    )


@pytest.mark.parametrize("name", ["libc.a", "libgcc.a", "crt1.o"])
def test_the_platforms_own_inputs_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / name).write_bytes(OBJECT)
    assert linked(tmp_path, name) == (name,)


def test_a_damaged_input_is_shown_by_its_path(tmp_path: Path) -> None:
    files(tmp_path / "build", one_o=OBJECT[:-50])

    with pytest.raises(InputError, match=r"build/one\.o: a damaged object or archive"):
        linked(tmp_path, "one.o")


def test_a_copy_that_cannot_be_written(tmp_path: Path) -> None:
    files(tmp_path / "build", one_o=OBJECT)
    (tmp_path / "made").write_text("in the way")

    with pytest.raises(InfrastructureFailure, match=r"one\.o cannot be written"):
        linked(tmp_path, "one.o")
