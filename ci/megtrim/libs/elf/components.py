"""Components of a file that are there in any program, by what has no name of its own. Pure."""

from collections.abc import Iterable

from megtrim.libs.elf.sections import NAMED, Purpose

OTHER = "other"
"""What has a name that no row knows."""
UNNAMED = (*map(str, Purpose), *(f"unexplained {purpose}" for purpose in sorted(NAMED)))
"""What has no name has its purpose instead."""


def is_unnamed(component: str) -> bool:
    return component in UNNAMED


def are_unnamed(components: Iterable[str]) -> bool:
    return all(map(is_unnamed, components))
