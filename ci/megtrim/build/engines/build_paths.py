"""Which paths CMake, Ninja, compilers and linkers all take unchanged.

A blank separates arguments, ``;`` entries of CMake's lists, ``,`` those of ``-Wl``, ``:`` library
folders; GNU ld replaces ``%``, and prefix maps are split at ``=``.
"""

from __future__ import annotations

import re
from pathlib import Path

from megtrim.util.errors import InputError

_BUILD = re.compile(r"[A-Za-z0-9_./+@~#^-]")
_SCRIPT = re.compile(r"[A-Za-z0-9_./+@-]")


def expect_plain(path: Path, what: str, *, script: bool = False, hint: str) -> None:
    """Raise InputError for a path that a build would split or change.

    ``what`` names it, such as ``--out``. ``script``: the engine's own shell script gets the path,
    too, and takes only ASCII letters.
    """
    text = str(path)
    wrong = next((each for each in text if not _is_plain(each, script=script)), None)
    if wrong is None:
        return
    letters = f"{'ASCII ' if script else ''}letters, digits and _ . / + @ -"
    msg = f"{what}: found {wrong!r} in {text!r}, which builds cannot have in their path"
    raise InputError(msg, hint=f"{hint}, whose whole path has only {letters}")


def _is_plain(character: str, *, script: bool) -> bool:
    if character.isascii():
        return (_SCRIPT if script else _BUILD).fullmatch(character) is not None
    return character.isprintable() and not script
