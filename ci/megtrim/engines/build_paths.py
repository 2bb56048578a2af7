"""Where a build can be: paths that CMake, Ninja, compilers and linkers all take as they are.

Each of them reads some characters as its own: a blank ends a word, ``;`` an entry of CMake's lists,
``,`` one of ``-Wl``, ``:`` a folder of libraries; GNU ld puts a name in the place of ``%``, and a
map of prefixes is split at ``=``. Pure.
"""

from __future__ import annotations

import re
from pathlib import Path

from megtrim.errors import InputError

_BUILD = re.compile(r"[A-Za-z0-9_./+@~#^-]")
_SCRIPT = re.compile(r"[A-Za-z0-9_./+@-]")


def expect_plain(path: Path, what: str, *, script: bool = False, hint: str) -> None:
    """Refuse a path that a build would tear apart. Raises InputError.

    ``what`` names it, such as ``--out``. With ``script``, the engine's own shell script is told
    of it too, and takes no letters but ASCII.
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
