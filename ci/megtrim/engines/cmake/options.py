"""Which CMake options a tree has, read from its own CMake files.

CMake accepts any ``-DNAME=`` and prints nothing if no file uses it: the build is the same, and
nothing fails. So options are looked up here before a build begins.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from megtrim.engines.checkout import Checkout
from megtrim.engines.cmake.parser import CMakeVariables, names
from megtrim.errors import InputError

_FREE = "CMAKE_PROJECT_INCLUDE, which megtrim leaves to you"

SET_BY_MEGTRIM: Mapping[str, str] = {
    "CMAKE_PROJECT_MegEngine_INCLUDE": _FREE,
    "CMAKE_PROJECT_sample_engine_INCLUDE": _FREE,
    "CMAKE_TOOLCHAIN_FILE": "the section toolchain in its place",
    "MGE_BIN_REDUCE": "no such key: megtrim passes the header that it makes",
    "MGE_WITH_MIDOUT_PROFILE": "no such key: megtrim switches it on in the profile build",
    "MGE_WITH_MINIMUM_SIZE": "the key trim.minimum_size in its place",
}
"""Options that megtrim sets itself, and what to write in their place."""

_FOREIGN = "third_party/"
_CMAKES_OWN = re.compile(
    r"(?:CMAKE|ANDROID|CPACK|CTEST|FETCHCONTENT)_\w+|BUILD_SHARED_LIBS|BUILD_TESTING", re.ASCII
)
_PACKAGE_PLACES = ("ROOT", "DIR")
_CLOSE = 0.6
_MOST_FILES = 5000
_LARGEST_FILE_BYTES = 2**20
_MOST_BYTES = 2**25


class TreeOptions:
    """The options of one checkout. Files are read when first needed."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        files = sorted(n for n in checkout.files if n.endswith((".cmake", "CMakeLists.txt")))
        # Bundled projects have thousands of options; they are read only if nothing else helps.
        self._unread = [
            [name for name in files if not name.startswith(_FOREIGN)],
            [name for name in files if name.startswith(_FOREIGN)],
        ]
        self._declared: dict[str, str] = {}
        self._effective: set[str] = set()
        self._packages: set[str] = set()

    @property
    def declared(self) -> Mapping[str, str]:
        """Options that the engine's own files declare, each with its place, ``FILE:LINE``."""
        if len(self._unread) > 1:
            self._read_more()
        return self._declared

    def knows(self, name: str) -> bool:
        """Return whether passing this option can change anything."""
        if _CMAKES_OWN.fullmatch(name):
            return True
        while not self._holds(name) and self._unread:
            self._read_more()
        return self._holds(name)

    def closest(self, name: str) -> str:
        """Return the declared option that was probably meant, or an empty text."""
        found = difflib.get_close_matches(name[:80], sorted(self.declared), n=1, cutoff=_CLOSE)
        return found[0] if found else ""

    def filter_known(self, options: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Return megtrim's own options without those that the tree does not have.

        Raises InputError for a missing one that must be ON: its purpose cannot be met.
        """
        pairs = tuple(options)
        for name, value in pairs:
            if value == "ON" and not self.knows(name):
                msg = f"{self._checkout.root} has no CMake option {name}, which megtrim needs"
                raise InputError(msg, hint="is it a complete checkout of a release from 1.0 on?")
        return tuple((name, value) for name, value in pairs if self.knows(name))

    def _holds(self, name: str) -> bool:
        prefix, _, place = name.rpartition("_")
        at_package = place in _PACKAGE_PLACES and prefix in self._packages
        return at_package or name in self._declared or name in self._effective

    def _read_more(self) -> None:
        size = 0
        for name in self._unread.pop(0)[:_MOST_FILES]:
            text = self._checkout.text(name, most_bytes=_LARGEST_FILE_BYTES)
            size += len(text)
            if size > _MOST_BYTES:
                break
            self._take(name, names(text))

    def _take(self, name: str, found: CMakeVariables) -> None:
        for option, line in found.declared.items():
            self._declared.setdefault(option, f"{name}:{line}")
        self._effective |= found.effective
        self._packages |= found.packages
