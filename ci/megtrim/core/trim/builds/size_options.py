"""Which size optimisations a trim uses, known before anything is built, and why not the others."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from megtrim.core.build_spec import (
    LOADED_FROM,
    PACKED,
    BuildSpec,
    Relocations,
    SourceOptions,
    Switch,
    Toolchain,
    Variant,
)
from megtrim.core.chain.graph import trims_functions, trims_plain_build
from megtrim.core.chain.session import Session
from megtrim.core.config.kinds import BLOCKS, DEFERRING_LEVELS
from megtrim.core.config.model import TrimConfig, switched_off
from megtrim.core.trim.builds import applications
from megtrim.core.trim.results import SizeFlagResult
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.places.compile.toolchains import splitting

_UNCHANGED = ("true", "none")
WITH_LLD = ("zig", "clang-linux-arm64", "clang-linux-armhf", "ndk")
_OZ_OF_GCC = 12
_GCC = re.compile(r" (\d{1,3})\.\d+\.\d+\b")
RELAXED = ("-fno-math-errno", "-funsafe-math-optimizations", "-ffp-contract=fast")
"""What ``-Ofast`` allows in arithmetic and a later ``-Oz`` forbids again. Without these, sums that
the plain build contracts are rounded, and the last bit differs."""

_FULL_LTO = "-flto=full"
EVERY_CALL = ("-Wl,-mllvm,-wholeprogramdevirt-skip=*",)
"""Leaves virtual calls as they are. If lld knows all virtual tables, it computes at the link what
simple functions return, so that these do not run. The last link leaves out their bodies, yet would
call them: seen with an engine, which trapped."""

_DEFERRING = ("aarch64", "arm", "x86_64")
"""How the names of such machines begin: 32-bit Arm has several."""
_NOT_DEFERRING = {
    "lto": "level: deferred moves sections of objects, which it would not leave",
    "relocations": "level: deferred has a bit for most of them",
}
_NOT_GUARDED = {"lto": "on_missing: error empties functions of objects, which it would not leave"}


class SizeFlag(StrEnum):
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
"""Values that ``optimize: size`` tries, the best first."""

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
_OWN_LINK: Mapping[tuple[SizeFlag, str], tuple[str, ...]] = {
    (SizeFlag.UNWIND_TABLES, "false"): ("-Wl,--no-eh-frame-hdr",)
}


class SizeFlagChoice(Value):
    means: SizeFlag
    value: str
    """As in megtrim.yaml: ``false``, ``Oz``, ``full``, ``all``, ``relr``."""
    requested: bool
    why_not: str = ""


def choices(session: Session) -> tuple[SizeFlagChoice, ...]:
    config = session.config
    plain = trims_plain_build(config)
    without = () if plain else switched_off(config.trim)
    made = _choices(session, without)
    if not plain:
        return made
    why_not = "base: plain compiles nothing for it"
    return tuple(
        each if each.why_not or is_of_links(each.means) else replace(each, why_not=why_not)
        for each in made
    )


def apply_flags(session: Session, spec: BuildSpec) -> BuildSpec:
    made = choices(session)
    if not made:
        return spec
    if trims_functions(session.config):
        # The links that trim functions drop the tables of all that they take in: compiled again
        # without them, it would come to the same.
        made = tuple(each for each in made if each.means is not SizeFlag.UNWIND_TABLES)
    return apply_choices(
        spec, made, session.services.toolchain, kernels=session.services.engine.kernels
    )


def relink_flags(session: Session) -> tuple[str, ...]:
    if not trims_plain_build(session.config):
        return ()
    of_links = (each for each in choices(session) if is_of_links(each.means))
    return _append_flags((), _LINK, _list_used(of_links))


def unfolded_flags(session: Session) -> tuple[str, ...]:
    used = {choice.means for choice in choices(session) if not choice.why_not}
    return EVERY_CALL if SizeFlag.VIRTUAL_FUNCTIONS in used else ()


def keeps_unwind_tables(target: str, session: Session) -> bool:
    """An application with a source of its own is the team's, and may throw."""
    application = session.config.application(target)
    used = {choice.means for choice in choices(session) if not choice.why_not}
    theirs = application is not None and application.source is not None
    return theirs or SizeFlag.UNWIND_TABLES not in used


def inlines_at_link(session: Session) -> bool:
    if trims_plain_build(session.config):
        return bool(applications.lto_flags(session.request, Variant.PLAIN))
    used = {choice.means for choice in choices(session) if not choice.why_not}
    return SizeFlag.LTO in used or bool(applications.lto_flags(session.request, Variant.REDUCED))


def expect_usable(session: Session) -> None:
    loaded = session.request.loaded
    if loaded.config.trim.level in DEFERRING_LEVELS:
        where = f"{loaded.path}:{loaded.line('trim', 'level')}"
        _expect_deferring(session.services.toolchain, where)
    if loaded.config.trim.level == BLOCKS:
        splitting.expect_sound(session.services.toolchain, loaded.describe("trim", "level"))
    for choice in _choices(session, switched_off(loaded.config.trim)):
        if choice.requested and choice.why_not:
            where = f"{loaded.path}:{loaded.line('trim', 'means', choice.means)}"
            msg = f"{where}: trim.means.{choice.means}: found {choice.value}, but {choice.why_not}"
            raise InputError(
                msg, hint="leave it out; `optimize: size` uses every means that works here"
            )


def _expect_deferring(toolchain: Toolchain, where: str) -> None:
    machine = toolchain.machine
    if not machine.startswith(_DEFERRING):
        msg = f"{where}: functions can be deferred on aarch64, armv7l and x86_64, not on {machine}"
        raise InputError(msg, hint="use trim.level: function for this machine")
    if toolchain.kind == "ndk" and machine == "arm":
        msg = (
            f"{where}: functions cannot be deferred for {toolchain.abi}: only Linux is supported "
            "on 32-bit Arm, not Android"
        )
        raise InputError(msg, hint="use trim.level: function for this ABI")


def list_results(session: Session) -> tuple[SizeFlagResult, ...]:
    return tuple(
        SizeFlagResult(name=choice.means, value=choice.value, why_not=choice.why_not)
        for choice in choices(session)
    )


def lines(session: Session) -> Iterator[str]:
    made = choices(session)
    used = ", ".join(f"{each.means} {each.value}" for each in made if not each.why_not)
    if made:
        yield f"size       {used or 'as the recipe makes it'}"
    for each in made:
        if each.why_not:
            yield f"           without {each.means}: {each.why_not}"


def _choices(session: Session, off: Sequence[Switch]) -> tuple[SizeFlagChoice, ...]:
    config = session.config
    theirs = any(application.source is not None for application in config.applications)
    loaded = any(name.endswith(".so") for name in config.artifacts)
    alone = not theirs and not loaded
    return choose(config.trim, session.services.toolchain, off=off, alone=alone)


def choose(
    trim: TrimConfig, toolchain: Toolchain, *, off: Collection[Switch], alone: bool
) -> tuple[SizeFlagChoice, ...]:
    """A choice with a ``why_not`` is not used; that is an error if it was ``requested`` by name.

    ``alone``: only the engine's own sources call it.
    """
    values = {SizeFlag(key): value for key, value in trim.means.model_dump().items()}
    named = {means: _word(value) for means, value in values.items() if value is not None}
    if trim.relocations is not None:  # it belongs to the toolchain, and leaves nothing to do here
        named[SizeFlag.RELOCATIONS] = "none"
    chosen: list[SizeFlagChoice] = []
    for means in SizeFlag:
        requested = means in named
        by_default = OF_SIZE[means] if trim.optimize == "size" else ()
        candidates = (named[means],) if requested else by_default
        if not candidates or candidates[0] in _UNCHANGED:
            continue
        whole = any(each.means is SizeFlag.LTO and not each.why_not for each in chosen)
        refusals = [
            (value, _explain_refusal(means, value, toolchain, off, alone=alone, whole=whole))
            for value in candidates
        ]
        if trim.level in DEFERRING_LEVELS and means in _NOT_DEFERRING:
            refusals = [(value, _NOT_DEFERRING[means]) for value in candidates]
        if trim.on_missing == "error" and means in _NOT_GUARDED:
            refusals = [(value, _NOT_GUARDED[means]) for value in candidates]
        value, why_not = next((refusal for refusal in refusals if not refusal[1]), refusals[-1])
        chosen.append(
            SizeFlagChoice(means=means, value=value, requested=requested, why_not=why_not)
        )
    return tuple(chosen)


def apply_choices(
    spec: BuildSpec,
    chosen: Sequence[SizeFlagChoice],
    toolchain: Toolchain,
    *,
    kernels: tuple[str, ...],
) -> BuildSpec:
    """``kernels`` are the folders of the engine that stay compiled for speed."""
    used = _list_used(chosen)
    # Up to r21 an NDK links with gold by default, also the engine's configure checks: with
    # bitcode, each of them would fail silently.
    lld = toolchain.kind == "ndk" and (SizeFlag.LTO, "full") in used
    link_flags = (*spec.link_flags, "-fuse-ld=lld") if lld else spec.link_flags
    small = dict(used).get(SizeFlag.SMALL_CODE)
    source_options = None
    if small:
        source_options = SourceOptions(options=(f"-{small}",), fast=RELAXED, outside=kernels)
    return replace(
        spec,
        compile_flags=_append_flags(spec.compile_flags, _COMPILE, used),
        link_flags=_append_flags(link_flags, _LINK, used),
        own_link_flags=_append_flags(spec.own_link_flags, _OWN_LINK, used),
        source_options=source_options,
    )


def _list_used(chosen: Iterable[SizeFlagChoice]) -> list[tuple[SizeFlag, str]]:
    return [(each.means, each.value) for each in chosen if not each.why_not]


def is_of_links(means: SizeFlag) -> bool:
    return means in (SizeFlag.FOLD, SizeFlag.RELOCATIONS)


def _append_flags(
    flags: tuple[str, ...],
    table: Mapping[tuple[SizeFlag, str], tuple[str, ...]],
    used: Sequence[tuple[SizeFlag, str]],
) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*flags, *(flag for key in used for flag in table.get(key, ())))))


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _explain_refusal(
    means: SizeFlag,
    value: str,
    toolchain: Toolchain,
    off: Collection[Switch],
    *,
    alone: bool,
    whole: bool,
) -> str:
    """Return why a value cannot be used; ``whole``: the link optimises as a whole."""
    match means:
        case SizeFlag.UNWIND_TABLES:
            return "" if Switch.EXCEPTIONS in off else "exceptions are on and need them"
        case SizeFlag.SMALL_CODE:
            found = _GCC.search(toolchain.version)
            gcc = toolchain.kind == "host" and "clang" not in toolchain.version
            old = gcc and not (found and int(found[1]) >= _OZ_OF_GCC)
            needed = f"it needs g++ {_OZ_OF_GCC} or later, and this is {toolchain.version}"
            return needed if old and value == "Oz" else ""
        case SizeFlag.LTO:
            return _no_lld(toolchain, "it needs clang and lld")
        case SizeFlag.FOLD:
            zig = "zig's driver passes no --icf to lld"
            return zig if toolchain.kind == "zig" else _no_lld(toolchain, "it needs lld")
        case SizeFlag.VIRTUAL_FUNCTIONS:
            if toolchain.kind == "zig":
                return "zig's C++ library was compiled without the tables that it needs"
            if not alone:
                return (
                    "an application's own objects, or programs that load it, may call more of them"
                )
            return "" if whole else "it needs lto: full"
        case SizeFlag.RELOCATIONS:
            if not toolchain.api:
                return "only Android's API level shows what the loader supports"
            level = LOADED_FROM[value]
            late = f"it needs API level {level} or later, and toolchain.api is {toolchain.api}"
            return late if toolchain.api < level else ""


def _no_lld(toolchain: Toolchain, what: str) -> str:
    if toolchain.kind in WITH_LLD:
        return ""
    return f"{what}, and toolchain kind {toolchain.kind} links with the machine's own linker"
