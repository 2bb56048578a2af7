"""What binds the files of a release to what was proven: the programs, the keep set, release.json.

Each file is compared with what it must agree with. What no comparison can clear is named: it came
with the release, and only the digest of the whole release vouches for it. Pure.
"""

from collections.abc import Callable, Iterator, Mapping

from megtrim.core.build_spec import HEADERS, LICENCES, REST_SUFFIX, Variant
from megtrim.core.config.document import parse_document
from megtrim.core.functions import rest
from megtrim.core.functions.cutter import defers, find_mismatch
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.size.baseline import parse_sizes
from megtrim.libs.elf.loaded import find_other_code
from megtrim.libs.util.wording import count
from megtrim.ship.release.contents import (
    CONFIGURATION,
    KEEP_SET_PATH,
    RELEASE_FILE,
    RUNTIME_PATH,
    SIZES_PATH,
    SYMBOLS,
    ArtifactKind,
    ReleaseArtifact,
    ReleaseContents,
    locate_cache,
    locate_left_out,
    name_files,
)
from megtrim.ship.release.documents import DOCUMENTS

CONFIGURATION_PATH = f"{CONFIGURATION}/megtrim.yaml"
_FOLDERS = (HEADERS, LICENCES, CONFIGURATION)
"""What is in them is neither run nor made from what is run."""

Read = Callable[[str], bytes]
"""Returns the content of a file of the release."""


def compare_parts(
    named: Mapping[str, str], contents: ReleaseContents, keep: KeepSet, read: Read
) -> Iterator[str]:
    """Yield what does not belong to the programs of the release.

    ``named`` has the digest of each file; it was compared with the files before.
    """
    yield from _compare_named(named, contents)
    yield from _compare_configuration(named, contents, read)
    yield from _compare_rests(contents, read)
    yield from _compare_symbols(named, contents, read)
    yield from _compare_caches(named, contents, keep)
    yield from _compare_sizes(named, contents, read)


def list_unproven_files(
    named: Mapping[str, str], contents: ReleaseContents, read: Read
) -> Iterator[str]:
    """Yield a line for each file or folder of which more could be false than is compared."""
    for folder in _FOLDERS:
        held = [path for path in named if path.startswith(f"{folder}/")]
        if held:
            yield f"{folder} ({count(len(held), 'file')}): compared with {RELEASE_FILE} alone"
    yield f"{KEEP_SET_PATH}: its scenarios and models fit; what ran is not compared"
    if SIZES_PATH in named:
        yield f"{SIZES_PATH}: its sizes of whole files fit; its other figures are not compared"
    if RUNTIME_PATH in named and read(RUNTIME_PATH) != rest.RUNTIME.encode():
        yield f"{RUNTIME_PATH}: this is not the runtime that this megtrim links"
    for each in contents.artifacts:
        if f"{SYMBOLS}/{each.name}" in named:
            yield f"{SYMBOLS}/{each.name}: its code is that of {each.path}; names are not compared"
        listed = locate_left_out(each.name)
        if listed in named:
            yield f"{listed}: its count of functions fits; names are not compared"


def _compare_named(named: Mapping[str, str], contents: ReleaseContents) -> Iterator[str]:
    payload = name_files(contents, {each: named[each] for each in named.keys() - DOCUMENTS}).files
    for path in sorted(payload.keys() | contents.files.keys()):
        if path not in contents.files:
            yield f"{path} is not named by {RELEASE_FILE}"
        elif path not in payload:
            yield f"{path} is missing, and {RELEASE_FILE} names it"
        elif payload[path] != contents.files[path]:
            yield f"{path} is another file than {RELEASE_FILE} names"


def _compare_configuration(
    named: Mapping[str, str], contents: ReleaseContents, read: Read
) -> Iterator[str]:
    """Parts in files of their own may be missing, for they may be of other toolchains."""
    if CONFIGURATION_PATH not in named:
        yield f"{CONFIGURATION_PATH} is missing"
        return
    document = parse_document(read(CONFIGURATION_PATH), file=CONFIGURATION_PATH)
    if not _has_parts(document.data) and document.sha256 != contents.configuration_sha256:
        yield f"{CONFIGURATION_PATH} is another configuration than {RELEASE_FILE} names"


def _has_parts(data: Mapping[str, object]) -> bool:
    """Models or scenarios may be a pattern of files."""
    models = data.get("models")
    if isinstance(models, str):
        return True
    listed = models if isinstance(models, list) else []
    return any(isinstance(each, dict) and isinstance(each.get("scenarios"), str) for each in listed)


def _compare_rests(contents: ReleaseContents, read: Read) -> Iterator[str]:
    artifacts = {each.name: each for each in contents.artifacts}
    for name, each in artifacts.items():
        if each.kind is ArtifactKind.REST:
            first = artifacts.get(name.removesuffix(REST_SUFFIX))
            if first is None:
                yield f"{each.path} is a companion file without its program"
            elif problem := find_mismatch(read(first.path), read(each.path), name=first.name):
                yield f"{each.path} is not the companion file of {first.path}: {problem}"
        elif f"{name}{REST_SUFFIX}" not in artifacts and defers(read(each.path)):
            yield f"{each.path}{REST_SUFFIX} is missing, and {each.path} defers functions to it"


def _compare_symbols(
    named: Mapping[str, str], contents: ReleaseContents, read: Read
) -> Iterator[str]:
    for each in contents.artifacts:
        twin = f"{SYMBOLS}/{each.name}"
        if twin in named:
            problem = find_other_code(read(each.path), read(twin))
            if problem:
                yield f"{twin} is not {each.path} with its symbols: {problem}"


def _compare_caches(
    named: Mapping[str, str], contents: ReleaseContents, keep: KeepSet
) -> Iterator[str]:
    traced = {each.id: each.algo_cache_sha256 for each in keep.scenarios}
    for scenario in contents.scenarios:
        path = locate_cache(scenario.id)
        expected = traced.get(scenario.id)
        if named.get(path) == expected:
            continue
        if path not in named:
            yield f"{path} is missing, and {scenario.id} was traced with it"
        elif expected is None:
            yield f"{path} is there, and {scenario.id} was traced without one"
        else:
            yield f"{path} is another algorithm cache than {scenario.id} was traced with"


def _compare_sizes(
    named: Mapping[str, str], contents: ReleaseContents, read: Read
) -> Iterator[str]:
    if SIZES_PATH not in named:
        return
    found = parse_sizes(read(SIZES_PATH).decode("utf-8", "replace"), source=SIZES_PATH)
    for each in contents.artifacts:
        for variant, expected in _list_sizes(each):
            said = found.sizes.get((each.name, variant))
            if said != expected:
                shown = "nothing" if said is None else f"{said:,}"
                what = f"{each.name} ({variant})"
                yield f"{SIZES_PATH} says {shown} for {what}, expected {expected:,}"


def _list_sizes(artifact: ReleaseArtifact) -> Iterator[tuple[str, int]]:
    if artifact.kind is ArtifactKind.REST:
        return
    yield Variant.REDUCED, artifact.size_bytes
    if artifact.plain_bytes is not None:
        yield Variant.PLAIN, artifact.plain_bytes
