"""Checks a release offline: that all of it is there, that it is what was released, and no more.

Someone who writes all of it again is found only by a digest that came another way: ``expected``.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from megtrim.core.build_spec import HEADERS, LICENCES
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.evidence.evidence import EvidenceSet, load_proofs
from megtrim.core.keep.keepset_files import parse_keep_set
from megtrim.core.size.aar_format import is_made_of
from megtrim.libs.elf.loaded import find_foreign
from megtrim.libs.elf.pages import LINK_AGAIN, find_misfit
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.input_files import read_text
from megtrim.libs.util.json_text import LARGEST_DOCUMENT
from megtrim.libs.util.strict_json import dump
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import make_printable
from megtrim.ship.crashes.program import parse_left_out
from megtrim.ship.release.aar import CONFIG_PATH, collect_part, render_config
from megtrim.ship.release.archive import FETCH_AGAIN, list_released
from megtrim.ship.release.bindings import compare_parts, list_unproven_files
from megtrim.ship.release.contents import (
    AAR_PATH,
    CONFIGURATION,
    HINT,
    KEEP_SET_PATH,
    PROOFS_PATH,
    RELEASE_FILE,
    RUNTIME_PATH,
    SIZES_PATH,
    SYMBOLS,
    ArtifactKind,
    ReleaseContents,
    hide_machine,
    is_of_older_form,
    list_unshown,
    locate_cache,
    locate_left_out,
    parse_contents,
)
from megtrim.ship.release.documents import (
    CHECKSUMS_FILE,
    DOCUMENTS,
    LARGEST_BYTES,
    STATEMENT_FILE,
    digest,
    list_unfit,
    parse_checksums,
    read_statement,
    seal,
)
from megtrim.ship.release.feature import compare_feature, is_feature

_MOST_FILES = 100_000
_RIGHTS_OF_OTHERS = stat.S_ISUID | stat.S_ISGID
_FOLDERS = (f"{HEADERS}/", f"{LICENCES}/", f"{CONFIGURATION}/")
"""What is in them depends on the engine and the team."""
_OLDER = (
    "verify it with the megtrim that made it, or make the release again; its files are as its "
    "SHA256SUMS says: docs/how-to/upgrade-megtrim.md#releases-of-megtrim-02"
)
_NO_RELEASE = "name the folder that `megtrim release build RELEASE` wrote"


class ReleaseCheck(Value):
    contents: ReleaseContents | None = None
    sha256: str = ""
    """Of SHA256SUMS, and so of the whole release."""
    files: Mapping[str, str]
    proofs: EvidenceSet | None = None
    stages: Mapping[str, str] = field(default_factory=dict)
    """The key of each result that the programs are made from, by the id of its task."""
    megtrim: str = ""
    unproven: tuple[str, ...] = ()
    """A line for each file of which more could be false than was compared."""
    is_older: bool = False
    """Its files are as SHA256SUMS says, and release.json has a form of megtrim 0.2 or earlier."""
    problems: tuple[str, ...]


def check_release(
    folder: Path, *, expected: str = "", model: Path | None = None, draft: bool = False
) -> ReleaseCheck:
    """``expected``: sha256 of its SHA256SUMS; ``model``: one that it must run.

    Of a ``draft``, nothing need be proven. Raises InputError where there is none.
    """
    if not folder.is_dir():
        msg = f"{folder} is not a folder with a release"
        raise InputError(msg, hint=_NO_RELEASE)
    named, problems = _read(folder)
    sums = folder / CHECKSUMS_FILE
    sha256 = "" if sums.is_symlink() or not sums.is_file() else sha256_file(sums)
    if expected and sha256 != expected:
        problems.append(f"{CHECKSUMS_FILE}: its sha256 is {sha256}: this is another release")
    found = ReleaseCheck(sha256=sha256, files=named, problems=tuple(problems))
    if problems:
        return found
    try:
        stages, megtrim = read_statement(_text(folder, STATEMENT_FILE), source=STATEMENT_FILE)
        described = _text(folder, RELEASE_FILE)
        if is_of_older_form(described):
            return replace(found, megtrim=megtrim, is_older=True)
        found = replace(
            found,
            contents=parse_contents(described, source=RELEASE_FILE),
            proofs=load_proofs(folder / PROOFS_PATH) if PROOFS_PATH in named else None,
            stages=stages,
            megtrim=megtrim,
        )
        problems += _compare(folder, found, draft=draft)
        if not problems:
            found = replace(found, unproven=tuple(_list_unproven(folder, found)))
    except InputError as error:
        problems.append(error.message)
    if model and found.contents and sha256_file(model) not in found.contents.models.values():
        known = ", ".join(sorted(found.contents.models))
        problems.append(
            f"{model} is not one of its models ({known}): this release is for another one"
        )
    return replace(found, problems=tuple(problems))


def expect_whole(found: ReleaseCheck, shown: Path) -> ReleaseContents:
    """Raises ProductFailure with all that is wrong with a release, InputError for an older form."""
    if found.is_older:
        by = f"megtrim {make_printable(found.megtrim)}"
        msg = (
            f"{shown} was released by {by}, whose {RELEASE_FILE} does not name all of its files, "
            "so this megtrim cannot say what is proven"
        )
        raise InputError(msg, hint=_OLDER)
    if found.contents is None or found.problems:
        listed = "\n".join(f"  {problem}" for problem in found.problems)
        msg = f"{shown} is not what was released:\n{listed}"
        raise ProductFailure(msg, hint=FETCH_AGAIN)
    return found.contents


def _read(folder: Path) -> tuple[dict[str, str], list[str]]:
    try:
        there, problems = _walk(folder)
    except OSError as error:
        msg = f"{error.filename or folder}: cannot be read: {error.strerror}"
        raise InputError(msg, hint="give yourself permission to read all of its files") from None
    if CHECKSUMS_FILE not in there:
        return {}, [*problems, f"{CHECKSUMS_FILE} is missing"]
    try:
        text = _text(folder, CHECKSUMS_FILE, most_bytes=LARGEST_BYTES)
        named = parse_checksums(text, source=CHECKSUMS_FILE)
    except InputError as error:
        return {}, [*problems, error.message]
    found = {name: sha256_file(folder / name) for name in there if name != CHECKSUMS_FILE}
    unfit = (f"{CHECKSUMS_FILE} names {each}" for each in list_unfit(named))
    return named, [*problems, *_differ(named, found), *unfit]


def _walk(folder: Path) -> tuple[list[str], list[str]]:
    files: list[str] = []
    problems: list[str] = []
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted((*folders, *names)):
            path = Path(root, name)
            shown = path.relative_to(folder).as_posix()
            mode = path.lstat().st_mode
            if mode & _RIGHTS_OF_OTHERS:
                problems.append(f"{_show(shown)} runs with the rights of its owner or group")
            if stat.S_ISREG(mode):
                files.append(shown)
            elif not stat.S_ISDIR(mode):
                problems.append(f"{_show(shown)} is not a plain file")
            elif not any(path.iterdir()):
                problems.append(f"{_show(shown)} is an empty folder, which no release has")
        if len(files) > _MOST_FILES:
            msg = f"{folder} contains more than {_MOST_FILES:,} files"
            raise InputError(msg, hint=_NO_RELEASE)
    return sorted(files), problems


def _differ(named: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
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


def _compare(folder: Path, found: ReleaseCheck, *, draft: bool) -> Iterator[str]:
    named = found.files
    contents = found.contents
    assert contents is not None
    said = [*contents.list_objections()]
    if not draft:
        said += contents.list_unproven()
    yield from (f"{RELEASE_FILE}: {each}" for each in said)
    if any(list_unshown(contents)):
        return  # of what is compared, these texts are parts
    for text in list_unshown((found.megtrim, found.stages)):
        yield f"{STATEMENT_FILE}: {text!a:.100} is not one line that can be seen"
    yield from _compare_documents(found, contents)
    others = list(_compare_artifacts(folder, named, contents))
    yield from others
    if named.get(KEEP_SET_PATH) != contents.keep_set_sha256:
        yield f"{KEEP_SET_PATH} is another keep set than {RELEASE_FILE} names"
    keep = parse_keep_set(_text(folder, KEEP_SET_PATH), source=KEEP_SET_PATH)
    if not others:  # all that is read below is in the release
        yield from compare_parts(named, contents, keep, partial(_read_part, folder))
    traced = {each.id: each for each in keep.scenarios}
    for scenario in contents.scenarios:
        record = traced.get(scenario.id)
        graph = scenario.graph_sha256
        same = record and record.model_sha256 == scenario.model_sha256
        if not same and not (record and graph and record.graph_sha256 == graph):
            yield f"{KEEP_SET_PATH} was traced with another model for {scenario.id}"
    yield from _compare_derived(folder, named, contents)
    yield from _compare_proofs(found, contents)


def _compare_artifacts(
    folder: Path, named: Mapping[str, str], contents: ReleaseContents
) -> Iterator[str]:
    page_bytes = contents.toolchain.page_bytes
    for artifact in contents.artifacts:
        path = artifact.path
        if named.get(path) != artifact.sha256:
            yield f"{path} is another build than {RELEASE_FILE} describes"
        elif (folder / path).stat().st_size != artifact.size_bytes:
            yield f"{path} has another size than {RELEASE_FILE} says"
        elif artifact.kind is ArtifactKind.REST:
            continue  # code without a file's headers, which no loader maps
        elif foreign := find_foreign((folder / path).read_bytes(), contents.toolchain.target):
            yield f"{path} is not a file for this release's machine: {foreign}"
        elif misfit := find_misfit((folder / path).read_bytes(), page_bytes, source=path):
            yield f"{misfit}: {LINK_AGAIN}"


def _compare_documents(found: ReleaseCheck, contents: ReleaseContents) -> Iterator[str]:
    named = found.files
    names = [artifact.name for artifact in contents.artifacts]
    places = {
        *DOCUMENTS,
        KEEP_SET_PATH,
        PROOFS_PATH,
        SIZES_PATH,
        RUNTIME_PATH,
        CONFIG_PATH,
        AAR_PATH,
        *(artifact.path for artifact in contents.artifacts),
        *(f"{SYMBOLS}/{name}" for name in names),
        *map(locate_left_out, names),
        *(locate_cache(scenario.id) for scenario in contents.scenarios),
    }
    for path in named:
        if path not in places and not path.startswith(_FOLDERS) and not is_feature(path):
            yield f"{path} does not belong in a release of these artifacts"
    payload = {path: sha256 for path, sha256 in named.items() if path not in DOCUMENTS}
    texts = seal(contents, payload, stages=found.stages, megtrim=found.megtrim)
    for path in sorted(texts.keys() - {CHECKSUMS_FILE}):
        if named.get(path) != digest(texts[path]):
            yield f"{path} comes from another release, or does not follow from {RELEASE_FILE}"
    programs = [each.name for each in contents.artifacts if each.kind is ArtifactKind.PROGRAM]
    shared = [each.name for each in contents.artifacts if each.kind is ArtifactKind.SHARED]
    released = {each.path for each in contents.artifacts}
    packages = (
        render_config(library=each, programs=programs, released=released) for each in ("", *shared)
    )
    if named.get(CONFIG_PATH) not in {*map(digest, packages)}:
        yield f"{CONFIG_PATH} is not the CMake package of these artifacts"


def _compare_derived(
    folder: Path, named: Mapping[str, str], contents: ReleaseContents
) -> Iterator[str]:
    released = list_released(folder, named)
    yield from compare_feature(contents, released, named)
    if AAR_PATH in named:
        part = collect_part(contents, released)
        if part is None or not is_made_of((folder / AAR_PATH).read_bytes(), part):
            yield f"{AAR_PATH} is not made of this release's library, headers and licences"
    counts = {function.artifact: function.held - function.kept for function in contents.functions}
    for each in contents.artifacts:
        name = each.name
        path = locate_left_out(each.name)
        count = counts.get(each.name, 0)
        if path not in named:
            if count:
                yield f"{path} is missing, and functions of {name} were left out"
            continue
        names, sha256 = parse_left_out(_text(folder, path), source=path)
        if sha256 != each.sha256:
            yield f"{path} is from another build than {RELEASE_FILE} describes"
        if len(names) != count:
            yield f"{path} lists {len(names)} functions, {RELEASE_FILE} says {count}"


def _compare_proofs(found: ReleaseCheck, contents: ReleaseContents) -> Iterator[str]:
    own = clean_proofs(contents, found.proofs)
    proven = {row.scenario for entry in own.entries for row in entry.results}
    for scenario in contents.scenarios:
        if scenario.on_devices is CheckStatus.PASS and scenario.id not in proven:
            yield f"{PROOFS_PATH} has no proof of {scenario.id} by these programs"
    if add_proofs(contents, own).devices != contents.devices:
        yield f"{RELEASE_FILE} lists other devices than {PROOFS_PATH}"
    if found.files.get(PROOFS_PATH) != (digest(dump(own)) if own.entries else None):
        yield f"{PROOFS_PATH} contains more than a release may, such as times or logs"


def _list_unproven(folder: Path, found: ReleaseCheck) -> Iterator[str]:
    assert found.contents is not None
    return list_unproven_files(found.files, found.contents, partial(_read_part, folder))


def _read_part(folder: Path, name: str) -> bytes:
    return (folder / name).read_bytes()


def _text(folder: Path, name: str, *, most_bytes: int = LARGEST_DOCUMENT) -> str:
    expected = "a part of a release"
    return read_text(folder / name, most_bytes=most_bytes, expected=expected, shown=name, hint=HINT)


def _show(path: str) -> str:
    return path if path.isprintable() else ascii(path)


def add_proofs(contents: ReleaseContents, proofs: EvidenceSet) -> ReleaseContents:
    entries = proofs.entries
    proven = {(row.scenario, row.binding): each.device for each in entries for row in each.results}
    asked = (scenario for scenario in contents.scenarios if scenario.on_devices is not None)
    ran = {each.id: proven.get((each.id, each.binding)) for each in asked}
    scenarios = tuple(
        replace(scenario, on_devices=CheckStatus.PASS) if ran.get(scenario.id) else scenario
        for scenario in contents.scenarios
    )
    devices = {each.name: each for each in (*filter(None, ran.values()), *contents.devices)}
    return replace(
        contents,
        draft=False,
        devices=tuple(devices[name] for name in sorted(devices)),
        scenarios=scenarios,
    )


def clean_proofs(contents: ReleaseContents, proofs: EvidenceSet | None) -> EvidenceSet:
    asked = {(each.id, each.binding) for each in contents.scenarios if each.on_devices is not None}
    entries = []
    for evidence in proofs.entries if proofs else ():
        results = tuple(
            replace(result, time_s=0.0, conditions=None, log_tail="", crash="")
            for result in evidence.results
            if (result.scenario, result.binding) in asked
        )
        if results:
            device = hide_machine(evidence.device)
            entries.append(replace(evidence, device=device, results=results))
    return EvidenceSet(entries=tuple(entries))
