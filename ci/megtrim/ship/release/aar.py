"""The packages of a release: the AAR for an app's Gradle build, and the one for CMake."""

import hashlib
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

from megtrim.core.build_spec import HEADERS, LICENCES, PACKAGE, REST_SUFFIX
from megtrim.core.size.aar_format import AarPart, AndroidTarget, make_aar, make_part, parse_target
from megtrim.libs.elf.needed_libraries import SHARED_RUNTIME, find_cxx_runtime
from megtrim.libs.elf.pages import LINK_AGAIN, find_misfit
from megtrim.libs.util.errors import InputError
from megtrim.ship.release.archive import ReleaseFile, from_path, read_bytes
from megtrim.ship.release.contents import (
    AAR_PATH,
    LIBRARIES,
    PROGRAMS,
    RELEASE_FILE,
    REST_PROPERTY,
    ArtifactKind,
    ReleaseContents,
    parse_contents,
)

CONFIG_PATH = f"{LIBRARIES}/cmake/{PACKAGE}/{PACKAGE}Config.cmake"

_ROOT = "_megtrim_root"
_HEAD = f"""\
# Written by megtrim. Says where the files of this release are, relative to this one.
get_filename_component({_ROOT} "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
"""
_FOOT = f"unset({_ROOT})\n"
_PUBLIC = (f"{HEADERS}/", f"{LICENCES}/")


def collect_aar(contents: ReleaseContents, files: Sequence[ReleaseFile]) -> ReleaseFile | None:
    """None where there is no single shared library for Android, or no app can link it."""
    part = collect_part(contents, files)
    if part is None:
        return None
    data = make_aar([part])
    return ReleaseFile(path=AAR_PATH, source=data, sha256=hashlib.sha256(data).hexdigest())


def collect_part(contents: ReleaseContents, files: Sequence[ReleaseFile]) -> AarPart | None:
    found = find_android_library(contents, files)
    if found is None:
        return None
    target, file = found
    public = {each.path: each for each in files if each.path.startswith(_PUBLIC)}
    return make_part(
        target,
        file.path.removeprefix(f"{LIBRARIES}/"),
        read_bytes(file),
        {path: read_bytes(each) for path, each in public.items()},
        engine=contents.engine.digest,
    )


def read_exported(folder: Path) -> AarPart | None:
    """Raises InputError for a library that phones with the promised memory pages do not load."""
    text = (folder / RELEASE_FILE).read_text(encoding="utf-8")
    files = [
        from_path(path.relative_to(folder).as_posix(), path)
        for name in (HEADERS, LIBRARIES, LICENCES)
        for path in sorted((folder / name).rglob("*"))
        if path.is_file()
    ]
    contents = parse_contents(text, source=str(folder / RELEASE_FILE))
    part = collect_part(contents, files)
    if part is not None:
        shown = str(folder / LIBRARIES / part.library.file)
        if misfit := find_misfit(part.data, contents.toolchain.page_bytes, source=shown):
            raise InputError(misfit, hint=LINK_AGAIN)
    return part


def explain_missing(contents: ReleaseContents, files: Sequence[ReleaseFile]) -> str:
    found = find_android_library(contents, files)
    if found is None:
        return ""
    _, file = found
    runtime = find_cxx_runtime(read_bytes(file), source=file.path)
    if not runtime.exported:
        return ""
    names = ", ".join(runtime.exported[:3])
    besides = f" and needs {SHARED_RUNTIME}" if runtime.is_shared else ""
    return (
        f"there is no AAR: {file.path} exports the C++ runtime that is linked into it ({names})"
        f"{besides}, so an app with it has two C++ runtimes that take each other's calls; hide all "
        "but its own interface by a version script, or set toolchain.stl: c++_shared and link no "
        "static libc++"
    )


def find_android_library(
    contents: ReleaseContents, files: Iterable[ReleaseFile]
) -> tuple[AndroidTarget, ReleaseFile] | None:
    target = parse_target(contents.toolchain)
    paths = [each.path for each in contents.artifacts if each.kind is ArtifactKind.SHARED]
    found = [file for file in files if file.path in paths]
    return (target, found[0]) if target is not None and len(found) == len(paths) == 1 else None


def render_config(*, library: str, programs: Iterable[str], released: Container[str] = ()) -> str:
    """``released``: the paths of all artifacts, among them those of deferred functions."""
    parts = []
    if library:
        place = _locate(f"{LIBRARIES}/{library}", released)
        properties = place | {"INTERFACE_INCLUDE_DIRECTORIES": HEADERS}
        parts.append(_import_target("add_library", "shared", "SHARED IMPORTED", properties))
    for name in sorted(programs):
        place = _locate(f"{PROGRAMS}/{name}", released)
        parts.append(_import_target("add_executable", name, "IMPORTED", place))
    return "\n".join((_HEAD, *parts, _FOOT))


def _locate(path: str, released: Container[str]) -> dict[str, str]:
    rest = f"{path}{REST_SUFFIX}"
    return {"IMPORTED_LOCATION": path} | ({REST_PROPERTY: rest} if rest in released else {})


def _import_target(command: str, name: str, kind: str, properties: Mapping[str, str]) -> str:
    target = f"{PACKAGE}::{name}"
    lines = "".join(f'    {key} "${{{_ROOT}}}/{path}"\n' for key, path in properties.items())
    return f"""\
if(NOT TARGET {target})
  {command}({target} {kind})
  set_target_properties({target} PROPERTIES
{lines}  )
endif()
"""
