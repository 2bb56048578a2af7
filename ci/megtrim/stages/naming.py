"""The program that says which function was not kept: linked where a trap asks for it."""

from __future__ import annotations

from megtrim.config.scenarios import Scenario
from megtrim.plan.graph import NAMED, by_function
from megtrim.stages import linking, programs
from megtrim.stages.context import Context
from megtrim.stages.files import DROPPED_FILE
from megtrim.stages.proving import Named


def named(scenario: Scenario, context: Context) -> Named | None:
    """Return the scenario's named program, linked now if need be; None: no function is trimmed."""
    return named_program(programs.name_of(scenario, context), context)


def named_program(name: str, context: Context) -> Named | None:
    """Return the same of the program called ``name``."""
    listed = DROPPED_FILE.format(target=name)
    made = context.obtain(NAMED) if by_function(context.loaded.config) else None
    if made is None or listed not in made.files:
        return None
    dropped = tuple(made.file(listed).read_text(encoding="utf-8").split())
    return Named(program=linking.linked(made.path, linking.NAMED, name), dropped=dropped)
