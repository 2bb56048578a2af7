"""Lays wrappers of all compilers, linkers and archivers of the PATH into a folder."""

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import guard_write
from megtrim.places.compile.projects.recorded import wrapper
from megtrim.places.compile.projects.recorded.calls import (
    LARGEST_RECORD_BYTES,
    RecordedCall,
    Role,
    read_record,
)

_PREFIX = r"(?:[\w.]+-)*"
_RELEASE = r"(?:-\d+(?:\.\d+)*)?"
_ROLES: Mapping[Role, re.Pattern[str]] = {
    Role.ARCHIVER: re.compile(rf"{_PREFIX}ar{_RELEASE}"),
    Role.COMPILER: re.compile(rf"{_PREFIX}(?:cc|gcc|g\+\+|c\+\+|clang|clang\+\+){_RELEASE}"),
    Role.LINKER: re.compile(rf"{_PREFIX}ld(?:\.\w+)?{_RELEASE}"),
}
"""By their names, which cross compilers and releases have words around."""

SECTIONS = ("-ffunction-sections", "-fdata-sections")
_CLANG = "clang"
_RECORD = "calls.jsonl"
_FOLDER = "bin"


class Wrappers:
    def __init__(self, root: Path) -> None:
        self._root = root
        self.record = root / _RECORD

    def lay(
        self,
        search: str,
        *,
        before: Sequence[str],
        behind: Sequence[str],
        linking: Sequence[str] = (),
        of_clang: Sequence[str] = (),
    ) -> str:
        """Return ``search``, a PATH, with the folder of the wrappers in front.

        A call that compiles gets the words ``before`` all others, so that those of the build win,
        and those ``behind`` all others, which win; one that links gets ``linking`` first of all.
        Those ``of_clang`` follow, in calls of compilers that are called so.
        """
        folder = self._root / _FOLDER
        with guard_write(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self.record.write_bytes(b"")
            for name, (role, program) in _find_tools(search, folder).items():
                script = folder / name
                last = (*behind, *of_clang) if _CLANG in name else behind
                flags = json.dumps([list(before), list(last), list(linking)])
                script.write_text(self._render(role, flags, program), encoding="utf-8")
                script.chmod(0o755)
        return os.pathsep.join((str(folder), search))

    def _render(self, role: Role, flags: str, program: Path) -> str:
        words = (
            sys.executable,
            "-I",
            "-S",
            wrapper.__file__,
            str(self.record),
            role,
            flags,
            str(program),
        )
        return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'

    def read(self) -> tuple[RecordedCall, ...]:
        """Raises InputError for a record that no wrapper writes."""
        try:
            if self.record.stat().st_size > LARGEST_RECORD_BYTES:
                msg = f"{self.record}: found more than {LARGEST_RECORD_BYTES:,} bytes of calls"
                raise InputError(msg, hint="build less of the project: name one target")
            data = self.record.read_bytes()
        except OSError as error:
            msg = f"{self.record}, the record of the build, cannot be read: {error.strerror}"
            raise InputError(msg, hint="does the build remove files of other folders?") from None
        return tuple(read_record(data, str(self.record)))


def _find_tools(search: str, own: Path) -> dict[str, tuple[Role, Path]]:
    """The first of each name, as a shell finds it."""
    found: dict[str, tuple[Role, Path]] = {}
    for folder in search.split(os.pathsep):
        for name in _list_names(Path(folder)):
            role = next((each for each, names in _ROLES.items() if names.fullmatch(name)), None)
            path = Path(folder).absolute() / name
            if role is None or name in found or path.parent == own:
                continue
            if path.is_file() and os.access(path, os.X_OK):
                found[name] = (role, path)
    return found


def _list_names(folder: Path) -> Iterator[str]:
    try:
        yield from sorted(each.name for each in folder.iterdir())
    except OSError:
        return
