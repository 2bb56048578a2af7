"""What a verdict warns of at the level blocks. Pure."""

from collections.abc import Iterator, Mapping

from megtrim.core.config.units import format_bytes
from megtrim.core.trim.results import FunctionCount
from megtrim.libs.elf.symbol_names import list_brief
from megtrim.libs.util.wording import count

_SHOWN = 10


def warn_of_blocks(counts: Mapping[str, FunctionCount]) -> Iterator[str]:
    """``counts``: of each program."""
    for program, each in counts.items():
        for unit in each.uncut:
            yield f"{program}: {unit}; to build it anew, use another --out"
        if each.changed:
            yield (
                f"{program}: {count(len(each.changed), 'function')} with other blocks than the "
                f"keep set names (another compiler?) stay whole, "
                f"{format_bytes(each.changed_bytes)} in all: {list_brief(each.changed, _SHOWN)}: "
                "record them again"
            )
        elif not each.cut and not each.uncut:
            yield (
                f"{program}: no function was cut, so level: blocks made it as level: deferred "
                "would: blocks are seen in programs that run under qemu, and in a keep set that "
                "was recorded so"
            )
