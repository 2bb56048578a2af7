"""Proves, by the build's own records, that the generated header was compiled in.

The engine silently ignores an option that no longer exists: nothing is trimmed and nothing fails.
So two records are read after each reduced build: the compile commands (does every translation unit
include the header?) and Ninja's dependency log (which ``midout.h`` did the compiler really open?).
"""

from __future__ import annotations

import itertools
import shlex
from dataclasses import dataclass
from pathlib import Path

from megtrim.build.engines.cmake import build_records
from megtrim.util.errors import ProductFailure

_RETRY_HINT = "was it compiled before that header existed? clear ccache, and use a new --out"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderProof:
    """Counts of translation units."""

    units: int
    with_header: int
    with_regions: int


def prove(
    compile_commands: str, dependencies: str, *, header: Path, midout: Path | None, build: Path
) -> HeaderProof:
    """Return the counts. Raises ProductFailure if a unit was compiled without the generated files.

    ``compile_commands`` is CMake's JSON, ``dependencies`` the output of ``ninja -t deps``.
    ``header`` is the forced header. ``midout`` is the ``midout.h`` that must be used instead of the
    engine's, or None in the upstream layout, in which the forced header contains the regions. Only
    units that Ninja really compiled (those with recorded dependencies) count.
    """
    opened = build_records.parse_dependencies(dependencies, build)
    commands = build_records.units(compile_commands, build)
    units = [output for output in opened if output in commands]
    forced = [output for output in units if _forces(commands[output].command, header)]
    foreign = [output for output in units if _other_midout(opened[output], midout)]
    with_regions = [o for o in units if any(file.name == "midout.h" for file in opened[o])]
    if foreign:
        msg = f"{len(foreign)} translation units opened another midout.h than the generated one"
        hint = f"the first is {foreign[0]}; {_RETRY_HINT}"
        raise ProductFailure(msg, hint=hint)
    if len(forced) != len(units) or not units:
        missing = next((str(output) for output in units if output not in forced), "all")
        without = len(units) - len(forced)
        msg = f"{without} of {len(units)} translation units do not include the header"
        raise ProductFailure(msg, hint=f"the first without {header} is {missing}")
    if midout is not None and not with_regions:
        msg = f"none of {len(units)} translation units opened the generated midout.h"
        raise ProductFailure(msg, hint="does this engine still mark its regions with midout.h?")
    return HeaderProof(units=len(units), with_header=len(forced), with_regions=len(with_regions))


def _forces(command: str, header: Path) -> bool:
    return any(
        word == "-include" and Path(following) == header
        for word, following in itertools.pairwise(shlex.split(command))
    )


def _other_midout(files: frozenset[Path], midout: Path | None) -> bool:
    return midout is not None and any(f.name == "midout.h" and f != midout for f in files)
