"""The AAR of a release: what Android's Gradle plugin and Prefab read from it. Pure.

The package and its module have the names of the CMake package, so the same two lines of CMake
find the library on a desk and in an app. The forms are those of Prefab's second schema,
https://google.github.io/prefab/, whose reader refuses any key that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from megtrim.release.cmake_package import PACKAGE
from megtrim.strict_json import dump
from megtrim.verdict.model import ToolchainIdentity

AAR_PATH = f"android/{PACKAGE}.aar"
_TOP = "prefab"
_MODULE = f"{_TOP}/modules/shared"
HEADERS_IN_AAR = f"{_MODULE}/include"
_SCHEMA = 2
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefabPackage:
    """prefab.json. A version may be left out, and an engine's commit is none."""

    schema_version: int = _SCHEMA
    name: str = PACKAGE
    dependencies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefabModule:
    """module.json."""

    export_libraries: tuple[str, ...] = ()
    library_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefabAbi:
    """abi.json, next to the library of an ABI."""

    abi: str
    api: int
    ndk: int
    stl: str
    static: bool = False


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
        f"{_TOP}/prefab.json": dump(PrefabPackage()),
        f"{_MODULE}/module.json": dump(PrefabModule(library_name=name)),
        **dict(_describe_abis(libraries)),
    }


def _describe_abis(libraries: Sequence[AndroidLibrary]) -> Iterator[tuple[str, str]]:
    for each in libraries:
        target = each.target
        abi = PrefabAbi(abi=target.abi, api=target.api, ndk=target.ndk, stl=each.stl)
        yield f"{_folder_of(each)}/abi.json", dump(abi)


def _folder_of(library: AndroidLibrary) -> str:
    return f"{_MODULE}/libs/android.{library.target.abi}"
