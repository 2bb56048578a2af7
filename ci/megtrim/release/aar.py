"""The AAR of a release: the Android library that an app's Gradle build takes the engine from.

Nothing in it is compressed, so its bytes are the same whoever makes it.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from megtrim.checks.check import ToolchainIdentity
from megtrim.elf.needed_libraries import SHARED_RUNTIME, find_cxx_runtime
from megtrim.elf.pages import LINK_AGAIN, find_misfit
from megtrim.release.archive import ReleaseFile, from_path, read_bytes
from megtrim.release.contents import (
    AAR_PATH,
    HEADERS,
    LIBRARIES,
    LICENCES,
    PACKAGE,
    PROGRAMS,
    RELEASE_FILE,
    ArtifactKind,
    ReleaseContents,
    parse_contents,
)
from megtrim.util.errors import InputError
from megtrim.util.strict_json import dump
from megtrim.util.value import Value

_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX, _MODE = 3, 0o100644
_CLASSES = "classes.jar"
CONFIG_PATH = f"{LIBRARIES}/cmake/{PACKAGE}/{PACKAGE}Config.cmake"

_ROOT = "_megtrim_root"
_HEAD = f"""\
# Written by megtrim. Says where the files of this release are, relative to this one.
get_filename_component({_ROOT} "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
"""
_FOOT = f"unset({_ROOT})\n"
_TOP = "prefab"
_MODULE = f"{_TOP}/modules/shared"
HEADERS_IN_AAR = f"{_MODULE}/include"
_NAMESPACE = "megtrim.trimmed"
_NDK = "ndk"
_TARGETS = {"aarch64-linux-android": "arm64-v8a", "armv7a-linux-androideabi": "armeabi-v7a"}
_TARGET = re.compile(rf"(?P<machine>{'|'.join(_TARGETS)})(?P<api>[1-9][0-9]{{0,3}})")
_VERSION = re.compile(r"NDK r(?P<major>[1-9][0-9]{0,2})(?![0-9])")
_SUFFIX = ".so"
_MANIFEST = """\
<?xml version="1.0" encoding="utf-8"?>
<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="{namespace}">
    <uses-sdk android:minSdkVersion="{api}" />
</manifest>
"""


class AndroidTarget(Value):
    abi: str
    api: int
    ndk: int


class AndroidLibrary(Value):
    target: AndroidTarget
    file: str
    stl: str
    """Prefab's name of the C++ runtime that an app shares with it."""


class AarPart(Value):
    engine: str
    library: AndroidLibrary
    data: bytes
    others: Mapping[str, bytes]


def collect_aar(contents: ReleaseContents, files: Sequence[ReleaseFile]) -> ReleaseFile | None:
    """None where there is no single shared library for Android, or no app can link it."""
    part = collect_part(contents, files)
    if part is None:
        return None
    data = make_aar([part])
    return ReleaseFile(path=AAR_PATH, source=data, sha256=hashlib.sha256(data).hexdigest())


def collect_part(contents: ReleaseContents, files: Sequence[ReleaseFile]) -> AarPart | None:
    found = _find_library(contents, files)
    if found is None:
        return None
    target, file = found
    data = read_bytes(file)
    runtime = find_cxx_runtime(data, source=file.path)
    if runtime.exported:
        return None  # Prefab lets no app link a shared library whose own runtime can be seen.
    stl = "c++_shared" if runtime.is_shared else "none"
    name = file.path.removeprefix(f"{LIBRARIES}/")
    return AarPart(
        engine=contents.engine.digest,
        library=AndroidLibrary(target=target, file=name, stl=stl),
        data=data,
        others={
            (each.path if folder == LICENCES else f"{HEADERS_IN_AAR}/{rest}"): read_bytes(each)
            for each in files
            for folder, _, rest in [each.path.partition("/")]
            if folder in (HEADERS, LICENCES)
        },
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
    found = _find_library(contents, files)
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


def make_aar(parts: Sequence[AarPart]) -> bytes:
    """Raises InputError for parts that do not go together."""
    _expect_joinable(parts)
    files: dict[str, bytes] = {_CLASSES: _zip({"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\n"})}
    for part in parts:
        files |= part.others
        files |= dict.fromkeys(list_library_paths(part.library), part.data)
    texts = render_descriptions([part.library for part in parts])
    return _zip(files | {path: text.encode() for path, text in texts.items()})


def _find_library(
    contents: ReleaseContents, files: Iterable[ReleaseFile]
) -> tuple[AndroidTarget, ReleaseFile] | None:
    target = parse_target(contents.toolchain)
    paths = [each.path for each in contents.artifacts if each.kind is ArtifactKind.SHARED]
    found = [file for file in files if file.path in paths]
    return (target, found[0]) if target is not None and len(found) == len(paths) == 1 else None


def _expect_joinable(parts: Sequence[AarPart]) -> None:
    first = parts[0]
    abis = [part.library.target.abi for part in parts]
    for each, abi in zip(parts, abis, strict=True):
        if abis.count(abi) > 1:
            msg = f"{abi} is there twice, and an AAR holds one library of each ABI"
            raise InputError(msg, hint="name one release of each ABI")
        if (each.engine, each.others.keys()) != (first.engine, first.others.keys()):
            msg = f"the releases for {abis[0]} and {abi} are of two engines"
            raise InputError(msg, hint="release all of them from one commit of the engine")
        if each.library.file != first.library.file:
            msg = f"found {first.library.file} and {each.library.file}, expected one library"
            raise InputError(msg, hint="name the same shared library in `artifacts` of all")


def _zip(files: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(files):
            info = zipfile.ZipInfo(path, _TIME)
            info.create_system, info.external_attr = _UNIX, _MODE << 16
            archive.writestr(info, files[path])
    return stream.getvalue()


def render_config(*, library: str, programs: Iterable[str]) -> str:
    parts = []
    if library:
        place = {"IMPORTED_LOCATION": f"{LIBRARIES}/{library}"}
        properties = place | {"INTERFACE_INCLUDE_DIRECTORIES": HEADERS}
        parts.append(_import_target("add_library", "shared", "SHARED IMPORTED", properties))
    for name in sorted(programs):
        place = {"IMPORTED_LOCATION": f"{PROGRAMS}/{name}"}
        parts.append(_import_target("add_executable", name, "IMPORTED", place))
    return "\n".join((_HEAD, *parts, _FOOT))


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


def parse_target(toolchain: ToolchainIdentity) -> AndroidTarget | None:
    target, version = _TARGET.fullmatch(toolchain.target), _VERSION.match(toolchain.version)
    if toolchain.kind != _NDK or target is None or version is None:
        return None
    return AndroidTarget(
        abi=_TARGETS[target["machine"]], api=int(target["api"]), ndk=int(version["major"])
    )


def list_library_paths(library: AndroidLibrary) -> tuple[str, str]:
    folder = _folder_of(library)
    return f"jni/{library.target.abi}/{library.file}", f"{folder}/{library.file}"


def render_descriptions(libraries: Sequence[AndroidLibrary]) -> dict[str, str]:
    api = max(library.target.api for library in libraries)
    name = libraries[0].file.removesuffix(_SUFFIX)
    return {
        "AndroidManifest.xml": _MANIFEST.format(namespace=_NAMESPACE, api=api),
        "R.txt": "",
        # A version may be left out, and an engine's commit is none.
        f"{_TOP}/prefab.json": dump({"schema_version": 2, "name": PACKAGE, "dependencies": []}),
        f"{_MODULE}/module.json": dump({"export_libraries": [], "library_name": name}),
        **{
            f"{_folder_of(library)}/abi.json": dump(
                {
                    "abi": library.target.abi,
                    "api": library.target.api,
                    "ndk": library.target.ndk,
                    "stl": library.stl,
                    "static": False,
                }
            )
            for library in libraries
        },
    }


def _folder_of(library: AndroidLibrary) -> str:
    return f"{_MODULE}/libs/android.{library.target.abi}"
