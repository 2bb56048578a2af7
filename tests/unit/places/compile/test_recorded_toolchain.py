from pathlib import Path

import pytest

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.toolchains import recorded


def machine(folder: Path, target: str, *names: str) -> ProcessRunner:
    for name in names:
        text = f'#!/bin/sh\nif [ "$1" = -dumpmachine ]; then echo {target}; else echo "$0 1"; fi\n'
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return ProcessRunner({"PATH": str(folder)})


@pytest.mark.parametrize(
    ("name", "c", "cxx"),
    [
        ("cc", "cc", "c++"),
        ("g++", "gcc", "g++"),
        ("clang++-14", "clang-14", "clang++-14"),
        ("aarch64-linux-gnu-gcc-12", "aarch64-linux-gnu-gcc-12", "aarch64-linux-gnu-g++-12"),
    ],
)
def test_both_languages_are_of_one_compiler(tmp_path: Path, name: str, c: str, cxx: str) -> None:
    found = recorded.find(name, machine(tmp_path, "x86_64-linux-gnu", c, cxx, "strip"))

    assert found.c_compiler == (str(tmp_path / c),)
    assert found.cxx_compiler == (str(tmp_path / cxx),)


def test_a_project_in_c_needs_no_compiler_of_cxx(tmp_path: Path) -> None:
    found = recorded.find("gcc", machine(tmp_path, "x86_64-linux-gnu", "gcc", "strip"))

    assert found.cxx_compiler == found.c_compiler


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("aarch64-linux-gnu", "aarch64"),
        ("arm-linux-gnueabihf", "armv7l"),
        ("armv7-unknown-linux", "armv7l"),
        ("i686-linux-gnu", "i686"),
        ("x86_64-linux-gnu", "x86_64"),
    ],
)
def test_a_machine_has_the_name_that_it_gives_itself(
    tmp_path: Path, target: str, name: str
) -> None:
    tools = machine(tmp_path, target, "gcc", "strip")

    assert recorded.find("gcc", tools).machine == name


def test_a_cross_compiler_has_its_own_strip(tmp_path: Path) -> None:
    names = ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-strip", "strip")
    found = recorded.find("aarch64-linux-gnu-gcc", machine(tmp_path, "aarch64-linux-gnu", *names))

    assert found.strip == (str(tmp_path / names[1]), "--strip-all")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gcc", "gcc is not on the PATH"),
        ("tcc", "found 'tcc', which names no compiler"),
        ("/usr/bin/gcc", "found '/usr/bin/gcc', which names no compiler"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        recorded.find(name, machine(tmp_path, "x86_64-linux-gnu", "strip"))


def test_a_cross_compiler_of_clangs_has_debians_folder(tmp_path: Path) -> None:
    """Its name has the folder's; the target that it prints has a vendor as well."""
    tools = machine(tmp_path, "aarch64-unknown-linux-gnu", "aarch64-linux-gnu-clang", "strip")
    folder = recorded.find("aarch64-linux-gnu-clang", tools).sysroot

    there = Path("/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1").exists()
    assert folder == (Path("/usr/aarch64-linux-gnu") if there else None)
