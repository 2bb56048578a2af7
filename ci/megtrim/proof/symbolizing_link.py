"""The program that says which function was not kept: linked where a trap asks for it."""

from __future__ import annotations

from pathlib import Path

from megtrim.build_spec import Link
from megtrim.chain.filenames import DROPPED_FILE
from megtrim.chain.graph import NAMED, trims_functions
from megtrim.chain.session import Session
from megtrim.config.scenarios import Scenario
from megtrim.proof.trap_diagnosis import SymbolizingLink, read_named
from megtrim.trim.builds import links, programs


def ensure_named_program(scenario: Scenario, session: Session) -> SymbolizingLink | None:
    """Return the scenario's named program, linked now if need be; None: no function is trimmed."""
    return named_program(programs.name_of(scenario, session.request), session)


def named_program(name: str, session: Session) -> SymbolizingLink | None:
    """Return the same of the program called ``name``."""
    files = named_files(name, session)
    return read_named(*files) if files else None


def named_files(name: str, session: Session) -> tuple[Path, Path] | None:
    """Return that program's file and the file of its list, linked now if need be."""
    listed = DROPPED_FILE.format(target=name)
    made = session.results.obtain(NAMED) if trims_functions(session.request.config) else None
    if made is None or listed not in made.files:
        return None
    return made.file(links.locate_unstripped(Link.NAMED, name)), made.file(listed)
