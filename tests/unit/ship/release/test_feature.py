import ctypes
import platform
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.libs.elf.layout import AARCH64, X86_64, segments
from megtrim.libs.elf.pages import find_misfit
from megtrim.libs.elf.wrapper import CONTENT_OFFSET, wrap
from megtrim.ship.release.archive import read_bytes
from megtrim.ship.release.contents import ArtifactKind, ReleaseContents
from megtrim.ship.release.feature import collect_feature, compare_feature
from unit.libs.elf.made_objects import shared_library
from unit.ship.release.examples import as_files, contents, for_android

COMPANION = b"megtrim's deferred functions" * 100
FILES = {
    "lib/libengine.so": shared_library("LITE_run"),
    f"lib/libengine.so{REST_SUFFIX}": COMPANION,
}
MODULE = "android/megtrim_deferred"
LIBRARY = f"{MODULE}/src/main/jniLibs/arm64-v8a/libengine_deferred.so"
MANIFEST = "{http://schemas.android.com/apk/distribution}"


def deferred() -> ReleaseContents:
    said = for_android()
    shared = next(each for each in said.artifacts if each.kind is ArtifactKind.SHARED)
    companion = replace(shared, name=f"{shared.name}{REST_SUFFIX}", kind=ArtifactKind.REST)
    return replace(said, artifacts=(*said.artifacts, companion))


def make() -> dict[str, bytes]:
    return {each.path: read_bytes(each) for each in collect_feature(deferred(), as_files(FILES))}


def test_a_module_has_the_companion_file_as_a_native_library() -> None:
    files = make()
    library = files[LIBRARY]
    manifest = ET.fromstring(files[f"{MODULE}/src/main/AndroidManifest.xml"])
    delivery = manifest.find(f"{MANIFEST}module/{MANIFEST}delivery/{MANIFEST}on-demand")

    assert library[CONTENT_OFFSET:] == COMPANION
    assert find_misfit(library, 16 * 1024, source="it") == ""
    assert delivery is not None
    assert "minSdk = 23" in files[f"{MODULE}/build.gradle.kts"].decode()


def test_what_the_app_compiles_names_the_file_and_where_its_content_begins() -> None:
    files = make()
    code = files["android/DeferredCode.kt"].decode()

    assert 'FILE = "libengine_deferred.so"' in code
    assert f"CODE_OFFSET = {CONTENT_OFFSET}L" in code
    assert "Java_megtrim_trimmed_DeferredCode_take" in files["android/deferred_code.c"].decode()
    assert not any("@LIBRARY@" in text.decode("latin-1") for text in files.values())


@pytest.mark.parametrize(
    ("said", "files"),
    [
        pytest.param(contents(), FILES, id="not for Android"),
        pytest.param(for_android("armv7a-linux-androideabi16"), FILES, id="of 32 bits"),
        pytest.param(
            for_android(), {"lib/libengine.so": FILES["lib/libengine.so"]}, id="nothing deferred"
        ),
    ],
)
def test_nothing_else_has_a_module(said: ReleaseContents, files: dict[str, bytes]) -> None:
    assert collect_feature(said, as_files(files)) == ()


def test_a_module_of_another_companion_file_is_named() -> None:
    released = as_files(FILES)
    named = {each.path: each.sha256 for each in collect_feature(deferred(), released)}

    assert list(compare_feature(deferred(), released, named)) == []
    assert list(compare_feature(deferred(), released, named | {LIBRARY: "0" * 64})) == [
        f"{LIBRARY} is not made of this release's library and companion file"
    ]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the library is for x86-64")
def test_a_loader_takes_a_wrapped_file(tmp_path: Path) -> None:
    file = tmp_path / "libx.so"
    file.write_bytes(wrap(COMPANION, name="libx.so", machine=X86_64))

    ctypes.CDLL(str(file))


def test_a_wrapped_file_has_segments_for_its_tables_and_its_content() -> None:
    made = wrap(COMPANION, name="libx.so", machine=AARCH64)

    found = segments(made, source="it")
    assert [(each.offset, each.size_bytes) for each in found if each.offset >= CONTENT_OFFSET] == [
        (CONTENT_OFFSET, len(COMPANION))
    ]
