"""Programs made by hand, as the lookup of crashes takes them."""

from dataclasses import replace

from megtrim.libs.elf.symbol_table import parse_table
from megtrim.ship.crashes.program import TrimmedProgram
from support.made_programs import FIRST, SECOND, UNUSED, folded, numbered_file


def program(*, name: str = "app", fixed: bool = False, **changes: object) -> TrimmedProgram:
    data = folded(fixed=fixed)
    made = TrimmedProgram(
        name=name,
        shipped=data,
        table=parse_table(data, source=name),
        left_out=(FIRST, SECOND, UNUSED),
        trims_regions=False,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def numbered() -> TrimmedProgram:
    data = numbered_file()
    table = parse_table(data, source="app")
    return program(shipped=data, table=table, crash_ids=True, trims_regions=True)
