"""Means against size beyond the recipe: which may be used, and what they are to a build. Pure.

``trim.optimize: size`` takes the first value of each that this toolchain and these switches
allow; what ``trim.means`` says by name is taken or refused, never passed over. Flags were tried
with clang 14 and lld 14, with zig 0.17, and with g++ 12.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from megtrim.build_spec import (
    LOADED_FROM,
    PACKED,
    BuildSpec,
    Relocations,
    SourceOptions,
    Switch,
    Toolchain,
)
from megtrim.config.model import TrimConfig


class SizeFlag(StrEnum):
    """The means, by their keys in megtrim.yaml."""

    UNWIND_TABLES = "unwind_tables"
    SMALL_CODE = "small_code"
    LTO = "lto"
    FOLD = "fold"
    VIRTUAL_FUNCTIONS = "virtual_functions"
    RELOCATIONS = "relocations"


OF_SIZE: Mapping[SizeFlag, tuple[str, ...]] = {
    SizeFlag.UNWIND_TABLES: ("false",),
    SizeFlag.SMALL_CODE: ("Oz", "Os"),
    SizeFlag.LTO: ("full",),
    SizeFlag.FOLD: ("all",),
    SizeFlag.VIRTUAL_FUNCTIONS: ("false",),
    SizeFlag.RELOCATIONS: (Relocations.RELR, Relocations.ANDROID),
}
"""What ``optimize: size`` wants of each, the best first."""

_AS_IT_IS = ("true", "none")
"""Values that ask for nothing beyond the recipe."""

_WITH_LLD = ("zig", "clang-linux-arm64", "ndk")
_OZ_OF_GCC = 12
_GCC = re.compile(r" (\d{1,3})\.\d+\.\d+\b")

RELAXED = ("-fno-math-errno", "-funsafe-math-optimizations", "-ffp-contract=fast")
"""What ``-Ofast`` allows in arithmetic and a later ``-Oz`` forbids again: without it, sums are
rounded where the plain build contracts them, and the last bit differs."""

_FULL_LTO = "-flto=full"
_COMPILE: Mapping[tuple[SizeFlag, str], tuple[str, ...]] = {
    (SizeFlag.UNWIND_TABLES, "false"): ("-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
    (SizeFlag.LTO, "full"): (_FULL_LTO,),
    (SizeFlag.VIRTUAL_FUNCTIONS, "false"): (
        "-fvisibility=hidden",
        "-fwhole-program-vtables",
        "-fvirtual-function-elimination",
    ),
}
_LINK: Mapping[tuple[SizeFlag, str], tuple[str, ...]] = {
    (SizeFlag.LTO, "full"): (_FULL_LTO,),
    (SizeFlag.FOLD, "all"): ("-Wl,--icf=all",),
    **{(SizeFlag.RELOCATIONS, packing): flags for packing, flags in PACKED.items()},
}
EVERY_CALL = ("-Wl,-mllvm,-wholeprogramdevirt-skip=*",)
"""Leaves virtual calls as they are. Where lld knows all tables of calls, it works out at the link
what simple functions return, and those do not run. The last link lacks their bodies, and would
call them: seen with MegEngine, which trapped."""

_OWN_LINK: Mapping[tuple[SizeFlag, str], tuple[str, ...]] = {
    (SizeFlag.UNWIND_TABLES, "false"): ("-Wl,--no-eh-frame-hdr",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeFlagChoice:
    """What became of one of the means."""

    means: SizeFlag
    value: str
    """As megtrim.yaml says it: ``false``, ``Oz``, ``full``, ``all``, ``relr``."""
    asked: bool
    """megtrim.yaml names it; else ``optimize: size`` wants it."""
    why_not: str = ""
    """Why it cannot be used; empty: it is."""


def choices(
    trim: TrimConfig, toolchain: Toolchain, *, off: Collection[Switch], alone: bool
) -> tuple[SizeFlagChoice, ...]:
    """Return what is asked for or wanted beyond the recipe, in the order of :class:`SizeFlag`.

    ``off`` are the engine's switches that are off in the build; ``alone`` says that nothing but
    the engine's own sources will call it. A choice with a ``why_not`` is not used; whether that
    is an error is for the caller: it is where it was ``asked`` for.
    """
    said = _read_means(trim)
    made: list[SizeFlagChoice] = []
    for means in SizeFlag:
        asked = means in said
        wanted = (said[means],) if asked else OF_SIZE[means] if trim.optimize == "size" else ()
        if not wanted or wanted[0] in _AS_IT_IS:
            continue
        around = _SizeFlagContext(toolchain=toolchain, off=off, alone=alone, made=made)
        told = [(value, _explain_refusal(means, value, around)) for value in wanted]
        value, why_not = next((each for each in told if not each[1]), told[-1])
        made.append(SizeFlagChoice(means=means, value=value, asked=asked, why_not=why_not))
    return tuple(made)


def apply_choices(
    spec: BuildSpec,
    made: Sequence[SizeFlagChoice],
    toolchain: Toolchain,
    *,
    kernels: tuple[str, ...],
) -> BuildSpec:
    """Return the spec with the flags of the means; those with a ``why_not`` are passed over.

    ``kernels`` are the folders of the engine that stay compiled for speed.
    """
    used = [(each.means, each.value) for each in made if not each.why_not]
    # Up to r21 an NDK links with gold where nothing else is said, the engine's checks among it:
    # of bitcode, each would fail silently.
    lld = toolchain.kind == "ndk" and (SizeFlag.LTO, "full") in used
    link_flags = (*spec.link_flags, "-fuse-ld=lld") if lld else spec.link_flags
    small = dict(used).get(SizeFlag.SMALL_CODE)
    return replace(
        spec,
        compile_flags=_append_flags(spec.compile_flags, _COMPILE, used),
        link_flags=_append_flags(link_flags, _LINK, used),
        own_link_flags=_append_flags(spec.own_link_flags, _OWN_LINK, used),
        source_options=SourceOptions(options=(f"-{small}",), fast=RELAXED, outside=kernels)
        if small
        else None,
    )


def of_links(made: Sequence[SizeFlagChoice]) -> tuple[str, ...]:
    """Return the flags of those means that are a matter of the link alone."""
    used = [(each.means, each.value) for each in made if not each.why_not]
    return _append_flags((), _LINK, [each for each in used if is_of_links(each[0])])


def is_of_links(means: SizeFlag) -> bool:
    """Tell whether objects stay as they are."""
    return means in (SizeFlag.FOLD, SizeFlag.RELOCATIONS)


def _append_flags(
    flags: tuple[str, ...],
    table: Mapping[tuple[SizeFlag, str], tuple[str, ...]],
    used: Sequence[tuple[SizeFlag, str]],
) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*flags, *(flag for key in used for flag in table.get(key, ())))))


def _read_means(trim: TrimConfig) -> dict[SizeFlag, str]:
    """Return what megtrim.yaml names; ``trim.relocations`` is the toolchain's, for all builds."""
    said = {SizeFlag(key): value for key, value in trim.means.model_dump().items()}
    told = {means: _word(value) for means, value in said.items() if value is not None}
    return told | ({SizeFlag.RELOCATIONS: "none"} if trim.relocations is not None else {})


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SizeFlagContext:
    """What it depends on whether one of the means can be used."""

    toolchain: Toolchain
    off: Collection[Switch]
    alone: bool
    made: Sequence[SizeFlagChoice]
    """Those before it."""


def _explain_refusal(means: SizeFlag, value: str, around: _SizeFlagContext) -> str:
    """Return why a value cannot be used; empty where it can."""
    toolchain = around.toolchain
    match means:
        case SizeFlag.UNWIND_TABLES:
            return (
                "" if Switch.EXCEPTIONS in around.off else "exceptions are on, which unwind by them"
            )
        case SizeFlag.SMALL_CODE:
            return _no_oz(toolchain) if value == "Oz" else ""
        case SizeFlag.LTO:
            return _no_lld(toolchain, "it takes the objects of clang and lld")
        case SizeFlag.FOLD:
            zig = "zig's driver hands no --icf to lld"
            return zig if toolchain.kind == "zig" else _no_lld(toolchain, "it takes lld")
        case SizeFlag.VIRTUAL_FUNCTIONS:
            return _no_whole_program(around)
        case SizeFlag.RELOCATIONS:
            return _not_loaded(toolchain, value)


def _no_oz(toolchain: Toolchain) -> str:
    found = _GCC.search(toolchain.version)
    old = toolchain.kind == "host" and "clang" not in toolchain.version
    if not old or (found and int(found[1]) >= _OZ_OF_GCC):
        return ""
    return f"g++ knows it from {_OZ_OF_GCC} on, and this is {toolchain.version}"


def _no_lld(toolchain: Toolchain, what: str) -> str:
    if toolchain.kind in _WITH_LLD:
        return ""
    return f"{what}, and a toolchain of kind {toolchain.kind} links with what the machine has"


def _no_whole_program(around: _SizeFlagContext) -> str:
    if around.toolchain.kind == "zig":
        return "zig brings a C++ library for LTO that was compiled without its tables of calls"
    if not around.alone:
        return "an application's own objects, or who loads a shared one, may call more of them"
    whole = any(each.means is SizeFlag.LTO and not each.why_not for each in around.made)
    return "" if whole else "it needs lto: full"


def _not_loaded(toolchain: Toolchain, packing: str) -> str:
    if not toolchain.api:
        return "only Android says by a level what its loader takes"
    needed = LOADED_FROM[packing]
    if toolchain.api >= needed:
        return ""
    return f"it loads from API level {needed} on, and toolchain.api says {toolchain.api}"
