from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.engines.link import inputs
from megtrim.build_spec import LinkSpec
from megtrim.util.errors import InfrastructureFailure, InputError
from unit.build.engines.support import bench
from unit.elf.made_objects import Named, Part, archive, object_file

OBJECT = object_file(
    [Part(name=".text.gone", content=bytes(16)), Part(name=".text.kept", content=bytes(16))],
    [Named(name=name, part=f".text.{name}", size=16) for name in ("gone", "kept")],
)
KEPT = object_file(
    [Part(name=".text.kept", content=bytes(16))], [Named(name="kept", part=".text.kept", size=16)]
)
ORDER = LinkSpec(target="program", label="shipped", emptied=("gone",))


def files(root: Path, **contents: bytes) -> None:
    """Write files; ``__`` is a slash, and the last ``_`` a dot."""
    for name, content in contents.items():
        path = root / "build" / ".".join(name.replace("__", "/").rsplit("_", 1))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def linked(root: Path, *words: str) -> tuple[str, ...]:
    made = inputs.copies(("ld.lld", *words), link_env=bench(root, root / "made"), spec=ORDER)
    assert made[0] == "ld.lld"
    return tuple(word.replace(str(root / "made/inputs"), "COPIES") for word in made[1:])


def test_inputs_that_differ_are_copies(tmp_path: Path) -> None:
    files(
        tmp_path, one_o=OBJECT, kept_o=KEPT, lib__libx_a=archive({"one.o/": OBJECT}),
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
    files(tmp_path, lib__libx_a=archive({"one.o/": OBJECT}))

    assert linked(tmp_path, "lib/libx.a", "-Llib", "-lx", "lib/libx.a") == (
        *("COPIES/0/libx.a", "-Llib", "COPIES/0/libx.a", "COPIES/0/libx.a"),
    )


def test_a_library_is_the_one_that_the_linker_takes(tmp_path: Path) -> None:
    """In the first folder that has it, and there the shared one, where that may be taken."""
    lib = archive({"one.o/": OBJECT})
    files(tmp_path, a__libx_so=OBJECT, a__libx_a=lib, b__libx_a=lib, b__liby_a=lib)
    words = ("-La", "-L", "b")

    assert linked(tmp_path, *words, "-lx", "-ly", "-lz", "-l:liby.a") == (
        *(*words, "-lx", "COPIES/0/liby.a", "-lz", "COPIES/0/liby.a"),
    )


@pytest.mark.parametrize("word", ["-Bstatic", "-static", "-dn"])
def test_a_static_library_is_taken_where_that_is_asked(tmp_path: Path, word: str) -> None:
    lib = archive({"one.o/": OBJECT})
    files(tmp_path, a__libx_so=OBJECT, a__libx_a=lib)

    assert linked(tmp_path, "-La", word, "-lx", "-Bdynamic", "-lx") == (
        *("-La", word, "COPIES/0/libx.a", "-Bdynamic", "-lx"),
    )


def test_a_library_that_stands_for_others(tmp_path: Path) -> None:
    lib = archive({"one.o/": OBJECT})
    files(
        tmp_path, b__libcxx_a=b"INPUT(-lcxx_static -lcxxabi)\n", b__libcxx_static_a=lib,
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
    files(tmp_path, one_o=OBJECT[:-50])

    with pytest.raises(InputError, match=r"build/one\.o: a damaged object or archive"):
        linked(tmp_path, "one.o")


def test_a_copy_that_cannot_be_written(tmp_path: Path) -> None:
    files(tmp_path, one_o=OBJECT)
    (tmp_path / "made").write_text("in the way")

    with pytest.raises(InfrastructureFailure, match=r"one\.o cannot be written"):
        linked(tmp_path, "one.o")
