"""Reads a Prefab package by its documented rules, as strictly as Prefab's own reader.

https://google.github.io/prefab/ documents the second schema; what is refused beyond that was read
in the sources of Prefab 2.1.
"""

import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

ABIS = {"armeabi-v7a", "arm64-v8a", "riscv64", "x86", "x86_64"}
STLS = {
    "c++_shared",
    "c++_static",
    "gnustl_shared",
    "gnustl_static",
    "none",
    "stlport_shared",
    "stlport_static",
    "system",
}
VERSION = re.compile(r"\d+(\.\d+(\.\d+(\.\d+)?)?)?")
OWN_RUNTIME = {"none", "system"}


@dataclass(frozen=True, kw_only=True)
class PrefabLibrary:
    path: str
    api: int
    ndk: int
    stl: str


@dataclass(frozen=True, kw_only=True)
class PrefabModule:
    headers: frozenset[str]
    libraries: Mapping[str, PrefabLibrary]


def unzip(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert len({*names}) == len(names)
        return {name: archive.read(name) for name in names}


def read_object(data: bytes, *, required: set[str], optional: set[str]) -> dict[str, Any]:
    """Return an object with these keys and no other."""
    found: dict[str, Any] = json.loads(data)
    assert required <= found.keys() <= required | optional
    return found


def read_package(files: Mapping[str, bytes]) -> tuple[str, dict[str, PrefabModule]]:
    inner = {
        PurePosixPath(path).relative_to("prefab"): data
        for path, data in files.items()
        if path.startswith("prefab/")
    }
    package = read_object(
        inner[PurePosixPath("prefab.json")],
        required={"schema_version", "name", "dependencies"},
        optional={"version"},
    )
    assert package["schema_version"] == 2
    assert package["dependencies"] == []
    assert VERSION.fullmatch(package.get("version", "1"))
    names = {path.parts[1] for path in inner if path.parts[0] == "modules"}
    assert names
    return package["name"], {name: _read_module(PurePosixPath("modules", name), inner)
                             for name in names}  # fmt: skip


def _read_module(folder: PurePosixPath, files: Mapping[PurePosixPath, bytes]) -> PrefabModule:
    module = read_object(
        files[folder / "module.json"],
        required=set(),
        optional={"export_libraries", "library_name", "android"},
    )
    assert module.get("export_libraries", []) == []
    name = module.get("library_name", f"lib{folder.name}")
    libs = folder / "libs"
    assert all(len(path.relative_to(libs).parts) > 1 for path in files if libs in path.parents)
    folders = {libs / path.relative_to(libs).parts[0] for path in files if libs in path.parents}
    include = folder / "include"
    headers = (str(path.relative_to(include)) for path in files if include in path.parents)
    return PrefabModule(
        headers=frozenset(headers),
        libraries=dict(_read_library(each, name, files) for each in sorted(folders)),
    )


def _read_library(
    folder: PurePosixPath, name: str, files: Mapping[PurePosixPath, bytes]
) -> tuple[str, PrefabLibrary]:
    platform, _, identifier = folder.name.partition(".")
    assert platform == "android"
    assert identifier
    abi = read_object(
        files[folder / "abi.json"], required={"abi", "api", "ndk", "stl"}, optional={"static"}
    )
    assert abi["abi"] in ABIS
    assert isinstance(abi["api"], int)
    assert isinstance(abi["ndk"], int)
    assert abi["stl"] in STLS
    library = folder / f"{name}.{'a' if abi.get('static') else 'so'}"
    assert library in files
    # What no app can link: Prefab refuses a shared library with a static runtime everywhere.
    assert abi["stl"] in OWN_RUNTIME or abi["stl"].endswith("_shared")
    return abi["abi"], PrefabLibrary(
        path=str(library), api=abi["api"], ndk=abi["ndk"], stl=abi["stl"]
    )
