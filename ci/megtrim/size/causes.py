"""Why a file may differ from the baseline's: what it was made from, by cause. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum


class Cause(StrEnum):
    """What enters a build, in the order in which reports name it."""

    SOURCE = "source"
    KEEP_SET = "keep set"
    MODELS = "models"
    FLAGS = "flags"
    TOOLCHAIN = "toolchain"


_CAUSES = (
    (Cause.SOURCE, re.compile(r"engine|application .*")),
    (Cause.KEEP_SET, re.compile(r"keep set|header .*")),
    (Cause.MODELS, re.compile(r"model .*")),
    (Cause.TOOLCHAIN, re.compile(r"toolchain (?!compile flags|link flags).*")),
)
"""By the label of an input; any other is one of the flags."""
_FOLLOWS = re.compile(r"base|link .*")
"""Digests of what an earlier stage made of the others."""


def digest_causes(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return a digest of each cause, by the labelled inputs of what ships."""
    lines: dict[Cause, list[str]] = {cause: [] for cause in Cause}
    for label, value in sorted(inputs.items()):
        if not _FOLLOWS.fullmatch(label):
            lines[_find_cause(label)].append(f"{label}={value}")
    return {cause.value: _digest(found) for cause, found in lines.items()}


def list_causes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Cause, ...]:
    """Return what differs; nothing where the baseline does not say what it was made from."""
    return tuple(each for each in Cause if before and before.get(each) != after.get(each))


def _find_cause(label: str) -> Cause:
    return next((cause for cause, labels in _CAUSES if labels.fullmatch(label)), Cause.FLAGS)


def _digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:20]
