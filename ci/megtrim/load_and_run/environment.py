"""Variables that a scenario sets for its program: which ones it may set.

The launcher of a program, such as an emulator or a loader, has the same environment, and it is
megtrim's. Pure.
"""

from __future__ import annotations

import re

NAME_PATTERN = r"^(?!(LD_|MEGTRIM_|MIDOUT_|QEMU_))(?!PATH$)[A-Za-z_][A-Za-z0-9_]*$"
NAME_EXPECTED = (
    "the name of a variable, such as OMP_NUM_THREADS, but not PATH, LD_..., QEMU_..., MIDOUT_... "
    "or MEGTRIM_..., which are megtrim's or a launcher's"
)
LONGEST_NAME = 200
LONGEST_VALUE = 4096
MOST_VARIABLES = 64
_NAME = re.compile(NAME_PATTERN)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

Variables = tuple[tuple[str, str], ...]
"""Name and value of each, sorted."""


def is_name(text: str) -> bool:
    """Tell whether a scenario may set a variable of this name."""
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None


def is_value(text: str) -> bool:
    """Tell whether a variable may have this value: one line, perhaps an empty one."""
    return len(text) <= LONGEST_VALUE and _CONTROL.search(text) is None
