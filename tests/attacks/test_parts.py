"""Releases and packages in which one file is another one: every sum in them fits.

One release with deferred functions is linked, cut and written by this machine's toolchain; each row
exchanges a part of it, and makes release.json, provenance and SHA256SUMS fit again.
"""

import hashlib
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from attacks.test_deferred import cut, defer, lease_sources
from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.functions import cutter, rest
from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.libs.elf.layout import DYNAMIC, LOADED, LOADER, ElfHeader, ElfLayout, parse_build_id
from megtrim.libs.elf.symbol_table import read_table
from megtrim.libs.util.errors import ProductFailure
from megtrim.ship.release.aar import CONFIG_PATH, render_config
from megtrim.ship.release.archive import seal_files, write_folder
from megtrim.ship.release.check import check_release
from megtrim.ship.release.contents import (
    KEEP_SET_PATH,
    RUNTIME_PATH,
    SIZES_PATH,
    ReleaseArtifact,
    ReleaseContents,
    kind_of,
    locate_cache,
    name_files,
)
from megtrim.ship.release.documents import DOCUMENTS, seal
from megtrim.ship.release.packaged import describe_packaged
from support.megtrim_cli import run_megtrim
from unit.core.verdict.examples import RESNET, passing
from unit.ship.crashes.made_programs import folded
from unit.ship.release.examples import (
    MODELS,
    STAGES,
    as_files,
    contents,
    documents,
    encode,
    keep_set,
    sha,
)

pytestmark = [pytest.mark.chain]

PROGRAM = "program"
LIBRARY = "liblater.so"
AT = {
    PROGRAM: f"bin/{PROGRAM}",
    LIBRARY: f"lib/{LIBRARY}",
    f"{PROGRAM}{REST_SUFFIX}": f"bin/{PROGRAM}{REST_SUFFIX}",
    f"{LIBRARY}{REST_SUFFIX}": f"lib/{LIBRARY}{REST_SUFFIX}",
}
"""Where the artifacts are in the release."""
FIRST = AT[PROGRAM]
REST = f"bin/{PROGRAM}{REST_SUFFIX}"
LIBRARY_REST = f"lib/{LIBRARY}{REST_SUFFIX}"
SYMBOLS = f"symbols/{PROGRAM}"
CACHE = locate_cache(RESNET)
CONFIGURATION = "share/configuration/megtrim.yaml"
HEADER = "include/engine/model.h"
LICENCE = "licences/LICENSE"
SCRIPT = b"#!/bin/sh\ntouch pwned\n"
HEAD_BYTES = 64
MAGIC = b"megtrim: the table of a rest, 2\0"
Files = dict[str, bytes]


@dataclass(frozen=True)
class Parts:
    honest: Files
    other: Files
    """Programs and rests of another link of the same sources."""


def cut_named(linked: Path, name: str) -> bytes:
    data = (linked / name).read_bytes()
    return cutter.cut(data, name, read_table(linked / name), source=name).first


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    at = lease_sources("host", tmp_path_factory.mktemp("parts"))
    linked = defer(at, PROGRAM, "first")
    again = defer(at, PROGRAM, "another")
    own = cut(linked, PROGRAM)
    other = cut(again, PROGRAM)
    library = cut(defer(at, LIBRARY, "library", shared=True), LIBRARY)
    keep = keep_set(passing(), models=MODELS, caches={RESNET: sha("algorithms")})
    shared = {path: encode(text) for path, text in documents(keep=keep).items()}
    gone = {*DOCUMENTS, "bin/load_and_run", "lib/libengine.so"}
    programs = {
        FIRST: own.first,
        REST: own.rest,
        AT[LIBRARY]: library.first,
        LIBRARY_REST: library.rest,
    }
    config = render_config(library=LIBRARY, programs=[PROGRAM], released=programs)
    sizes = {(PROGRAM, "reduced"): len(own.first), (LIBRARY, "reduced"): len(library.first)}
    honest = {path: data for path, data in shared.items() if path not in gone} | {
        **programs,
        CONFIG_PATH: config.encode(),
        SYMBOLS: cut_named(linked, PROGRAM),
        CACHE: b"algorithms",
        SIZES_PATH: dump_sizes(Baseline(sizes=sizes)).encode(),
        RUNTIME_PATH: rest.RUNTIME.encode(),
    }
    return Parts(honest, {FIRST: other.first, REST: other.rest, SYMBOLS: cut_named(again, PROGRAM)})


def describe(files: Files) -> ReleaseContents:
    """Return what release.json says where its author knows every digest."""
    artifacts = [
        ReleaseArtifact(
            name=name,
            kind=kind_of(name),
            sha256=hashlib.sha256(files[path]).hexdigest(),
            size_bytes=len(files[path]),
            plain_bytes=None,
        )
        for name, path in sorted(AT.items(), key=lambda each: each[1])
        if path in files
    ]
    keep = hashlib.sha256(files[KEEP_SET_PATH]).hexdigest()
    said = contents()
    toolchain = replace(said.toolchain, target="x86_64-linux-gnu")
    return replace(said, toolchain=toolchain, artifacts=tuple(artifacts), keep_set_sha256=keep)


def write(files: Files, folder: Path) -> None:
    sealed = seal_files(describe(files), as_files(files), stages=STAGES, megtrim="0.2.0")
    write_folder(sealed, folder / "release")


def verify(folder: Path, *more: str) -> tuple[int, str]:
    ended = run_megtrim("release", "verify", "release", *more, cwd=folder)
    assert "Traceback" not in ended.stderr
    return ended.rc, f"{ended.stdout}{ended.stderr}"


Change = Callable[[Files, Parts], object]


def put(path: str, data: bytes) -> Change:
    return lambda files, _: files.update({path: data})


def take(path: str) -> Change:
    return lambda files, parts: files.update({path: parts.other[path]})


def edit(path: str, change: Callable[[bytes], bytes]) -> Change:
    return lambda files, _: files.update({path: change(files[path])})


def remove(*paths: str) -> Change:
    def change(files: Files, _: Parts) -> None:
        for path in paths:
            del files[path]

    return change


def exchange(one: str, two: str) -> Change:
    def change(files: Files, _: Parts) -> None:
        files[one], files[two] = files[two], files[one]

    return change


def copy(source: str, target: str) -> Change:
    return lambda files, _: files.update({target: files[source]})


def flip(at: int) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        place = at % len(data)
        return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]

    return change


def flip_in_code(data: bytes) -> bytes:
    return flip(find_code(data))(data)


def find_code(data: bytes) -> int:
    (code,) = (each for each in ElfHeader(data).segments if each.kind == LOADED and each.flags & 1)
    return code.offset + code.size_bytes - 8


def exchange_blocks(data: bytes) -> bytes:
    middle = len(data) - rest.BLOCK_BYTES
    start = middle - rest.BLOCK_BYTES
    return data[:start] + data[middle:] + data[start:middle]


def flip_in_table(data: bytes) -> bytes:
    return flip(data.index(MAGIC) + len(MAGIC) + 20 * 8)(data)


def say_sizes(*names: str) -> bytes:
    return dump_sizes(Baseline(sizes={(name, "reduced"): 1 for name in names})).encode()


OTHER_BUILD = f"{REST} is not the companion file of {FIRST}: it is of another build"
OTHER_BYTES = "holds other bytes than were linked"
NO_REST = f"{REST} is not the companion file of {FIRST}: it is no file of deferred functions"
NO_TWIN = f"{SYMBOLS} is not {FIRST} with its symbols: "


def put_alone(data: bytes) -> Change:
    """Exchange the program where nothing beside it says what it was."""

    def change(files: Files, _: Parts) -> None:
        for path in (REST, SYMBOLS, SIZES_PATH):
            del files[path]
        files[FIRST] = data

    return change


def edit_alone(change: Callable[[bytes], bytes]) -> Change:
    return lambda files, parts: put_alone(change(files[FIRST]))(files, parts)


NOT_ITS_MACHINE = f"{FIRST} is no file of this release's machine: "
NOT_INTACT = f"{NOT_ITS_MACHINE}it is no intact ELF file"
NOT_LINKED = f"{NOT_ITS_MACHINE}it is an ELF file that was not linked"
ATTEMPTS: dict[str, tuple[tuple[str, Change], ...]] = {
    "a_rest_of_another_build": ((OTHER_BUILD, take(REST)),),
    "a_program_of_another_build": ((OTHER_BUILD, take(FIRST)),),
    "a_rest_with_a_flipped_bit": (
        (OTHER_BYTES, edit(REST, flip(HEAD_BYTES))),
        (OTHER_BYTES, edit(REST, lambda data: flip(len(data) // 2)(data))),
        (OTHER_BYTES, edit(REST, flip(-1))),
        (NO_REST, edit(REST, flip(0))),
        (OTHER_BUILD, edit(REST, flip(20))),
        (OTHER_BUILD, edit(REST, flip(50))),
    ),
    "a_rest_that_is_something_else": (
        (NO_REST, copy(FIRST, REST)),
        (NO_REST, copy(SYMBOLS, REST)),
        (NO_REST, put(REST, SCRIPT)),
        (NO_REST, put(REST, b"")),
        (NO_REST, edit(REST, lambda data: bytes(len(data)))),
        (OTHER_BUILD, copy(LIBRARY_REST, REST)),
    ),
    "a_rest_that_is_cut_or_goes_on": (
        ("bytes of functions and data, expected", edit(REST, lambda data: data[:-1])),
        ("bytes of functions and data, expected", edit(REST, lambda data: data[:HEAD_BYTES])),
        ("bytes of functions and data, expected", edit(REST, lambda data: data + b"\0")),
        (NO_REST, edit(REST, lambda data: data[:8])),
    ),
    "rests_that_change_places": ((OTHER_BUILD, exchange(REST, LIBRARY_REST)),),
    "blocks_that_change_places": ((OTHER_BYTES, edit(REST, exchange_blocks)),),
    "a_rest_that_is_not_released": (
        (f"{REST} is missing, and {FIRST} defers functions to it", remove(REST)),
        (f"{LIBRARY_REST} is missing, and", remove(LIBRARY_REST)),
    ),
    "a_rest_without_its_program": (
        (f"{REST} is a companion file without its program", remove(FIRST)),
    ),
    "a_table_that_was_changed": (
        (NO_REST, edit(FIRST, flip_in_table)),
        ("has no table of a rest, or more than one", edit(FIRST, lambda data: data + MAGIC)),
    ),
    "symbols_of_something_else": (
        (f"{NO_TWIN}it holds other code", take(SYMBOLS)),
        (f"{NO_TWIN}it holds other code", edit(SYMBOLS, flip_in_code)),
        (NO_TWIN, copy(AT[LIBRARY], SYMBOLS)),
        (f"{NO_TWIN}it is for another machine", put(SYMBOLS, folded())),
        (f"{NO_TWIN}it is no intact ELF file", put(SYMBOLS, SCRIPT)),
        (f"{NO_TWIN}it is no intact ELF file", edit(SYMBOLS, lambda data: data[:80])),
    ),
    "a_program_of_no_such_machine": (
        (NOT_INTACT, put_alone(SCRIPT)),
        (NOT_INTACT, put_alone(b"")),
        (NOT_INTACT, put_alone(b"MZ" + bytes(2000))),
        (NOT_INTACT, put_alone(b"!<arch>\n")),
        (NOT_INTACT, put_alone(b"\x7fELF")),
        (NOT_INTACT, edit_alone(lambda data: SCRIPT + data)),
        (NOT_INTACT, edit_alone(lambda data: data[:5] + b"\2" + data[6:])),
        (NOT_INTACT, edit_alone(lambda data: data[:100])),
        (f"{NOT_ITS_MACHINE}it is for aarch64, expected x86_64", put_alone(folded())),
        (
            f"{NOT_ITS_MACHINE}it is for machine 62000, expected x86_64",
            edit_alone(lambda data: data[:18] + struct.pack("<H", 62000) + data[20:]),
        ),
        (NOT_LINKED, edit_alone(lambda data: data[:16] + b"\1" + data[17:])),
        (NOT_LINKED, edit_alone(lambda data: data[:16] + b"\4" + data[17:])),
        (
            f"{AT[LIBRARY]} is no file of this release's machine: it is no intact ELF file",
            lambda files, _: (files.update({AT[LIBRARY]: SCRIPT}), files.pop(LIBRARY_REST)),
        ),
    ),
    "a_cache_of_another_model": (
        (f"{CACHE} is another algorithm cache", put(CACHE, b"others")),
        (f"{CACHE} is another algorithm cache", copy(REST, CACHE)),
        (f"{CACHE} is missing, and", remove(CACHE)),
        ("was traced without one", put(locate_cache("mobilenet-s/default@any"), b"algorithms")),
    ),
    "sizes_of_something_else": (
        (f"{SIZES_PATH} says 1 for", put(SIZES_PATH, say_sizes(PROGRAM, LIBRARY))),
        (f"{SIZES_PATH} says nothing for", put(SIZES_PATH, say_sizes("other"))),
        (f"{SIZES_PATH}:1: ", put(SIZES_PATH, SCRIPT)),
    ),
    "a_configuration_of_another_project": (
        (f"{CONFIGURATION} is another configuration", put(CONFIGURATION, b"version: 2\n")),
        (f"{CONFIGURATION}:", put(CONFIGURATION, SCRIPT)),
        (f"{CONFIGURATION} is missing", remove(CONFIGURATION)),
    ),
}


@pytest.mark.parametrize(
    ("attempt", "number"),
    [(name, number) for name, rows in ATTEMPTS.items() for number in range(len(rows))],
)
def test_attempt(attempt: str, number: int, parts: Parts, tmp_path: Path) -> None:
    said, change = ATTEMPTS[attempt][number]
    files = dict(parts.honest)
    change(files, parts)
    write(files, tmp_path)

    problems = "\n".join(check_release(tmp_path / "release").problems)
    assert said in problems


def test_an_honest_release_with_rests(parts: Parts, tmp_path: Path) -> None:
    write(parts.honest, tmp_path)
    status, text = verify(tmp_path)

    assert status == 0, text
    unproven = {line.split()[2].rstrip(":") for line in text.splitlines() if "not proven: " in line}
    assert unproven == {
        "include",
        "licences",
        "share/configuration",
        KEEP_SET_PATH,
        SIZES_PATH,
        SYMBOLS,
    }


def test_a_runtime_of_another_megtrim(parts: Parts, tmp_path: Path) -> None:
    write(parts.honest | {RUNTIME_PATH: SCRIPT}, tmp_path)
    status, text = verify(tmp_path)

    assert status == 0, text
    assert f"not proven: {RUNTIME_PATH}: this is not the runtime" in text


OTHER_FILE = "is another file than release.json names"


@pytest.mark.parametrize(
    ("said", "change"),
    [
        (f"{HEADER} {OTHER_FILE}", put(HEADER, b"#define more\n")),
        (f"{LICENCE} {OTHER_FILE}", put(LICENCE, SCRIPT)),
        (f"{RUNTIME_PATH} {OTHER_FILE}", put(RUNTIME_PATH, SCRIPT)),
        (f"{SYMBOLS} {OTHER_FILE}", edit(SYMBOLS, flip(-1))),
        (f"{CONFIGURATION} {OTHER_FILE}", edit(CONFIGURATION, lambda data: data + b"#\n")),
        (f"{LICENCE} is missing, and release.json names it", remove(LICENCE)),
        ("include/more.h is not named by release.json", put("include/more.h", b"1\n")),
        (f"{REST} is another build than release.json describes", take(REST)),
    ],
)
def test_a_file_that_the_description_does_not_name(
    said: str, change: Change, parts: Parts, tmp_path: Path
) -> None:
    """All documents but release.json are written anew."""
    digests = {each.path: each.sha256 for each in as_files(parts.honest)}
    described = name_files(describe(parts.honest), digests)
    files = dict(parts.honest)
    change(files, parts)
    payload = as_files(files)
    texts = seal(
        described, {each.path: each.sha256 for each in payload}, stages=STAGES, megtrim="0.2.0"
    )
    write_folder((*payload, *as_files(texts)), tmp_path / "release")

    assert said in check_release(tmp_path / "release").problems


def test_a_rest_that_is_no_plain_file(parts: Parts, tmp_path: Path) -> None:
    """A link to the very same bytes, a pipe, a folder."""
    ways: tuple[Callable[[Path], object], ...] = (link_away, os.mkfifo, Path.mkdir)
    for number, spoil in enumerate(ways):
        place = tmp_path / str(number)
        write(parts.honest, place)
        at = place / "release" / REST
        at.rename(place / "away")
        spoil(at)
        problems = "\n".join(check_release(place / "release").problems)
        assert f"{REST} is " in problems


def link_away(at: Path) -> None:
    at.symlink_to("../../away")


def strip_sections(data: bytes) -> bytes:
    """Strip as tools do that leave no header of a section, either."""
    header = ElfHeader(data)
    end = max(each.offset + each.size_bytes for each in header.segments)
    stripped = bytearray(data[:end])
    stripped[40:48] = bytes(8)
    stripped[58:64] = bytes(6)
    return bytes(stripped)


def edit_segment(kind: int, field: int, value: int) -> Callable[[bytes], bytes]:
    """Change a field of the header of the first segment of a kind."""

    def change(data: bytes) -> bytes:
        number = next(
            number for number, each in enumerate(ElfHeader(data).segments) if each.kind == kind
        )
        changed = bytearray(data)
        at = 64 + number * 56
        fields = [*struct.unpack_from("<2I6Q", data, at)]
        fields[field] = value
        struct.pack_into("<2I6Q", changed, at, *fields)
        return bytes(changed)

    return change


def edit_relocations(data: bytes) -> bytes:
    """Let the first relocation of the dynamic section's table write another address."""
    layout = ElfLayout(data)
    table = next(each for each in layout.sections if each.name.startswith(".rela."))
    return flip(table.offset + 16)(data)


def edit_loader(data: bytes) -> bytes:
    """Let the kernel read the path of another loader, behind all that is loaded."""
    size_bytes = next(each.size_bytes for each in ElfHeader(data).segments if each.kind == LOADER)
    return edit_segment(LOADER, 2, len(data))(data) + b"/tmp/pwned".ljust(size_bytes, b"\0")


def edit_build_id(data: bytes) -> bytes:
    return data.replace(bytes.fromhex(parse_build_id(data)), bytes(20))


CHANGED: tuple[tuple[str, str, Callable[[bytes], bytes]], ...] = (
    ("LOAD, holds other bytes from", FIRST, flip_in_code),
    ("LOAD, holds other bytes from", FIRST, edit_relocations),
    ("INTERP, holds other bytes from", FIRST, edit_loader),
    ("DYNAMIC, holds other bytes from", FIRST, edit_segment(DYNAMIC, 2, 0)),
    ("LOAD, lies at another place of its page", FIRST, edit_segment(LOADED, 2, 16)),
    ("its build id is 0000", FIRST, edit_build_id),
    ("its header says another entry point", FIRST, flip(24)),
    ("it is for another machine, or of another kind", FIRST, flip(18)),
    ("has the flags 0x7, expected 0x4", FIRST, edit_segment(LOADED, 1, 7)),
    ("takes bytes of memory: 0x1, expected", FIRST, edit_segment(LOADED, 6, 1)),
    ("lies at 0x1000, expected 0x0", FIRST, edit_segment(LOADED, 3, 0x1000)),
    ("is of the kind 0x60000000", FIRST, edit_segment(LOADED, 0, 0x60000000)),
    ("holds other bytes from", FIRST, lambda data: flip_in_code(strip_sections(data))),
    (
        "takes bytes of the file",
        FIRST,
        lambda data: edit_segment(LOADED, 5, 1)(strip_sections(data)),
    ),
    ("is cut off", FIRST, lambda data: data[: find_code(data)]),
    ("is none of", FIRST, lambda _: SCRIPT),
    ("is none of", FIRST, lambda _: b""),
    ("is none of", FIRST, lambda data: data[:64]),
    ("is none of", FIRST, lambda data: b"\x1f\x8b" + data),
    (f"not the {REST} that was released: its block", REST, flip(-1)),
    (f"not the {REST} that was released: it is of another build", REST, flip(20)),
    (f"not the {REST} that was released: it holds", REST, lambda data: data + b"\0"),
    (f"not the {REST} that was released: it holds", REST, lambda data: data[:-1]),
)


@pytest.mark.parametrize(("said", "path", "change"), CHANGED)
def test_a_packaged_file_that_was_changed(
    said: str, path: str, change: Callable[[bytes], bytes], parts: Parts
) -> None:
    with pytest.raises(ProductFailure) as caught:
        name_origin(change(parts.honest[path]), parts)
    assert said in caught.value.message


def name_origin(data: bytes, parts: Parts) -> str:
    digests = {each.path: each.sha256 for each in as_files(parts.honest)}
    described = describe(parts.honest)
    return describe_packaged(data, described, digests, parts.honest.__getitem__, shown="taken")


def test_a_packaged_file_of_another_build(parts: Parts) -> None:
    for path, said in ((FIRST, "taken is none of"), (REST, "it is of another build")):
        with pytest.raises(ProductFailure, match=said):
            name_origin(parts.other[path], parts)


def test_an_honest_package(parts: Parts, tmp_path: Path) -> None:
    """Under any name; what was stripped is told apart from what has the same bytes."""
    write(parts.honest, tmp_path)
    taken = {
        "app": parts.honest[FIRST],
        "libapp.so.1": strip_sections(parts.honest[AT[LIBRARY]]),
        "other.rest": parts.honest[REST],
        "notes": parts.honest[LICENCE],
    }
    more = []
    for name, data in taken.items():
        (tmp_path / name).write_bytes(data)
        more += ["--file", name]
    status, text = verify(tmp_path, *more)

    assert status == 0, text
    assert f"app: {FIRST}, proven: it has the same bytes\n" in text
    assert f"libapp.so.1: {AT[LIBRARY]}, stripped after the release: what is loaded is" in text
    assert f"other.rest: {REST}, proven: it has the same bytes\n" in text
    assert f"notes: {LICENCE}, as released, which is no proof: it has the same bytes\n" in text
    (tmp_path / "app").write_bytes(SCRIPT)
    status, text = verify(tmp_path, *more)
    assert status == 1
    assert "megtrim: app is none of" in text
    assert f"other.rest: {REST}, proven" in text
