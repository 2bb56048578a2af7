"""Releases that were forged from end to end: every sum in them fits."""

import gzip
import io
import shutil
import tarfile
import tracemalloc
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from attacks.arena import Arena
from megtrim.core.checks.statuses import CheckStatus, VerdictKind
from megtrim.core.evidence.evidence import Evidence, EvidenceResult
from megtrim.libs.elf.layout import LOADED, Segment
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump
from megtrim.ship.release.aar import CONFIG_PATH, read_exported
from megtrim.ship.release.archive import write_archive, write_folder
from megtrim.ship.release.check import check_release, clean_proofs
from megtrim.ship.release.contents import (
    AAR_PATH,
    PROOFS_PATH,
    README_FILE,
    RELEASE_FILE,
    ReleaseContents,
)
from megtrim.ship.release.documents import (
    BILL_FILE,
    CHECKSUMS_FILE,
    DOCUMENTS,
    STATEMENT_FILE,
    seal,
)
from megtrim.ship.release.prove import prove
from support.megtrim_cli import run_megtrim
from unit.libs.elf.made_objects import shared_library, with_segments
from unit.ship.release.examples import (
    PROOFS,
    PROVEN,
    as_files,
    contents,
    documents,
    sha,
    sum_up,
    write,
    write_for_android,
)

SCRIPT = "#!/bin/sh\ntouch pwned\n"
COMMAND = "execute_process(COMMAND touch pwned)\n"
HONEST = contents()
FIRST, *OTHERS = HONEST.scenarios
(OUTPUT,) = FIRST.outputs
PROGRAM, LIBRARY = HONEST.artifacts
(DEVICE,) = HONEST.devices
OTHER_MODEL = "mobilenet-s" if FIRST.model != "mobilenet-s" else "resnet18-s"


def verify(folder: Path, name: str = "release") -> str:
    """Verify a release as people do; expect that it is refused, and return what is said."""
    ended = run_megtrim("release", "verify", name, cwd=folder)
    assert (ended.rc, ended.stdout) == (1, ""), ended.stdout
    assert "Traceback" not in ended.stderr
    return ended.stderr


def refuse(folder: Path, texts: Mapping[str, str]) -> str:
    """Write a release, in a folder and as one file, and expect that both are refused."""
    said = []
    for name, write_to in (("release", write_folder), ("release.tar.gz", write_archive)):
        write_to(as_files(texts), folder / name)
        said.append(verify(folder, name))
    assert said[0].splitlines()[1:] == said[1].splitlines()[1:]
    return said[0]


def forge(
    described: ReleaseContents = HONEST, more: dict[str, str] | None = None
) -> dict[str, str]:
    """Return a release that says ``described``, with these files in it, where all sums fit."""
    return documents(described=described, more=more)


def test_an_honest_release(tmp_path: Path) -> None:
    for name, texts in (("a", forge()), ("b", forge(PROVEN, {PROOFS_PATH: dump(PROOFS)}))):
        write(tmp_path / name, texts)
        assert run_megtrim("release", "verify", name, cwd=tmp_path).rc == 0


def with_empty(*fields: str) -> dict[str, str]:
    """Return a release whose lists are empty: a script, and a package that runs a command."""
    empty: dict[str, Any] = dict.fromkeys(fields, ())
    gone = {*DOCUMENTS, "bin/load_and_run", "lib/libengine.so"}
    rest = {path: text for path, text in documents().items() if path not in gone}
    digests = {path: sha(text) for path, text in rest.items()}
    return rest | seal(replace(HONEST, **empty), digests, stages={}, megtrim="0.1.0")


def with_document(path: str) -> dict[str, str]:
    """Return a release with a line more in a document."""
    more = COMMAND if path == CONFIG_PATH else " "
    return sum_up(documents() | {path: f"{documents()[path]}{more}"})


def with_proofs(change: Callable[[Evidence, EvidenceResult], Any]) -> dict[str, str]:
    """Return a proven release with other proofs of its first scenario."""
    entry, *rest = PROOFS.entries
    entry, row = change(entry, entry.results[0])
    entries = (replace(entry, results=(row, *entry.results[1:])), *rest)
    return forge(PROVEN, {PROOFS_PATH: dump(replace(PROOFS, entries=entries))})


def test_an_aar_that_readers_take_otherwise(tmp_path: Path) -> None:
    library = shared_library("LITE_run")
    aar = (write_for_android(tmp_path / "honest", library) / AAR_PATH).read_bytes()
    at = aar.index(b"PK\1\2")
    hidden = aar[:at] + aar[: aar.index(b"PK\3\4", 4)] + aar[at:]
    start = aar.index(b"AndroidManifest.xml") + len("AndroidManifest.xml")
    bomb = aar[:start] + zlib.compress(bytes(1 << 28), wbits=-15) + aar[start:]
    renamed = aar[:at] + aar[at:].replace(b"R.txt", b"R.bin")

    for name, forged in (("hidden", hidden), ("bomb", bomb), ("renamed", renamed)):
        write_for_android(tmp_path / name, library, aar=forged)
        tracemalloc.start()
        assert f"{AAR_PATH} is not made of this release's" in "".join(
            check_release(tmp_path / name).problems
        )
        assert tracemalloc.get_traced_memory()[1] < 1 << 27
        tracemalloc.stop()


def with_device(entry: Evidence, **changes: Any) -> Evidence:
    return replace(entry, device=replace(entry.device, **changes))


def but(**changes: Any) -> dict[str, str]:
    return forge(replace(HONEST, **changes))


def first(**changes: Any) -> dict[str, str]:
    return but(scenarios=(replace(FIRST, **changes), *OTHERS))


_TWICE = "twice"
_ONE_NAME = "one name on some machines"
FOREIGN_FILES = (
    "bin/more",
    "bin/load_and_run.sh",
    "lib/libmore.so",
    f"{CONFIG_PATH.rpartition('/')[0]}/MegEngineTrimmedConfigVersion.cmake",
    "lib/cmake/Threads/ThreadsConfig.cmake",
    "symbols/more",
    "symbols/more.left-out.json",
    "share/algorithm-caches/other/default@any.cache",
    "share/more.json",
    "android/more.aar",
    ".profile",
    "Makefile",
)
Forged = Callable[[], dict[str, str]]
ATTEMPTS: dict[str, tuple[tuple[str, Forged], ...]] = {
    "a_release_that_lists_nothing": (
        ("it lists no", lambda: with_empty("artifacts")),
        ("it lists no", lambda: with_empty("scenarios")),
        ("it lists no", lambda: with_empty("artifacts", "scenarios", "devices")),
    ),
    "a_file_that_no_release_has": tuple(
        (f"{path} does not belong in", partial(forge, more={path: SCRIPT}))
        for path in FOREIGN_FILES
    ),
    "a_document_that_says_more": tuple(
        (path, partial(with_document, path))
        for path in (README_FILE, RELEASE_FILE, BILL_FILE, STATEMENT_FILE, CONFIG_PATH)
    ),
    "a_pass_that_is_none": (
        (FIRST.id, lambda: first(outputs=())),
        (FIRST.id, lambda: first(outputs=(replace(OUTPUT, equal=False),))),
        (FIRST.id, lambda: first(outputs=(OUTPUT, OUTPUT))),
        (FIRST.id, lambda: first(outputs=(replace(OUTPUT, size_bytes=0),))),
        (FIRST.id, lambda: first(outputs=(replace(OUTPUT, largest_difference=None),))),
        (FIRST.id, lambda: first(device="phone")),
        (FIRST.id, lambda: first(model=OTHER_MODEL)),
        (FIRST.id, lambda: first(on_devices=CheckStatus.SKIPPED)),
        (FIRST.id, lambda: first(on_devices=CheckStatus.PASS)),
    ),
    "a_verdict_that_leaves_something_open": (
        ("release.json: ", lambda: but(verdict=VerdictKind.UNVERIFIED)),
        ("release.json: ", lambda: but(verdict=VerdictKind.FAIL)),
        ("release.json: ", lambda: but(draft=True)),
    ),
    "a_thing_that_is_listed_twice": (
        (_TWICE, lambda: but(scenarios=(*HONEST.scenarios, FIRST))),
        (_TWICE, lambda: but(scenarios=(*HONEST.scenarios, replace(FIRST, arguments=("--cpu",))))),
        (_TWICE, lambda: but(devices=(DEVICE, replace(DEVICE, kind="adb")))),
        (_TWICE, lambda: but(artifacts=(*HONEST.artifacts, PROGRAM))),
        (_TWICE, lambda: but(artifacts=(*HONEST.artifacts, replace(PROGRAM, name="Load_and_run")))),
    ),
    "a_size_that_is_false": tuple(
        (
            "bin/load_and_run has another size than",
            partial(but, artifacts=(LIBRARY, replace(PROGRAM, size_bytes=size))),
        )
        for size in (0, 1, 10**12)
    ),
    "names_that_fold_into_one": tuple(
        (_ONE_NAME, partial(forge, more={f"include/{one}": "1\n", f"include/{other}": "2\n"}))
        for one, other in (
            ("a.h", "A.h"),
            ("\u00e9.h", "e\u0301.h"),
            ("ﬁ.h", "fi.h"),
            ("a/b.h", "A/c.h"),
            ("strasse.h", "straße.h"),
        )
    ),
    "proofs_of_something_else": tuple(
        (PROOFS_PATH, partial(with_proofs, change))
        for change in (
            lambda entry, row: (entry, replace(row, time_s=1.0)),
            lambda entry, row: (entry, replace(row, log_tail="lab-7.acme\n")),
            lambda entry, row: (entry, replace(row, binding="c" * 64)),
            lambda entry, row: (entry, replace(row, scenario=row.scenario.replace("/", "/other-"))),
            lambda entry, row: (with_device(entry, name="phone"), row),
            lambda entry, row: (with_device(entry, facts={"host": "a"}), row),
        )
    ),
    "proofs_that_nothing_needs": ((PROOFS_PATH, partial(forge, more={PROOFS_PATH: dump(PROOFS)})),),
}


@pytest.mark.parametrize(
    ("attempt", "number"),
    [(name, number) for name, rows in ATTEMPTS.items() for number in range(len(rows))],
)
def test_attempt(attempt: str, number: int, tmp_path: Path) -> None:
    said, forged = ATTEMPTS[attempt][number]

    assert said in refuse(tmp_path, forged())


def test_a_library_for_other_pages(tmp_path: Path) -> None:
    segment = Segment(LOADED, 5, 0, 0, 0, 64, 64, 4096)
    write_for_android(tmp_path / "release", with_segments(segment), page_bytes=16_384)
    named = "lib/libengine.so: LOAD segment 1 of 1, at 0x0, is aligned to 4,096 bytes, expected"

    said = verify(tmp_path)
    assert f"{named} 16,384: link it with -Wl,-z,max-page-size=16384" in said
    assert said.count("libengine.so") == 1
    with pytest.raises(InputError, match=named):
        read_exported(tmp_path / "release")


def test_a_release_that_is_built_otherwise(arena: Arena, tmp_path: Path) -> None:
    arena.start("honest")
    built = arena.stage("release build", str(tmp_path / "r"), "--committed")
    assert built.rc == 0, built.stderr
    found = check_release(tmp_path / "r")
    assert found.contents is not None
    payload = {p: (tmp_path / "r" / p).read_bytes() for p in found.files if p not in DOCUMENTS}
    honest = payload["bin/load_and_run"]
    evil = honest[:-1] + bytes([honest[-1] ^ 1])  # of its size, which is stated elsewhere, too
    payload["bin/load_and_run"] = evil
    payload["include/more.h"] = b"#define more\n"
    files = as_files(payload)
    (program,) = found.contents.artifacts
    sums = {each.path: each.sha256 for each in files}
    said = replace(
        found.contents,
        artifacts=(replace(program, sha256=sums["bin/load_and_run"], size_bytes=len(evil)),),
        devices=tuple(replace(each, kind="adb") for each in found.contents.devices),
    )
    shutil.rmtree(tmp_path / "r")
    forged = prove(
        said, files, clean_proofs(said, None), stages=found.stages, megtrim=found.megtrim
    )
    write_archive(forged, tmp_path / "forged.tar.gz")
    assert run_megtrim("release", "verify", "forged.tar.gz", cwd=tmp_path).rc == 0
    ended = arena.stage("release verify", str(tmp_path / "forged.tar.gz"), "--rebuild")

    assert ended.rc == 1
    for path in ("bin/load_and_run", RELEASE_FILE, STATEMENT_FILE, CHECKSUMS_FILE):
        assert f"{path} has other bytes" in ended.stderr
    assert "include/more.h was not built" in ended.stderr


@pytest.mark.parametrize("name", ["\u202egnp.h", "a\u200b.h", "a\ufeff.h", "\u2066a.h"])
def test_a_name_that_is_not_what_it_seems(name: str, tmp_path: Path) -> None:
    said = refuse(tmp_path, forge(more={f"include/{name}": "1\n"}))

    assert "cannot be seen" in said
    assert name not in said


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6755])
def test_a_program_with_the_rights_of_its_owner(mode: int, tmp_path: Path) -> None:
    folder = write(tmp_path / "release")
    (folder / "bin/load_and_run").chmod(mode)

    assert "bin/load_and_run runs with the rights of" in verify(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"artifacts": (LIBRARY, replace(PROGRAM, name='x")\nmessage(pwned)\n#'))},
        {"artifacts": (LIBRARY, replace(PROGRAM, name="../../.profile"))},
        {"artifacts": (replace(LIBRARY, name="${CMAKE_COMMAND}"), PROGRAM)},
        {"devices": (replace(DEVICE, name="a\nbuilt again: 14 files have the same bytes"),)},
        {"devices": (replace(DEVICE, facts={"model": "\x1b[2Jall is well"}),)},
        {"toolchain": replace(HONEST.toolchain, version="14\n::add-mask::a")},
        {"scenarios": (replace(FIRST, arguments=("--a\u202eb",)), *OTHERS)},
    ],
)
def test_a_name_that_is_a_command(changes: dict[str, Any], tmp_path: Path) -> None:
    said = refuse(tmp_path, forge(replace(HONEST, **changes)))

    assert not {"\x1b", "\u202e", "\nbuilt again", "\n::", "\nmessage"} & {*said, *said.split("  ")}
    assert not any(line.startswith(("::", "built", "message")) for line in said.splitlines())


def _repacked(data: bytes, change: Any) -> bytes:
    stream = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(data)) as old,
        tarfile.open(fileobj=stream, mode="w:gz", format=tarfile.USTAR_FORMAT) as new,
    ):
        for info in old:
            content = old.extractfile(info)
            assert content is not None
            change(info)
            new.addfile(info, content)
    return stream.getvalue()


def _set(**values: Any) -> Any:
    def change(info: tarfile.TarInfo) -> None:
        for name, value in values.items():
            setattr(info, name, value)

    return lambda data: _repacked(data, change)


def _rename(old: str, new: str) -> Any:
    def change(info: tarfile.TarInfo) -> None:
        info.name = info.name.replace(old, new)

    return lambda data: _repacked(data, change)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data + gzip.compress(b"more"),
        _set(mode=0o4755),
        _set(type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        _set(type=tarfile.LNKTYPE, linkname="release/README.md"),
        _set(type=tarfile.CHRTYPE),
        _rename("release/bin", "release/../bin"),
        _rename("release/bin", "/bin"),
        _rename("release/include", "other/include"),
        _rename("include/engine/twin.h", "include/engine/model.h"),
        _rename("include/engine/twin.h", "include/engine/model.h/twin.h"),
        lambda data: data[: len(data) // 2],
        lambda data: gzip.compress(gzip.decompress(data) + b"\0" * 512 + b"more" * 128),
    ],
)
def test_an_archive_that_others_unpack_otherwise(change: Any, tmp_path: Path) -> None:
    write_archive(as_files(documents()), tmp_path / "release.tar.gz")
    file = tmp_path / "release.tar.gz"
    file.write_bytes(change(file.read_bytes()))
    verify(tmp_path, "release.tar.gz")

    assert [each.name for each in tmp_path.iterdir()] == ["release.tar.gz"]
