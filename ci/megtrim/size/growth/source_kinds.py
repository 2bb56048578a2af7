"""What a file of an engine's tree is to the program: source, third party, build file. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from pathlib import PurePosixPath

_THIRD_PARTY = re.compile(
    r"(?:(?:.*/)?(?:third[_-]?part(?:y|ies)|3rd[_-]?party|external|vendor|deps)/[^/]+)(?=/)"
)
_BUILD_FILE = re.compile(
    r"(?:.*/)?(?:CMakeLists\.txt|.*\.cmake|Makefile|BUILD|.*\.(?:mk|bzl|bazel))"
)
_NO_SOURCE = re.compile(
    r"(?:.*/)?(?:\.git[^/]*(?:/.*)?|\.clang-[^/]*|(?:LICEN[CS]E|NOTICE|README|CHANGELOG)[^/]*"
    r"|.*\.(?:md|rst))"
)
_NAMED_SOURCE = re.compile(r"[\w./${}+-]+\.(?:c|cc|cpp|cxx|cu|h|hh|hpp|inl|s|S)\b")
_COMMENT = re.compile(r"(?m)#.*$")


class SourceKind(StrEnum):
    """What a file is."""

    SOURCE = "source"
    DEPENDENCY = "dependency"
    BUILD = "build"
    """A file that says how to build."""
    OTHER = "other"
    """It enters no program, such as a licence."""


def find_kind(path: str, submodules: Collection[str] = ()) -> SourceKind:
    """Return what the file at a path of the tree is."""
    if find_dependency(path, submodules):
        return SourceKind.DEPENDENCY
    if _BUILD_FILE.fullmatch(path):
        return SourceKind.BUILD
    return SourceKind.OTHER if _NO_SOURCE.fullmatch(path) else SourceKind.SOURCE


def find_dependency(path: str, submodules: Collection[str] = ()) -> str:
    """Return the folder of the third party that a file belongs to; empty if it is the engine's."""
    for parent in PurePosixPath(path).parents:
        if str(parent) in submodules:
            return str(parent)
    found = _THIRD_PARTY.match(path)
    return found[0] if found else ""


def strip_sources(text: str) -> str:
    """Return a build file without comments, and without the names of sources.

    A source file that came or went is one of the sources, not another way to build.
    """
    return " ".join(_NAMED_SOURCE.sub("", _COMMENT.sub("", text)).split())
