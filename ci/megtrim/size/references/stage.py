"""Stage `references`: links whose relocations show what refers to what.

They are made when something asks for them. ``shipped`` is the program that ships, linked once more
by the same command; ``base`` is what it was trimmed from: the unfolded link where functions are
trimmed, otherwise the plain program. ``profile`` is that build.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from megtrim.build_spec import BuildSpec, Link, LinkSpec, Variant
from megtrim.chain.graph import (
    LINKED,
    PLAIN,
    PROFILE,
    PROFILE_REFERENCES,
    REDUCED,
    SHIPPED_REFERENCES,
    Task,
    trims_functions,
)
from megtrim.chain.result_content import content_of
from megtrim.chain.session import Session
from megtrim.size.references.read_links import ReferencesResult
from megtrim.trim.builds import links as linking
from megtrim.trim.builds import programs, size_options, variants

_WITH_RELOCATIONS = ("-Wl,--emit-relocs",)


def inputs(task: Task, session: Session) -> dict[str, str]:
    return {"linked again": content_of(session.results.done[_find_linked(task, session)])}


def _find_linked(task: Task, session: Session) -> str:
    base = LINKED if trims_functions(session.request.config) else PLAIN
    return {SHIPPED_REFERENCES: REDUCED, PROFILE_REFERENCES: PROFILE}.get(task.id, base)


def result_type(_task: Task) -> type[ReferencesResult]:
    return ReferencesResult


def work(task: Task, session: Session, folder: Path) -> ReferencesResult:
    spec, links = _specify(task, session)
    wanted = tuple(
        replace(
            each,
            label=Link.REFERENCED,
            flags=(*each.flags, *_WITH_RELOCATIONS),
            strip=False,
            map=True,
        )
        for each in links
    )
    variants.link(session, spec, wanted, folder)
    return ReferencesResult(programs=tuple(each.target for each in wanted))


def _specify(task: Task, session: Session) -> tuple[BuildSpec, tuple[LinkSpec, ...]]:
    """Return the build whose objects are linked, and the links as they are without relocations."""
    shipped = task.id == SHIPPED_REFERENCES
    profile = task.id == PROFILE_REFERENCES
    if trims_functions(session.request.config) and not profile:
        spec = linking.make_base_spec(session)
        if shipped:
            trimmed = linking.find_programs(session)
            return spec, tuple(linking.specify_link(each, session) for each in trimmed)
        flags = size_options.unfolded_flags(session)
        return spec, tuple(
            LinkSpec(target=each, label=Link.UNFOLDED, unfolded=True, flags=flags)
            for each in programs.linked_again(session.request)
        )
    unprofiled = Variant.REDUCED if shipped else Variant.PLAIN
    variant = Variant.PROFILE if profile else unprofiled
    header = variants.header_files(session.results) if shipped else {}
    spec = variants.make_spec(session, variant, header)
    holders = programs.holders(session)
    return spec, tuple(LinkSpec(target=each, label=Link.SHIPPED) for each in holders)
