"""Components of files: the table of them is handed in with the engines."""

from functools import cache
from typing import Protocol

from megtrim.core.parts import find_parts, load


class Components(Protocol):
    def list_components(self) -> tuple[str, ...]:
        """Name those that a budget may limit, without what is within them."""

    def is_component(self, name: str) -> bool: ...

    def find_component(self, symbol: str, source: str) -> str:
        """Return whose bytes these are; empty without a symbol and a source file."""


def find_components() -> Components:
    return _load(find_parts().components)


@cache
def _load(place: str) -> Components:
    found: Components = load(place, "components of files")
    return found
