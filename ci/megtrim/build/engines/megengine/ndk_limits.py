"""Which NDKs build MegEngine, as data: those known to fail are rejected before a build. Pure.

The engine itself suggests r20 or r21. Complete builds were seen with the parts of r22 and clang 14;
other releases between the limits are allowed, although they were not tried.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from megtrim.build_spec import Toolchain
from megtrim.util.errors import InputError

_RELEASE = re.compile(r"^NDK r(\d+)")
_CLANG = re.compile(r"\bclang version (\d+)\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NdkLimit:
    """Limits of a number in the toolchain's version, and why others are rejected."""

    what: str
    pattern: re.Pattern[str]
    lowest: int
    highest: int
    wrong: str
    seen: str


LIMITS = (
    NdkLimit(
        what="NDK r{}",
        pattern=_RELEASE,
        lowest=20,
        highest=99,
        wrong="is too old for this engine",
        seen="the engine's own page on building suggests r20 or r21",
    ),
    NdkLimit(
        what="clang {} of the NDK",
        pattern=_CLANG,
        lowest=0,
        highest=18,
        wrong="is too new for this engine: it rejects the flatbuffers that the engine bundles",
        seen="clang 19 on Linux: -Werror, a deprecated declaration; clang 14 accepts them",
    ),
)


def check(toolchain: Toolchain) -> None:
    """Raise InputError if this NDK is known not to build the engine."""
    for limit in LIMITS:
        found = limit.pattern.search(toolchain.version)
        if found is None or limit.lowest <= int(found[1]) <= limit.highest:
            continue
        msg = f"{limit.what.format(found[1])} {limit.wrong}"
        raise InputError(msg, hint=f"use NDK r21e, which the engine suggests ({limit.seen})")
