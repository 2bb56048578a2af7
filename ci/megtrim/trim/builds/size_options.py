"""Which size optimisations a trim uses, known before anything is built, and why not the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from megtrim.build.engines import size_flags
from megtrim.build.engines.size_flags import SizeFlag, SizeFlagChoice
from megtrim.build_spec import BuildSpec, Switch, Variant
from megtrim.chain.graph import trims_functions, trims_plain_build
from megtrim.chain.session import Session
from megtrim.config.model import switched_off
from megtrim.trim.builds import programs
from megtrim.trim.usage import SizeFlagResult
from megtrim.util.errors import InputError


def choices(session: Session) -> tuple[SizeFlagChoice, ...]:
    """Trimming from the plain build compiles nothing: only what a link can do is left."""
    config = session.request.config
    plain = trims_plain_build(config)
    without = () if plain else switched_off(config.trim)
    made = _choices(session, without)
    return tuple(_of_plain(each) for each in made) if plain else made


def apply_flags(session: Session, spec: BuildSpec) -> BuildSpec:
    made = choices(session)
    if not made:
        return spec
    if trims_functions(session.request.config):
        # The links that trim functions drop the tables of all that they take in: compiled again
        # without them, it would come to the same.
        made = tuple(each for each in made if each.means is not SizeFlag.UNWIND_TABLES)
    return size_flags.apply_choices(
        spec, made, session.services.toolchain, kernels=session.services.engine.kernels
    )


def relink_flags(session: Session) -> tuple[str, ...]:
    """The plain build was linked without them."""
    return (
        size_flags.of_links(choices(session)) if trims_plain_build(session.request.config) else ()
    )


def unfolded_flags(session: Session) -> tuple[str, ...]:
    """Beyond what unfolds them."""
    used = {each.means for each in choices(session) if not each.why_not}
    return size_flags.EVERY_CALL if SizeFlag.VIRTUAL_FUNCTIONS in used else ()


def keeps_unwind_tables(target: str, session: Session) -> bool:
    """An application with a source of its own is the team's, and may throw."""
    application = session.request.config.application(target)
    used = {each.means for each in choices(session) if not each.why_not}
    theirs = application is not None and application.source is not None
    return theirs or SizeFlag.UNWIND_TABLES not in used


def inlines_at_link(session: Session) -> bool:
    """What is inlined has no name any more."""
    if trims_plain_build(session.request.config):
        return bool(programs.lto_flags(session.request, Variant.PLAIN))
    used = {each.means for each in choices(session) if not each.why_not}
    return SizeFlag.LTO in used or bool(programs.lto_flags(session.request, Variant.REDUCED))


def expect_usable(session: Session) -> None:
    loaded = session.request.loaded
    for each in _choices(session, switched_off(loaded.config.trim)):
        if each.requested and each.why_not:
            where = f"{loaded.path}:{loaded.line('trim', 'means', each.means)}"
            msg = f"{where}: trim.means.{each.means}: found {each.value}, but {each.why_not}"
            raise InputError(msg, hint="leave the key out: optimize: size takes what can be used")


def list_results(session: Session) -> tuple[SizeFlagResult, ...]:
    return tuple(
        SizeFlagResult(name=each.means, value=each.value, why_not=each.why_not)
        for each in choices(session)
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
    config = session.request.config
    theirs = any(each.source is not None for each in config.applications)
    loaded = any(name.endswith(".so") for name in config.artifacts)
    alone = not theirs and not loaded
    return size_flags.choices(config.trim, session.services.toolchain, off=off, alone=alone)


def _of_plain(choice: SizeFlagChoice) -> SizeFlagChoice:
    if choice.why_not or size_flags.is_of_links(choice.means):
        return choice
    return replace(choice, why_not="base: plain compiles nothing for it")
