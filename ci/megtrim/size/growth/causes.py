"""Why a file may differ from the baseline's: what it was made from, by cause. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum


class Cause(StrEnum):
    """What enters a build, in the order in which reports name it."""

    SOURCE = "source"
    DEPENDENCIES = "dependencies"
    """Third parties in the engine's tree: its submodules, and folders that are called so."""
    KEEP_SET = "keep set"
    MODELS = "models"
    """Models and scenarios that came, went or changed, and what only they need."""
    FLAGS = "flags"
    """The configuration of the trim, and the engine's build files."""
    TOOLCHAIN = "toolchain"
    MEGTRIM = "megtrim"
    """Another version of megtrim, which may write other headers and give other flags."""


ORDERS = "orders"
"""What megtrim asked of the build. It follows from the causes, and explains nothing by itself."""

_CAUSES = (
    (Cause.SOURCE, re.compile(r"source files|application .*")),
    (Cause.DEPENDENCIES, re.compile(r"dependency .*")),
    (Cause.KEEP_SET, re.compile(r"keep set")),
    (Cause.MODELS, re.compile(r"scenario .*")),
    (Cause.FLAGS, re.compile(r"setting .*|build files")),
    (Cause.TOOLCHAIN, re.compile(r"toolchain (?!compile flags|link flags).*")),
    (Cause.MEGTRIM, re.compile(r"megtrim")),
)
"""By the label of an input; any other is an order."""
_FOLLOWS = re.compile(r"engine|base|link .*")
"""Digests of all that others name one by one, and of what earlier stages made of it."""


def digest_causes(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return a digest of each cause and of the orders, by the labelled inputs of what ships."""
    lines: dict[str, list[str]] = {cause: [] for cause in (*Cause, ORDERS)}
    for label, value in sorted(inputs.items()):
        if not _FOLLOWS.fullmatch(label):
            lines[find_cause(label) or ORDERS].append(f"{label}={value}")
    return {str(cause): digest("\n".join(found)) for cause, found in lines.items()}


def list_causes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Cause, ...]:
    """Return what differs; nothing where the baseline does not say what it was made from.

    A baseline of a megtrim that named fewer causes says too little. Other orders that follow from
    no cause are flags.
    """
    if Cause.MEGTRIM not in before:
        return ()
    found = tuple(each for each in Cause if before.get(each) != after.get(each))
    if not found and before.get(ORDERS) != after.get(ORDERS):
        return (Cause.FLAGS,)
    return found


def find_cause(label: str) -> Cause | None:
    """Return the cause that an input is part of; None: it is an order."""
    return next((cause for cause, labels in _CAUSES if labels.fullmatch(label)), None)


def digest(text: str) -> str:
    """Return 20 hex digits of a text's sha256."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:20]
