"""``--out``: the folder of results, its option, and whether anything can be written there."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from megtrim.errors import InputError
from megtrim.store import cannot_write

DEFAULT_OUT = "megtrim-out"
CONFIG_HELP = "The configuration; FILE#TOOLCHAIN chooses one of several toolchains."
_MISTAKES = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG}
)
"""Errors that the given name causes; others are the machine's."""
_CIRCLE = "links that lead in a circle"


class _Folder(click.Path):
    """A path, but not an empty one, which would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("found nothing, expected a folder", param, ctx)
        return super().convert(value, param, ctx)


def out_option(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return ``--out``, whatever a command does with the folder."""
    return click.option(
        "--out",
        type=_Folder(path_type=Path),
        default=Path(DEFAULT_OUT),
        show_default=True,
        help=help_text,
    )


def expect_writable(out: Path) -> None:
    """Refuse a folder that results cannot go to; nothing is left there. Raises InputError.

    It tries to write where the folder is or will be: permissions do not show everything, and a
    full disk is no mistake of the user.
    """
    try:
        whole = out.resolve()
        ways = (whole, *whole.parents)
        # Later Pythons leave a circle as it is, where older ones raise.
        if any(each.is_symlink() for each in ways):
            raise RuntimeError
        nearest = next(each for each in ways if each.exists())
        with TemporaryDirectory(prefix=".megtrim-", dir=nearest):
            return
    except RuntimeError:
        found = _CIRCLE
    except OSError as error:
        if error.errno not in _MISTAKES:
            raise cannot_write(out, error) from None
        found = error.strerror or str(error)
    msg = f"--out {out}: nothing can be written there: {found}"
    raise InputError(msg, hint="name a folder that can be written or made")
