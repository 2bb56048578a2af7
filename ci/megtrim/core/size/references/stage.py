"""Stage `references`: links whose relocations show what refers to what.

``shipped``: what ships, linked once more by the same command; ``profile``: that build.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from megtrim.core.build_spec import BuildSpec, Link, LinkSpec, Variant
from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import (
    PROFILE,
    PROFILE_REFERENCES,
    REDUCED,
    Task,
    keep_task,
    trims_functions,
)
from megtrim.core.chain.result_store import StageFolder, content_of
from megtrim.core.chain.session import Session
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.functions.kept_functions import KeptFunctions
from megtrim.core.functions.link_map import read_map
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.trim.builds import applications, variants
from megtrim.core.trim.builds import links as linking
from megtrim.libs.elf.symbol_table import read_linked

if TYPE_CHECKING:
    from megtrim.core.size.references.linked_file import LinkedFile

_WITH_RELOCATIONS = ("-Wl,--emit-relocs",)


class ReferencesResult(StageResult):
    programs: tuple[str, ...]


def inputs(task: Task, session: Session) -> dict[str, str]:
    linked = PROFILE if task.id == PROFILE_REFERENCES else REDUCED
    return {"linked again": content_of(session.done[linked])}


def work(task: Task, session: Session, folder: Path) -> ReferencesResult:
    spec, links = _specify(task, session)
    wanted = tuple(
        replace(
            link,
            label=Link.REFERENCED,
            flags=(*link.flags, *_WITH_RELOCATIONS),
            strip=False,
            map=True,
        )
        for link in links
    )
    variants.link(session, spec, wanted, folder)
    return ReferencesResult(programs=tuple(each.target for each in wanted))


def _specify(task: Task, session: Session) -> tuple[BuildSpec, tuple[LinkSpec, ...]]:
    profile = task.id == PROFILE_REFERENCES
    if trims_functions(session.config) and not profile:
        trimmed = linking.find_programs(session)
        links = tuple(linking.specify_link(program, session) for program in trimmed)
        return linking.make_base_spec(session), links
    variant = Variant.PROFILE if profile else Variant.REDUCED
    header = {} if profile else variants.header_files(session.results)
    spec = variants.make_spec(session, variant, header)
    holders = applications.holders(session)
    return spec, tuple(LinkSpec(target=program, label=Link.SHIPPED) for program in holders)


def read_program(name: str, made: StageFolder) -> LinkedFile:
    from megtrim.core.size.references.linked_file import read_graph  # with NumPy

    path = made.file(linking.locate_unstripped(Link.REFERENCED, name))
    listed = made.file(linking.locate_unstripped(Link.REFERENCED, f"{name}.map"))
    return read_graph(read_linked(path), read_map(listed), source=str(path))


def read_keep(session: Session) -> KeepSet:
    task = keep_task(session.config)
    return read_keep_set(session.done[task].file(KEEP_SET_FILE))


def read_dropped(name: str, session: Session) -> tuple[str, ...]:
    return linking.read_dropped(session.done[REDUCED], name) or ()


def read_kept_functions(name: str, session: Session) -> KeptFunctions:
    program = linking.read_program(name, session)
    return KeptFunctions(
        ran=read_keep(session).functions(),
        table=program.unfolded.table,
        observables=program.unfolded.observables,
        origins=program.origins,
        patterns=program.patterns,
    )
