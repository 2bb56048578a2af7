"""Checks a release offline: that all of it is there, that it is what was released, and no more.

Everything that is wrong is named at once. What a release says of itself must agree: its files with
SHA256SUMS, these with its provenance, and both with release.json, the bill of materials, the keep
set and the proofs. Someone who writes all of it again is found only by a digest that came another
way: ``expected``.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from megtrim.crashes.left_out import parse_left_out
from megtrim.errors import InputError, ProductFailure
from megtrim.evidence.evidence import Evidence, load_proofs
from megtrim.input_files import read_text
from megtrim.json_text import LARGEST_DOCUMENT
from megtrim.midout.keepset import parse_keep_set
from megtrim.packaging.aar import collect_aar
from megtrim.packaging.archive import FETCH_AGAIN
from megtrim.packaging.files import list_released
from megtrim.release.bill_of_materials import BILL_FILE, render_bill
from megtrim.release.checksums import CHECKSUMS_FILE, LARGEST_BYTES, parse_checksums
from megtrim.release.contents import (
    HINT,
    KEEP_SET_PATH,
    LEFT_OUT_SUFFIX,
    PROOFS_PATH,
    RELEASE_FILE,
    SYMBOLS,
    ReleaseContents,
    locate_left_out,
    parse_contents,
)
from megtrim.release.documents import list_licences
from megtrim.release.prefab import AAR_PATH
from megtrim.release.statement import (
    STATEMENT_FILE,
    ProvenanceStatement,
    make_statement,
    parse_statement,
)
from megtrim.store import sha256_file
from megtrim.verdict.model import VerdictKind

_MOST_FILES = 100_000
_NO_RELEASE = "name the folder that `megtrim release build` wrote"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseCheck:
    """What was found: the release, and everything that is wrong with it."""

    contents: ReleaseContents | None
    """None: it cannot be read."""
    sha256: str
    """Of SHA256SUMS, and so of the whole release."""
    files: Mapping[str, str]
    """The sha256 of each, as SHA256SUMS states it."""
    problems: tuple[str, ...]


def check_release(
    folder: Path, *, expected: str = "", model: Path | None = None, draft: bool = False
) -> ReleaseCheck:
    """Check the release in ``folder``. Raises InputError where there is none.

    ``expected``: the sha256 that its SHA256SUMS must have; ``model``: one that it must run. Of a
    ``draft``, nothing need be proven.
    """
    if not folder.is_dir():
        msg = f"{folder} is no folder with a release"
        raise InputError(msg, hint=_NO_RELEASE)
    named, problems = _read(folder)
    sums = folder / CHECKSUMS_FILE
    found = "" if sums.is_symlink() or not sums.is_file() else sha256_file(sums)
    if expected and found != expected:
        problems.append(f"{CHECKSUMS_FILE}: its sha256 is {found}: this is another release")
    contents = None
    try:
        if not problems:
            contents = parse_contents(_text(folder, RELEASE_FILE), source=RELEASE_FILE)
            problems += _compare(folder, named, contents)
            problems += () if draft else _list_unproven(folder, named, contents)
    except InputError as error:
        problems.append(error.message)
    if contents is not None and model is not None:
        problems += _compare_model(contents, model)
    return ReleaseCheck(contents=contents, sha256=found, files=named, problems=tuple(problems))


def expect_whole(found: ReleaseCheck, shown: Path) -> ReleaseContents:
    """Return what a release says. Raises ProductFailure with all that is wrong with it."""
    if found.contents is None or found.problems:
        listed = "\n".join(f"  {each}" for each in found.problems)
        msg = f"{shown} is not what was released:\n{listed}"
        raise ProductFailure(msg, hint=FETCH_AGAIN)
    return found.contents


def _read(folder: Path) -> tuple[dict[str, str], list[str]]:
    """Return what SHA256SUMS names, and where the files in the folder differ from it."""
    try:
        there, problems = _walk(folder)
    except OSError as error:
        msg = f"{error.filename or folder}: cannot be read: {error.strerror}"
        raise InputError(msg, hint="let yourself read all of the release") from None
    if CHECKSUMS_FILE not in there:
        return {}, [*problems, f"{CHECKSUMS_FILE} is missing"]
    try:
        text = _text(folder, CHECKSUMS_FILE, most_bytes=LARGEST_BYTES)
        named = parse_checksums(text, source=CHECKSUMS_FILE)
    except InputError as error:
        return {}, [*problems, error.message]
    found = {name: sha256_file(folder / name) for name in there if name != CHECKSUMS_FILE}
    return named, [*problems, *_differ(named, found)]


def _walk(folder: Path) -> tuple[list[str], list[str]]:
    """Return the plain files below a folder, sorted, and what else is there."""
    files: list[str] = []
    problems: list[str] = []
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted((*folders, *names)):
            path = Path(root, name)
            shown = path.relative_to(folder).as_posix()
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                files.append(shown)
            elif not stat.S_ISDIR(mode):
                problems.append(f"{_show(shown)} is no plain file")
            elif not any(path.iterdir()):
                problems.append(f"{_show(shown)} is an empty folder, which no release has")
        if len(files) > _MOST_FILES:
            msg = f"{folder} holds more than {_MOST_FILES:,} files"
            raise InputError(msg, hint=_NO_RELEASE)
    return sorted(files), problems


def _differ(named: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """Say which files are missing, added, renamed or changed."""
    missing = [path for path in named if path not in found]
    for path, sha256 in found.items():
        before = next((each for each in missing if named[each] == sha256), None)
        if path in named:
            if sha256 != named[path]:
                yield f"{path} was changed: its sha256 is {sha256}, expected {named[path]}"
        elif before is not None:
            missing.remove(before)
            yield f"{_show(path)} was renamed: it is {before}"
        else:
            yield f"{_show(path)} was added: {CHECKSUMS_FILE} does not name it"
    yield from (f"{path} is missing" for path in missing)


def _compare(folder: Path, named: Mapping[str, str], contents: ReleaseContents) -> Iterator[str]:
    """Say where the documents of a release contradict each other."""
    statement = parse_statement(_text(folder, STATEMENT_FILE), source=STATEMENT_FILE)
    yield from _compare_statement(named, contents, statement)
    for each in contents.artifacts:
        if named.get(each.path) != each.sha256:
            yield f"{each.path} is another build than {RELEASE_FILE} describes"
    if named.get(KEEP_SET_PATH) != contents.keep_set_sha256:
        yield f"{KEEP_SET_PATH} is another keep set than {RELEASE_FILE} names"
    keep = parse_keep_set(_text(folder, KEEP_SET_PATH), source=KEEP_SET_PATH)
    traced = {each.id: each for each in keep.scenarios}
    yield from _compare_aar(folder, named, contents)
    for scenario in contents.scenarios:
        record, graph = traced.get(scenario.id), scenario.graph_sha256
        same = record and record.model_sha256 == scenario.model_sha256
        if not same and not (record and graph and record.graph_sha256 == graph):
            yield f"{KEEP_SET_PATH} was traced with another model for {scenario.id}"
    yield from _compare_left_out(folder, named, contents)


def _compare_left_out(
    folder: Path, named: Mapping[str, str], contents: ReleaseContents
) -> Iterator[str]:
    """Say which list of what was left out is missing, or of something else than its program."""
    programs = {each.name: each.sha256 for each in contents.artifacts}
    counts = {each.artifact: each.held - each.kept for each in contents.functions}
    lists = {name: locate_left_out(name) for name in programs}
    known = {*lists.values()}
    for path in sorted(named):
        if path.startswith(f"{SYMBOLS}/") and path.endswith(LEFT_OUT_SUFFIX) and path not in known:
            yield f"{path} is of no program in {RELEASE_FILE}"
    for name, path in sorted(lists.items()):
        count = counts.get(name, 0)
        if path not in named:
            if count:
                yield f"{path} is missing, and functions of {name} were left out"
            continue
        left_out, sha256 = parse_left_out(_text(folder, path), source=path)
        if sha256 != programs[name]:
            yield f"{path} is of another build than {RELEASE_FILE} describes"
        if len(left_out.names) != count:
            yield f"{path} lists {len(left_out.names)} functions, {RELEASE_FILE} says {count}"


def _compare_aar(
    folder: Path, named: Mapping[str, str], contents: ReleaseContents
) -> Iterator[str]:
    """Say whether the AAR is not what the other files make; what came is not opened."""
    if AAR_PATH not in named:
        return
    again = collect_aar(contents, list_released(folder, named))
    if again is None or again.sha256 != named[AAR_PATH]:
        yield f"{AAR_PATH} is not made of this release's library, headers and licences"


def _list_unproven(
    folder: Path, named: Mapping[str, str], contents: ReleaseContents
) -> Iterator[str]:
    """Say what did not pass, and what is said to have passed on a device without a proof."""
    if contents.draft:
        yield f"{RELEASE_FILE}: it is a draft, which devices have still to prove"
    if contents.verdict is VerdictKind.FAIL:
        yield f"{RELEASE_FILE}: the verdict is {contents.verdict}"
    yield from (f"{each} is not proven" for each in contents.unproven)
    found = load_proofs(folder / PROOFS_PATH).entries if PROOFS_PATH in named else ()
    for each in list_without_proof(contents, found):
        yield f"{PROOFS_PATH} has no proof of {each} by these programs"


def list_without_proof(contents: ReleaseContents, proofs: Iterable[Evidence]) -> Iterator[str]:
    """Yield the id of each scenario that devices are said to have run, and no proof says so."""
    proven = {(each.scenario, each.binding) for of in proofs for each in of.results}
    for scenario in contents.scenarios:
        if scenario.on_devices and (scenario.id, scenario.binding) not in proven:
            yield scenario.id


def _compare_statement(
    named: Mapping[str, str], contents: ReleaseContents, statement: ProvenanceStatement
) -> Iterator[str]:
    """Say where the provenance and the bill of materials are of something else."""
    stated = statement.digests
    expected = {path: sha256 for path, sha256 in named.items() if path != STATEMENT_FILE}
    for path in sorted(stated.keys() | expected.keys()):
        if stated.get(path) != expected.get(path):
            yield f"{STATEMENT_FILE} is of another release: {path} has another sha256 there"
    again = make_statement(contents, stated, statement.stages, megtrim=statement.megtrim)
    if statement.predicate != again.predicate:
        yield f"{STATEMENT_FILE} names other sources than {RELEASE_FILE}"
    bill = render_bill(contents, licences=list_licences(named), megtrim=statement.megtrim)
    if named.get(BILL_FILE) != hashlib.sha256(bill.encode()).hexdigest():
        yield f"{BILL_FILE} lists other parts than {RELEASE_FILE}"


def _compare_model(contents: ReleaseContents, model: Path) -> Iterator[str]:
    sha256 = sha256_file(model)
    if sha256 not in contents.models.values():
        known = ", ".join(sorted(contents.models))
        yield f"{model} is none of its models ({known}): this release is for another one"


def _text(folder: Path, name: str, *, most_bytes: int = LARGEST_DOCUMENT) -> str:
    """Return a document's text; a link was found before."""
    expected = "a part of a release"
    return read_text(folder / name, most_bytes=most_bytes, expected=expected, shown=name, hint=HINT)


def _show(path: str) -> str:
    """Return a name that anyone may have given as a terminal can show it."""
    return path if path.isprintable() else ascii(path)
