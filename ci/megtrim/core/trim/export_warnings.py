"""What a verdict says of a shared library that exports more than its programs use. Pure."""

from collections.abc import Collection, Iterator, Mapping

from megtrim.core.config.units import format_bytes
from megtrim.core.config.value_types import OF_APPLICATIONS
from megtrim.core.trim.results import ExportCount, FunctionCount
from megtrim.libs.elf.symbol_table import FunctionTable
from megtrim.libs.util.wording import count

_LEAST_SHARE = 0.05
"""Of the bytes that stay: less is not worth a line."""


def count_exported(
    table: FunctionTable, dropped: Collection[str], imported: Collection[str]
) -> ExportCount:
    """``imported``: what the programs of scenarios import of the library.

    No recorder observes exports, so they stay whether they ran or not. Names of one function count
    once.
    """
    left_out = {*dropped}
    stay: dict[int, int] = {}
    unused: dict[int, int] = {}
    used = {each.address for each in table.functions if each.name in imported}
    for each in table.functions:
        if each.name in left_out or not each.size_bytes:
            continue
        stay[each.address] = each.size_bytes
        if each.name in table.exported and each.address not in used:
            unused[each.address] = each.size_bytes
    return ExportCount(
        functions=len(unused),
        size_bytes=sum(unused.values()),
        of_bytes=sum(stay.values()),
        imported=len(used),
    )


def warn_of_exports(counts: Mapping[str, FunctionCount]) -> Iterator[str]:
    """``counts``: of each program and library."""
    for library, each in counts.items():
        found = each.exports
        if found is None or found.size_bytes <= _LEAST_SHARE * found.of_bytes:
            continue
        key = f"trim.exports: ['{OF_APPLICATIONS}']"
        if not found.imported:
            key = "trim.exports to the names that your programs look up"
        yield (
            f"{library} exports {count(found.functions, 'function')} that no program of a scenario "
            "imports. Exports stay whether a scenario runs them or not: these are "
            f"{format_bytes(found.size_bytes)} of the {format_bytes(found.of_bytes)} of code that "
            f"stays. If nothing else uses them, set {key}"
        )
