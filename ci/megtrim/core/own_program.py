"""An engine's own program, which runs models: its command line, flags, outputs and log."""

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from megtrim.core.parts import find_parts, load
from megtrim.libs.programs.application_arguments import Places
from megtrim.libs.programs.arrays import Tensor
from megtrim.libs.programs.exit_status import error_message
from megtrim.libs.programs.flags import Dialect
from megtrim.libs.programs.timing_log import TimingLog
from megtrim.libs.util.errors import InputError


class OwnProgram(Protocol):
    """What needs no tree of the engine."""

    NAME: str
    MODEL_FILE: str
    """The name that it gets its model by."""
    LOG_LINE: re.Pattern[str]
    """The beginnings of lines of its log that are no message of an error."""
    DIALECTS: tuple[Dialect, ...]
    """Of all releases, the newest first."""

    def compose(
        self,
        program: str,
        arguments: Sequence[str],
        places: Places,
        *,
        search: bool,
        dumps: bool,
    ) -> tuple[str, ...]:
        """``search``: for algorithms; ``dumps``: write the outputs."""

    def check_reserved(self, arguments: Iterable[str], *, source: str) -> None:
        """Raises InputError for a flag that megtrim itself sets."""

    def parse_dump(self, data: bytes, *, name: str, source: str) -> Tensor:
        """Raises InputError for a damaged file."""

    def read_timing_log(
        self, text: str, *, source: str, iterations: int, warmups: int
    ) -> TimingLog | None:
        """Read what it printed; None if that is nothing of its own. Raises DamagedLog.

        ``iterations`` (of each test) and ``warmups`` are the numbers that were asked for.
        """


class ProgramFlags(Protocol):
    """The flags of the program of a tree."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def input_suffixes(self) -> tuple[str, ...]:
        """Of files that it takes as inputs."""

    @property
    def needs_inputs(self) -> bool:
        """Whether the program runs no model without a file for each input."""

    def check(self, arguments: Sequence[str], *, source: str) -> None:
        """``source`` is the place of the arguments (``megtrim.yaml:12``)."""


def find_program() -> OwnProgram:
    found: OwnProgram = load(find_parts().program, "programs that run models by themselves")
    return found


def name_model_file() -> str:
    """Return the name that programs get their model by, where they run."""
    return find_program().MODEL_FILE if find_parts().program else "model"


def read_error(text: str) -> str:
    """Return the message of the error in what a program printed; empty if there is none."""
    return error_message(text, find_program().LOG_LINE if find_parts().program else None)


def find_dialect(flags: ProgramFlags | None) -> Dialect:
    """Raises InputError for an engine that has no such program."""
    if flags is None:
        msg = "this engine has no program of its own that runs models"
        raise InputError(msg, hint="leave out what changes its flags, such as --neighbours")
    return flags.dialect
