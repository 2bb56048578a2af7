"""Every way megtrim can end badly, and the exit status of each.

    MegtrimError
    ├── InputError              2   bad usage, configuration, file, or a missing tool
    ├── ProductFailure          1   the engine or its trimming is at fault
    ├── InfrastructureFailure   3   device, docker, network, disk
    ├── Interrupted           130   a person pressed Ctrl-C
    └── Bug                    70   anything else that escaped

Only the command line turns these
into an exit status; every other room raises them and says what to do.
"""

import errno
import shlex
from collections.abc import Sequence
from typing import ClassVar

EXIT_PASS = 0
EXIT_BUG = 70

ACCEPT = ("trim", "--accept")
"""The command that rewrites the committed keep set; many hints name it."""

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})

DISK_ERRORS = frozenset(
    {*NO_ROOM, errno.EROFS, errno.EIO, errno.EFBIG, errno.ESTALE, errno.ENOTCONN}
)
"""Error numbers of a disk that cannot take what is written, whatever it was."""

NO_NAMES = frozenset(
    {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENODEV}
)
"""Error numbers for a path that is the user's mistake, whatever was to be done with it."""


class MegtrimError(Exception):
    """An expected failure: ``message`` says what was found, ``hint`` what to do about it.

    ``command``: arguments that do what the hint says, verb first, such as ``stage build``; whoever
    shows the error adds configuration and results folder (:meth:`complete`).
    """

    exit_code: ClassVar[int]

    def __init__(self, message: str, *, hint: str = "", command: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self._hint = hint
        self._command = tuple(command)
        self._place: tuple[str, ...] = ()

    def complete(self, place: Sequence[str]) -> None:
        """Add the options that the command of the hint needs, such as ``--config PATH``."""
        self._place = tuple(place)

    def shorten(self) -> None:
        first, _, quoted = self.message.partition("\n")
        if quoted:
            self.message = f"{first} its output is not shown, because the sources are private"

    @property
    def title(self) -> str:
        first, _, rest = self.message.partition("\n")
        return f"{first} {rest.splitlines()[0]}" if rest and first.endswith(":") else first

    @property
    def hint(self) -> str:
        if not self._command:
            return self._hint
        verb, *rest = self._command
        return f"{self._hint}: {shlex.join(('megtrim', *verb.split(), *self._place, *rest))}"

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class InputError(MegtrimError):
    exit_code = 2


class ProductFailure(MegtrimError):
    """The engine does not compile, a region is missing, an output differs, a budget is broken."""

    exit_code = 1


class InfrastructureFailure(MegtrimError):
    """Nothing is known about the product. ``attempts``: the failures, with this one last."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "", attempts: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.attempts = attempts


class Interrupted(MegtrimError):
    exit_code = 130


class Bug(MegtrimError):
    exit_code = EXIT_BUG

    def __init__(self) -> None:
        super().__init__("megtrim crashed", hint="report the end of the log of this run")


SEVERITY: tuple[int, ...] = (130, EXIT_BUG, 2, 1, 3)
"""Exit statuses, most important first: a chain exits with the first of these that occurred."""


def worst_exit_code(codes: list[int]) -> int:
    return next((code for code in SEVERITY if code in codes), EXIT_PASS)
