"""What of an engine's tree a release and an AAR hold: headers and licences, as they are there."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from megtrim.core.build_spec import HEADERS, LICENCES, EngineLibrary
from megtrim.places.compile.projects.checkout import Checkout

_HEADER_SUFFIXES = frozenset({".h", ".hh", ".hpp", ".inc", ".inl"})
_SOURCE_SUFFIXES = _HEADER_SUFFIXES | {
    ".c",
    ".cc",
    ".cpp",
    ".cxx",
    ".cu",
    ".cuh",
    ".cmake",
    ".go",
    ".java",
    ".js",
    ".py",
    ".rs",
    ".s",
    ".sh",
    ".ts",
}
_LICENCE_NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "PATENTS")


def list_public_files(checkout: Checkout, library: EngineLibrary | None) -> dict[str, str]:
    """Return the path in the tree of each file, by that in a release: ``include/lite/network.h``.

    Headers are those of ``library``.
    """
    found: dict[str, str] = {}
    for path, name in () if library is None else _list_headers(checkout, library):
        found.setdefault(f"{HEADERS}/{path}", name)
    found |= {f"{LICENCES}/{name}": name for name in _list_licences(checkout)}
    return {path: name for path, name in found.items() if not (checkout.root / name).is_symlink()}


def _list_headers(checkout: Checkout, library: EngineLibrary) -> Iterator[tuple[str, str]]:
    for folder in library.include:
        for name in sorted(checkout.files):
            path = PurePosixPath(name)
            if path.is_relative_to(folder) and path.suffix in _HEADER_SUFFIXES:
                yield str(path.relative_to(folder)), name
    for path_there, name in library.copies:
        if name in checkout.files:
            yield path_there, name


def _list_licences(checkout: Checkout) -> Iterator[str]:
    for name in sorted(checkout.files):
        path = PurePosixPath(name)
        named_so = path.name.upper().startswith(_LICENCE_NAMES)
        # Code that handles licences is none: a private engine's must not be published.
        if named_so and path.suffix.lower() not in _SOURCE_SUFFIXES:
            yield name
