"""What other builds take a release by: its CMake package, and the parts of its AAR. Pure.

``find_package(MegEngineTrimmed)``: ``MegEngineTrimmed::shared`` is the library, with its headers;
``MegEngineTrimmed::NAME`` is the program of that name. Paths are relative to the file, so a release
may be moved.

The AAR holds a Prefab package whose module has the same name, so the same two lines of CMake find
the library on a desk and in an app. The forms are those of Prefab's second schema,
https://google.github.io/prefab/, whose reader refuses any key that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from megtrim.checks.check import ToolchainIdentity
from megtrim.release.contents import HEADERS, LIBRARIES, PROGRAMS
from megtrim.util.strict_json import dump

PACKAGE = "MegEngineTrimmed"
CONFIG_PATH = f"{LIBRARIES}/cmake/{PACKAGE}/{PACKAGE}Config.cmake"

_ROOT = "_megtrim_root"
_HEAD = f"""\
# Written by megtrim. Says where the files of this release are, relative to this one.
get_filename_component({_ROOT} "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
"""
_FOOT = f"unset({_ROOT})\n"


def render_config(*, library: str, programs: Iterable[str]) -> str:
    """Return the text of the package; ``library``: file of the shared library, empty without."""
    parts = [
        *([_render_library(library)] if library else []),
        *(_render_program(name) for name in sorted(programs)),
    ]
    return "\n".join((_HEAD, *parts, _FOOT))


def _render_library(file: str) -> str:
    properties = {
        "IMPORTED_LOCATION": f"{LIBRARIES}/{file}",
        "INTERFACE_INCLUDE_DIRECTORIES": HEADERS,
    }
    return "\n".join(_list_lines("add_library", "shared", "SHARED IMPORTED", properties))


def _render_program(name: str) -> str:
    properties = {"IMPORTED_LOCATION": f"{PROGRAMS}/{name}"}
    return "\n".join(_list_lines("add_executable", name, "IMPORTED", properties))


def _list_lines(command: str, name: str, kind: str, properties: dict[str, str]) -> Iterator[str]:
    target = f"{PACKAGE}::{name}"
    yield f"if(NOT TARGET {target})"
    yield f"  {command}({target} {kind})"
    yield f"  set_target_properties({target} PROPERTIES"
    yield from (f'    {key} "${{{_ROOT}}}/{path}"' for key, path in properties.items())
    yield "  )"
    yield "endif()\n"


AAR_PATH = f"android/{PACKAGE}.aar"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AndroidTarget:
    """The phones that a library is for."""

    abi: str
    api: int
    """API level of the oldest."""
    ndk: int
    """Major version of the NDK that built it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AndroidLibrary:
    """The shared library of one ABI."""

    target: AndroidTarget
    file: str
    stl: str
    """Prefab's name of the C++ runtime that an app shares with it."""


def parse_target(toolchain: ToolchainIdentity) -> AndroidTarget | None:
    """Return the phones that a toolchain builds for; None: it builds for none."""
    target, version = _TARGET.fullmatch(toolchain.target), _VERSION.match(toolchain.version)
    if toolchain.kind != _NDK or target is None or version is None:
        return None
    return AndroidTarget(
        abi=_TARGETS[target["machine"]], api=int(target["api"]), ndk=int(version["major"])
    )


def list_library_paths(library: AndroidLibrary) -> tuple[str, str]:
    """Return where a library is in the AAR: for the app's package, and for its linker."""
    folder = _folder_of(library)
    return f"jni/{library.target.abi}/{library.file}", f"{folder}/{library.file}"


def render_descriptions(libraries: Sequence[AndroidLibrary]) -> dict[str, str]:
    """Return the text of each file of the AAR that describes it, by its path.

    The libraries have equal names and are of different ABIs. The app must be for phones that all
    of them are for: any of them may be what a phone takes.
    """
    api = max(each.target.api for each in libraries)
    name = libraries[0].file.removesuffix(_SUFFIX)
    return {
        "AndroidManifest.xml": _MANIFEST.format(namespace=_NAMESPACE, api=api),
        "R.txt": "",
        # A version may be left out, and an engine's commit is none.
        f"{_TOP}/prefab.json": dump({"schema_version": 2, "name": PACKAGE, "dependencies": []}),
        f"{_MODULE}/module.json": dump({"export_libraries": [], "library_name": name}),
        **dict(_describe_abis(libraries)),
    }


def _describe_abis(libraries: Sequence[AndroidLibrary]) -> Iterator[tuple[str, str]]:
    for each in libraries:
        target = each.target
        facts = {"abi": target.abi, "api": target.api, "ndk": target.ndk}
        yield f"{_folder_of(each)}/abi.json", dump(facts | {"stl": each.stl, "static": False})


def _folder_of(library: AndroidLibrary) -> str:
    return f"{_MODULE}/libs/android.{library.target.abi}"
