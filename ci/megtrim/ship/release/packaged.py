"""Files that were taken back from a package, beside the release that they are from. Pure.

Packaging strips programs again, and renames them. What is loaded of them must stay.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.functions.cutter import NO_REST, find_mismatch
from megtrim.libs.elf.layout import ELF_MAGIC, parse_build_id
from megtrim.libs.elf.loaded import find_difference
from megtrim.libs.util.errors import ProductFailure
from megtrim.ship.release.contents import ArtifactKind, ReleaseArtifact, ReleaseContents

PROVEN = "proven: it has the same bytes"
RELEASED = "as released, which is no proof: it has the same bytes"
STRIPPED = "stripped after the release: what is loaded is the same"
_CHANGED = "package the file of the release; where it has to be stripped, try llvm-strip"
_UNKNOWN = "name a program, a library or a companion file from the package, and its release"

Read = Callable[[str], bytes]
"""Returns the content of a file of the release."""


def describe_packaged(
    data: bytes,
    contents: ReleaseContents,
    named: Mapping[str, str],
    read: Read,
    *,
    shown: str,
) -> str:
    """Return which file of the release ``data`` is, and what is proven of it.

    Raises ProductFailure if it is none of them, or was changed by more than a strip.
    """
    sha256 = hashlib.sha256(data).hexdigest()
    proven = [each.path for each in contents.artifacts if each.sha256 == sha256]
    if proven:
        return f"{proven[0]}, {PROVEN}"
    released = [path for path, digest in named.items() if digest == sha256]
    if released:
        return f"{released[0]}, {RELEASED}"
    path, problem = _find_nearest(data, contents, read)
    if not path:
        listed = ", ".join(each.path for each in contents.artifacts)
        msg = f"{shown} is none of {listed}: {problem}"
        raise ProductFailure(msg, hint=_UNKNOWN)
    if problem:
        msg = f"{shown} is not the {path} that was released: {problem}"
        raise ProductFailure(msg, hint=_CHANGED)
    return f"{path}, {STRIPPED}"


def _find_nearest(data: bytes, contents: ReleaseContents, read: Read) -> tuple[str, str]:
    """Return the path of what ``data`` was made from, if any, and how more than a strip made it."""
    if not data.startswith(ELF_MAGIC):
        return _find_rest(data, contents, read)
    linked = [each for each in contents.artifacts if each.kind is not ArtifactKind.REST]
    build_id = parse_build_id(data)
    expected = dict(_list_build_ids(linked, read))
    if build_id not in expected:
        known = ", ".join(sorted(filter(None, expected))) or "none"
        return "", f"its build id is {build_id or 'not there'}, and theirs: {known}"
    artifact = expected[build_id]
    return artifact.path, find_difference(read(artifact.path), data)


def _list_build_ids(
    linked: list[ReleaseArtifact], read: Read
) -> Iterator[tuple[str, ReleaseArtifact]]:
    for each in linked:
        build_id = parse_build_id(read(each.path))
        if build_id:
            yield build_id, each


def _find_rest(data: bytes, contents: ReleaseContents, read: Read) -> tuple[str, str]:
    """A rest is code behind a head, which nothing may strip."""
    artifacts = {each.name: each for each in contents.artifacts}
    for each in contents.artifacts:
        rest = artifacts.get(f"{each.name}{REST_SUFFIX}")
        if rest is not None:
            problem = find_mismatch(read(each.path), data, name=each.name)
            if problem != NO_REST:
                return rest.path, problem
    return "", f"it is not an ELF file, and {NO_REST}"
