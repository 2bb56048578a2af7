"""Stage `references`: links whose relocations show what refers to what.

They are made when something asks for them. ``shipped`` is the program that ships, linked once more
by the same command; ``profile`` is that build.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from megtrim.build_spec import BuildSpec, Link, LinkSpec, Variant
from megtrim.chain.graph import PROFILE, PROFILE_REFERENCES, REDUCED, Task, trims_functions
from megtrim.chain.result_content import content_of
from megtrim.chain.session import Session
from megtrim.size.references.read_links import ReferencesResult
from megtrim.trim.builds import links as linking
from megtrim.trim.builds import programs, variants

_WITH_RELOCATIONS = ("-Wl,--emit-relocs",)


def inputs(task: Task, session: Session) -> dict[str, str]:
    linked = PROFILE if task.id == PROFILE_REFERENCES else REDUCED
    return {"linked again": content_of(session.results.done[linked])}


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
    profile = task.id == PROFILE_REFERENCES
    if trims_functions(session.request.config) and not profile:
        trimmed = linking.find_programs(session)
        links = tuple(linking.specify_link(program, session) for program in trimmed)
        return linking.make_base_spec(session), links
    variant = Variant.PROFILE if profile else Variant.REDUCED
    header = {} if profile else variants.header_files(session.results)
    spec = variants.make_spec(session, variant, header)
    holders = programs.holders(session)
    return spec, tuple(LinkSpec(target=program, label=Link.SHIPPED) for program in holders)
