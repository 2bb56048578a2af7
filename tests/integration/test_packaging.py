"""What ships is stripped, edited and moved once more by those who package it, and still runs.

Each row is what a packager does to a file; ``objcopy`` and ``strip`` are GNU's for its machine.
"""

import shutil
from pathlib import Path

import pytest

from attacks.test_deferred import ALL, TRAP, Maker
from integration.links import CROSSED, Lease, lease
from megtrim.core.build_spec import LinkSpec
from megtrim.libs.util.process import Command

PREFIXES = {"aarch64": "aarch64-linux-gnu-", "arm": "arm-linux-gnueabihf-", "x86_64": ""}
LONG = "/a/long/path" * 30
RELINKED = "patchelf --force-rpath --set-rpath"

WAYS = {
    "dh_strip": (
        "objcopy --only-keep-debug --compress-debug-sections FILE FILE.debug",
        "strip --remove-section=.comment --remove-section=.note FILE",
        "objcopy --add-gnu-debuglink=FILE.debug FILE",
    ),
    "dh_strip of a library": (
        "strip --remove-section=.comment --remove-section=.note --strip-unneeded FILE",
    ),
    "brp-strip": ("strip -g FILE",),
    "brp-strip-comment-note": ("strip -R .comment FILE",),
    "install -s": ("strip FILE",),
    "strip twice": ("strip FILE", "strip -s FILE"),
    "strip of local names": ("strip -x FILE",),
    "objcopy": ("objcopy FILE",),
    "objcopy, compressed": ("objcopy --compress-debug-sections FILE",),
    "objcopy, to another file": ("objcopy -D FILE FILE.new", "mv FILE.new FILE"),
    "objcopy, a section more": ("objcopy --add-section .own=/etc/hostname FILE",),
    "llvm-strip": ("llvm-strip-14 FILE",),
    "llvm-strip, unneeded": ("llvm-strip-14 --strip-unneeded FILE",),
    "llvm-strip, sections": ("llvm-strip-14 --strip-sections FILE",),
    "llvm-objcopy": ("llvm-objcopy-14 FILE",),
    "eu-strip": ("eu-strip FILE",),
    "eu-strip, to two files": ("eu-strip -g -f FILE.debug FILE",),
    "auditwheel": (
        "patchelf --set-soname lib-1234abcd.so FILE",
        f"{RELINKED} $ORIGIN FILE",
        "strip -s FILE",
    ),
    "patchelf, a long path": (f"{RELINKED} {LONG} FILE",),
    "patchelf, a library more": ("patchelf --add-needed libm.so.6 FILE",),
    "patchelf, then strip": (f"{RELINKED} {LONG} FILE", "strip FILE"),
    "strip, then patchelf": ("strip FILE", f"{RELINKED} {LONG} FILE"),
    "every tool": ("strip FILE", "eu-strip FILE", "llvm-strip-14 FILE", "objcopy FILE"),
    "a hard link": ("ln FILE FILE.new", "rm FILE", "mv FILE.new FILE"),
    "an archive": ("tar -cf all.tar program liblater.so", "tar -xf all.tar"),
    "cmake --install --strip": (
        "cmake -S app -B app/build",
        "cmake --install app/build --strip --prefix installed",
        "cp installed/program installed/liblater.so .",
    ),
}
STRIPPING = ("dh_strip", "install -s", "objcopy", "eu-strip", "auditwheel", "strip, then patchelf")
"""Ways by which machines and linkers may differ."""
APP = """\
cmake_minimum_required(VERSION 3.21)
project(app LANGUAGES NONE)
find_program(CMAKE_STRIP strip)
get_filename_component(folder ${CMAKE_SOURCE_DIR} DIRECTORY)
add_executable(program IMPORTED)
set_target_properties(program PROPERTIES IMPORTED_LOCATION ${folder}/program)
add_library(later SHARED IMPORTED)
set_target_properties(later PROPERTIES IMPORTED_LOCATION ${folder}/liblater.so)
install(IMPORTED_RUNTIME_ARTIFACTS program later RUNTIME DESTINATION . LIBRARY DESTINATION .)
"""
DEFERRED = [
    *(pytest.param("host", way, marks=pytest.mark.chain) for way in WAYS),
    *(
        pytest.param(kind, way, marks=pytest.mark.clang)
        for kind in (*CROSSED, "clang-linux-arm64", "armv7")
        for way in STRIPPING
    ),
]


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    return Maker(tmp_path_factory.mktemp("packaged"))


def package(at: Lease, folder: Path, way: str, name: str) -> None:
    prefix = PREFIXES[at.toolchain.machine]
    for step in WAYS[way]:
        words = step.replace("FILE", name).split()
        if words[0] in ("strip", "objcopy"):
            words[0] = f"{prefix}{words[0]}"
        done = at.processes.run(Command(argv=tuple(words), timeout_s=60, cwd=folder))
        assert done.ok, f"{step}: {done.stderr}"


@pytest.mark.parametrize(("kind", "way"), DEFERRED)
def test_deferred_functions_outlast_packaging(
    kind: str, way: str, maker: Maker, tmp_path: Path
) -> None:
    place = maker.put(kind, tmp_path)
    (tmp_path / "app").mkdir()
    (tmp_path / "app/CMakeLists.txt").write_text(APP, encoding="utf-8")
    (tmp_path / "loader").write_bytes(place.cut.loader)
    (tmp_path / "loader").chmod(0o755)
    package(place.cut.at, tmp_path, way, "program")
    package(place.cut.at, tmp_path, way, "liblater.so")

    whole = place.run("all")
    library = place.call(str(tmp_path / "loader"), str(tmp_path / "liblater.so"))
    place.rest.unlink()
    alone = place.run("now")
    missing = place.run("all")

    assert (whole.stdout, whole.rc) == (ALL, 0), whole.stderr
    assert (library.stdout, library.rc) == ("1\n42\n42\n", 0), library.stderr
    assert (alone.stdout, alone.rc) == ("now thrown\n", 0), alone.stderr
    assert missing.rc == TRAP
    assert missing.stderr.startswith("megtrim: the code at 0x")
    assert f"{place.rest}, which is not there" in missing.stderr


SOURCES = {
    "CMakeLists.txt": (
        "cmake_minimum_required(VERSION 3.20)\n"
        "project(whole C)\n"
        "add_library(later SHARED later.c)\n"
        "add_executable(program program.c)\n"
        "target_link_libraries(program later)\n"
    ),
    "later.c": "int answer(int number) { return number * 6; }\n",
    "program.c": (
        "#include <stdio.h>\n"
        "int answer(int);\n"
        'int main(void) { return printf("%d\\n", answer(7)) != 3; }\n'
    ),
}
KINDS = (
    pytest.param("host", marks=pytest.mark.chain),
    pytest.param("clang-linux-arm64", marks=pytest.mark.clang),
    pytest.param("armv7", marks=pytest.mark.clang),
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_deferred_outlasts_packaging(kind: str, tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    for name, text in SOURCES.items():
        (sources / name).write_text(text, encoding="utf-8")
    at = lease(kind, tmp_path, sources, "program")
    linked = at.link(LinkSpec(target="program", label="whole")) / "whole" / "program"
    (library,) = (tmp_path / "work").rglob("liblater.so")
    for way in STRIPPING:
        folder = tmp_path / "packaged"
        folder.mkdir()
        shutil.copy2(linked, folder / "program")
        shutil.copy2(library, folder / "liblater.so")
        package(at, folder, way, "program")
        package(at, folder, way, "liblater.so")
        done = at.run(folder / "program", LD_LIBRARY_PATH=str(folder))
        assert (way, done.stdout, done.rc) == (way, "42\n", 0), done.stderr
        shutil.rmtree(folder)
