"""A feature module for Google Play, which delivers the deferred functions of a library on demand.

Google Play lets code come after an app's installation only as part of such a module, and there
only as a native library. So the companion file is wrapped in one. Pure.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files as package_files

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.size.aar_format import AndroidTarget
from megtrim.libs.elf.layout import AARCH64
from megtrim.libs.elf.wrapper import CONTENT_OFFSET, wrap
from megtrim.ship.release.aar import find_android_library
from megtrim.ship.release.archive import ReleaseFile, read_bytes
from megtrim.ship.release.contents import FEATURE, SHARED_SUFFIX, ReleaseContents

_FOLDER, _, _MODULE = FEATURE.rpartition("/")
_SOURCES = f"{FEATURE}/src/main"
_TEXTS = {
    "build.gradle.kts": f"{FEATURE}/build.gradle.kts",
    "AndroidManifest.xml": f"{_SOURCES}/AndroidManifest.xml",
    "DeferredCode.kt": f"{_FOLDER}/DeferredCode.kt",
    "deferred_code.c": f"{_FOLDER}/deferred_code.c",
}
"""Where the texts of this package stand in a release."""
_ABI = "arm64-v8a"
"""The only one that functions are deferred for."""


def is_feature(path: str) -> bool:
    """Tell whether a path of a release is one that :func:`collect_feature` may write."""
    return path in _TEXTS.values() or path.startswith(f"{_SOURCES}/jniLibs/{_ABI}/")


def collect_feature(
    contents: ReleaseContents, files: Sequence[ReleaseFile]
) -> tuple[ReleaseFile, ...]:
    """Return the module and the app's part of it; empty: no library for Android is deferred."""
    found = find_android_library(contents, files)
    if found is None:
        return ()
    target, library = found
    companion = next((each for each in files if each.path == f"{library.path}{REST_SUFFIX}"), None)
    if companion is None or target.abi != _ABI:
        return ()
    name = library.path.rpartition("/")[2]
    content = _make_files(name, target, read_bytes(companion))
    return tuple(
        ReleaseFile(path=path, source=data, sha256=hashlib.sha256(data).hexdigest())
        for path, data in content.items()
    )


def compare_feature(
    contents: ReleaseContents, files: Sequence[ReleaseFile], named: Mapping[str, str]
) -> Iterator[str]:
    """Yield what a feature module in a release is not made of. ``named``: digests by path."""
    held = {*filter(is_feature, named)}
    if not held:
        return  # an earlier version of megtrim made the release
    made = {each.path: each.sha256 for each in collect_feature(contents, files)}
    for path in sorted(held | made.keys()):
        if named.get(path) != made.get(path):
            yield f"{path} is not made of this release's library and companion file"


def _make_files(library: str, target: AndroidTarget, companion: bytes) -> dict[str, bytes]:
    file = f"{library.removesuffix(SHARED_SUFFIX)}_deferred{SHARED_SUFFIX}"
    values = {
        "@LIBRARY@": library,
        "@MODULE@": _MODULE,
        "@FILE@": file,
        "@OFFSET@": f"{CONTENT_OFFSET}",
        "@API@": f"{target.api}",
    }
    made = {path: _fill_in(name, values).encode() for name, path in _TEXTS.items()}
    made[f"{_SOURCES}/jniLibs/{_ABI}/{file}"] = wrap(companion, name=file, machine=AARCH64)
    return made


def _fill_in(name: str, values: Mapping[str, str]) -> str:
    place = package_files("megtrim.ship.release") / "feature_module" / name
    text = place.read_text("utf-8")
    for key, value in values.items():
        text = text.replace(key, value)
    return text
