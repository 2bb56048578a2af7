import hashlib
import io
import json
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from megtrim.core.size.aar_format import (
    AarPart,
    AndroidLibrary,
    AndroidTarget,
    is_made_of,
    make_aar,
    parse_target,
    render_descriptions,
)
from megtrim.libs.elf.needed_libraries import CxxRuntime
from megtrim.libs.util.errors import InputError
from megtrim.ship.release.aar import collect_aar, collect_part, explain_missing, render_config
from megtrim.ship.release.contents import AAR_PATH, ArtifactKind
from support.prefab import PrefabLibrary, PrefabModule, read_package, unzip
from unit.libs.elf.made_objects import shared_library
from unit.ship.release.examples import as_files, contents, for_android

ARMV7 = "armv7a-linux-androideabi16"
LIBRARY = shared_library("LITE_run")
FILES = {
    "include/lite/network.h": b"#pragma once\n",
    "lib/libengine.so": LIBRARY,
    "bin/load_and_run": b"program",
    "licences/LICENSE": b"Apache-2.0\n",
    "licences/third_party/flat/COPYING.txt": b"BSD\n",
}
MANIFEST = "http://schemas.android.com/apk/res/android"


def part(*target: str, **changes: bytes) -> AarPart:
    found = collect_part(for_android(*target), as_files(FILES | changes))
    assert found is not None
    return found


def aar() -> bytes:
    found = collect_aar(for_android(), as_files(FILES))
    assert found is not None
    assert isinstance(found.source, bytes)
    assert (found.path, found.sha256) == (AAR_PATH, hashlib.sha256(found.source).hexdigest())
    return found.source


def test_prefab_finds_library_and_headers() -> None:
    files = unzip(aar())
    name, modules = read_package(files)
    path = "modules/shared/libs/android.arm64-v8a/libengine.so"

    assert name == "MegEngineTrimmed"
    assert modules == {
        "shared": PrefabModule(
            headers=frozenset({"lite/network.h"}),
            libraries={"arm64-v8a": PrefabLibrary(path=path, api=23, ndk=21, stl="none")},
        )
    }
    assert files[f"prefab/{path}"] == LIBRARY


def test_it_is_an_android_library() -> None:
    files = unzip(aar())
    manifest = ET.fromstring(files["AndroidManifest.xml"])

    assert manifest.get("package") == "megtrim.trimmed"
    assert [each.attrib for each in manifest] == [{f"{{{MANIFEST}}}minSdkVersion": "23"}]
    assert unzip(files["classes.jar"]).keys() == {"META-INF/MANIFEST.MF"}
    assert {path for path in files if not path.startswith("prefab/")} == {
        "AndroidManifest.xml",
        "R.txt",
        "classes.jar",
        "licences.txt",
    }
    assert files["licences.txt"] == (
        b"==> licences/LICENSE <==\nApache-2.0\n\n"
        b"==> licences/third_party/flat/COPYING.txt <==\nBSD\n"
    )


def test_its_bytes_follow_from_its_files() -> None:
    again = collect_aar(for_android(), as_files(dict(reversed(FILES.items()))))

    assert again is not None
    assert again.source == aar()
    with zipfile.ZipFile(io.BytesIO(aar())) as archive:
        infos = archive.infolist()
    assert [each.filename for each in infos] == sorted(each.filename for each in infos)
    assert {(each.date_time, each.compress_type, each.external_attr) for each in infos} == {
        ((1980, 1, 1, 0, 0, 0), zipfile.ZIP_DEFLATED, 0o100644 << 16)
    }


def packed(data: bytes, level: int = 9, extra: bytes = b"") -> bytes:
    """The same files, written by Python's own writer of zip files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, content in unzip(data).items():
            info = zipfile.ZipInfo(path)
            info.external_attr = 0o100644 << 16
            info.extra = extra
            info.flag_bits = 1 << 11
            archive.writestr(info, content, zipfile.ZIP_DEFLATED, level)
    return stream.getvalue().replace(b"\0\0\x08\0\0\0\x21\0", b"\0\x08\x08\0\0\0\x21\0")


def edited(data: bytes, old: bytes, new: bytes, count: int = -1) -> bytes:
    assert old in data
    return data.replace(old, new, count)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda data: data, True),
        (packed, True),
        (lambda data: packed(data, level=1), True),
        (lambda data: packed(data, extra=b"xx\0\0"), False),
        (lambda data: packed(data, level=0)[:-1], False),
        (lambda data: b"", False),
        (lambda data: data + b"\0", False),
        (lambda data: b"\0" + data, False),
        (lambda data: edited(data, b"R.txt", b"r.txt", 1), False),
        (lambda data: edited(data, b"R.txt", b"r.txt"), False),
        (lambda data: data[: data.index(b"PK\1\2")], False),
    ],
    ids=[
        "the same",
        "written by others",
        "another zlib",
        "an extra field",
        "cut",
        "empty",
        "more after it",
        "more before it",
        "two names",
        "another name",
        "no directory",
    ],
)
def test_it_is_known_whichever_zlib_compressed_it(
    change: Callable[[bytes], bytes], expected: bool
) -> None:
    assert is_made_of(change(aar()), part()) is expected


def test_an_aar_of_other_files_is_not_taken_for_it() -> None:
    assert not is_made_of(aar(), part(**{"include/lite/network.h": b"#pragma twice\n"}))
    assert not is_made_of(aar(), part(**{"licences/MORE": b""}))


def test_one_library_for_each_abi() -> None:
    files = unzip(make_aar([part(), part(ARMV7)]))
    _, modules = read_package(files)

    assert modules["shared"].libraries.keys() == {"arm64-v8a", "armeabi-v7a"}


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (part(), "arm64-v8a occurs twice"),
        (replace(part(ARMV7), engine="e" * 64), "arm64-v8a and armeabi-v7a are from two engines"),
        (part(ARMV7, **{"include/more.h": b""}), "are from two engines"),
        (
            replace(part(ARMV7), library=replace(part(ARMV7).library, file="libother.so")),
            "found libengine.so and libother.so",
        ),
    ],
)
def test_parts_that_do_not_go_together_are_refused(second: AarPart, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        make_aar([part(), second])


def test_a_library_that_no_app_can_link_is_in_no_aar() -> None:
    files = as_files(FILES | {"lib/libengine.so": shared_library("LITE_run", "_Znwm")})

    assert collect_aar(for_android(), files) is None
    assert "lib/libengine.so exports the C++ runtime that is linked into it (_Znwm), so an app" in (
        explain_missing(for_android(), files)
    )


def test_two_runtimes_are_named_as_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    both = CxxRuntime(is_shared=True, exported=("_Znwm",))
    for module in ("megtrim.core.size.aar_format", "megtrim.ship.release.aar"):
        monkeypatch.setattr(f"{module}.find_cxx_runtime", lambda *_, **__: both)

    assert collect_aar(for_android(), as_files(FILES)) is None
    said = explain_missing(for_android(), as_files(FILES))
    assert "(_Znwm) and needs libc++_shared.so, so an app with it has two C++ runtimes" in said


def test_only_a_library_for_android_is_in_one() -> None:
    programs = tuple(each for each in for_android().artifacts if each.kind is ArtifactKind.PROGRAM)
    twice = tuple(each for each in for_android().artifacts if each.kind is ArtifactKind.SHARED) * 2

    for each in (
        contents(),
        *(replace(for_android(), artifacts=some) for some in (programs, twice)),
    ):
        assert collect_aar(each, as_files(FILES)) is None
        assert explain_missing(each, as_files(FILES)) == ""


CMAKE = """\
if(NOT TARGET MegEngineTrimmed::shared)
  add_library(MegEngineTrimmed::shared SHARED IMPORTED)
  set_target_properties(MegEngineTrimmed::shared PROPERTIES
    IMPORTED_LOCATION "${_megtrim_root}/lib/libengine.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_megtrim_root}/include"
  )
endif()
"""


def test_a_cmake_package_has_targets_for_what_is_there() -> None:
    text = render_config(library="", programs=["viewer", "load_and_run"])

    assert CMAKE in render_config(library="libengine.so", programs=())
    assert text == render_config(library="", programs=["load_and_run", "viewer"])
    assert text.index("MegEngineTrimmed::load_and_run") < text.index("MegEngineTrimmed::viewer")
    assert "shared" not in text


ON_ARM64 = AndroidTarget(abi="arm64-v8a", api=23, ndk=21)
ON_ARMV7 = AndroidTarget(abi="armeabi-v7a", api=16, ndk=21)


ON_NDK = for_android().toolchain


def library(target: AndroidTarget) -> AndroidLibrary:
    return AndroidLibrary(target=target, file="libengine.so", stl="none")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ON_ARM64),
        ({"target": ARMV7}, ON_ARMV7),
        ({"version": "NDK r21 (stand-in), clang"}, ON_ARM64),
        ({"kind": "zig", "target": "aarch64-linux-musl", "version": "0.13"}, None),
        ({"target": "aarch64-linux-android"}, None),
        ({"target": "riscv64-linux-android35"}, None),
        ({"version": "clang 14"}, None),
    ],
)
def test_the_phones_that_a_toolchain_builds_for(
    changes: dict[str, Any], expected: AndroidTarget | None
) -> None:
    assert parse_target(replace(ON_NDK, **changes)) == expected


def test_an_app_is_for_phones_that_every_library_is_for() -> None:
    """A phone takes the library of its own ABI, whatever the app was tried with."""
    texts = render_descriptions([library(ON_ARMV7), library(ON_ARM64)])

    assert 'android:minSdkVersion="23"' in texts["AndroidManifest.xml"]
    said = json.loads(texts["prefab/modules/shared/libs/android.armeabi-v7a/abi.json"])
    assert said == {"abi": "armeabi-v7a", "api": 16, "ndk": 21, "stl": "none", "static": False}
