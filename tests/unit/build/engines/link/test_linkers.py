"""Which linkers can leave functions out, by what they say of themselves and are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.engines.link.invocation import (
    UNFOLDED,
    Linker,
    identify_by_version,
    read_expecting_code,
)
from megtrim.util.errors import InputError


@pytest.mark.parametrize(
    ("said", "linker"),
    [
        ("LLD 11.0.5 (/buildbot/tmp 1234) (compatible with GNU linkers)\n", Linker.LLD),
        ("Debian LLD 14.0.6 (compatible with GNU linkers)\n", Linker.LLD),
        ("GNU ld (GNU Binutils for Debian) 2.40\nCopyright (C) 2023\n", Linker.GNU),
        ("warning: something first\nDebian LLD 14.0.6\n", Linker.LLD),
    ],
)
def test_a_linker_is_known_by_its_version(said: str, linker: Linker) -> None:
    """Whatever its file is called."""
    assert identify_by_version(said, target="program") is linker


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("mold 2.4.0 (compatible with GNU ld)\n", "mold 2.4.0 \\(compatible with GNU ld\\)"),
        ("collect2 version 12.2.0\n/usr/bin/ld.gold -plugin x\nGNU gold 1.16\n", "GNU gold 1.16"),
        ("\n@(#)PROGRAM:ld  PROJECT:ld64-820.1\n", "PROGRAM:ld  PROJECT:ld64"),
        ("", "nothing"),
    ],
)
def test_another_linker_is_refused(said: str, first: str) -> None:
    """With its own message, and what to do."""
    with pytest.raises(InputError, match=f"the linker of program .* prints '.*{first}") as caught:
        identify_by_version(said, target="program")
    assert "a toolchain with lld" in caught.value.hint


def test_lld_alone_compiles_at_the_link_without_inlining() -> None:
    """GNU ld folds nothing by itself, and knows no option against it. Neither adds a build id."""
    assert UNFOLDED == {
        Linker.LLD: ("-Wl,--icf=none", "-Wl,--lto-O0", "-Wl,-O1", "-Wl,--build-id=none"),
        Linker.GNU: ("-Wl,--build-id=none",),
    }


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("main.o", b"BC\xc0\xde and more"),
        ("main.o", b"\x7fELF .gnu.lto_.decls"),
        ("libparts.a", b"!<arch>\npart.o/ 0`\nBC\xc0\xde and more"),
    ],
)
def test_objects_that_the_link_compiles_are_refused(tmp_path: Path, name: str, data: bytes) -> None:
    """Unless it is lld, or nothing of the kind is asked of the link."""
    (tmp_path / name).write_bytes(data)
    (tmp_path / "plain.o").write_bytes(b"\x7fELF")
    words = ("-flto=full", "plain.o", "-o", "gone.o", name)

    read_expecting_code(words, tmp_path, Linker.LLD, target="program")
    read_expecting_code(words[1:], tmp_path, Linker.GNU, target="program")
    read_expecting_code(words[:2], tmp_path, Linker.GNU, target="program")
    with pytest.raises(InputError, match=f"program: GNU ld compiles {name} while it links"):
        read_expecting_code(words, tmp_path, Linker.GNU, target="program")
