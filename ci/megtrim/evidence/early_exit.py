"""A run that ended before it reached a verdict, as a document: ``ending.json``.

Pure. Another job, which has only the folder of results, can thus report what happened.
"""

from __future__ import annotations

from typing import Annotated

from megtrim.config.config_id import DEFAULT_CONFIG
from megtrim.evidence.fields import Line, expecting
from megtrim.util.errors import SEVERITY
from megtrim.util.strict_json import dump, load
from megtrim.util.value import Value

VERSION = 2


class EarlyExit(Value):
    """What ended a run: its exit status, what was seen, and what to do."""

    version: int = VERSION
    config: Line = DEFAULT_CONFIG
    """The configuration, as the run was given it."""
    exit: Annotated[int, expecting(f"one of {sorted(SEVERITY)}", SEVERITY.__contains__)]
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


def dump_ending(ending: EarlyExit) -> str:
    return dump(ending)


def parse_ending(text: str, *, source: str) -> EarlyExit:
    """Read ending.json. Anything but exactly its shape is an InputError naming ``source``."""
    hint = "run the build job again"
    return load(EarlyExit, text, source=source, version=VERSION, hint=hint)
