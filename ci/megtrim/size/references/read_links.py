"""What refers to what in the programs of a trim: the links of the stage `references`, read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from megtrim.build_spec import Link
from megtrim.chain.filenames import KEEP_SET_FILE
from megtrim.chain.graph import REDUCED, keep_task
from megtrim.chain.session import Session
from megtrim.chain.stage_result import StageResult
from megtrim.chain.store import StageFolder
from megtrim.elf.symbol_table import read_linked
from megtrim.functions.keep_patterns import KeptFunctions
from megtrim.functions.link_map import read_map
from megtrim.regions.keepset import KeepSet
from megtrim.regions.keepset_files import read_keep_set
from megtrim.trim.builds import links as linking

if TYPE_CHECKING:
    from megtrim.size.references.linked_file import LinkedFile


def read_program(name: str, made: StageFolder) -> LinkedFile:
    from megtrim.size.references.linked_file import read_graph  # with NumPy

    path = made.file(linking.locate_unstripped(Link.REFERENCED, name))
    listed = made.file(linking.locate_unstripped(Link.REFERENCED, f"{name}.map"))
    return read_graph(read_linked(path), read_map(listed), source=str(path))


def read_keep(session: Session) -> KeepSet:
    task = keep_task(session.request.config)
    return read_keep_set(session.results.done[task].file(KEEP_SET_FILE))


def read_dropped(name: str, session: Session) -> tuple[str, ...]:
    return linking.read_dropped(session.results.done[REDUCED], name) or ()


def read_kept_functions(name: str, session: Session) -> KeptFunctions:
    program = linking.read_program(name, session)
    return KeptFunctions(
        ran=read_keep(session).functions(),
        table=program.unfolded.table,
        observables=program.unfolded.observables,
        origins=program.origins,
        patterns=program.patterns,
    )


class ReferencesResult(StageResult):
    """Of the stage `references`: programs linked with their relocations, and their maps."""

    programs: tuple[str, ...]
