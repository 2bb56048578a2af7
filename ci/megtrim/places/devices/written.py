"""What a program left in the folder of its outputs: the files that are compared, or why not.

Each kind of device lists its entries, and all of them are judged here.
"""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePosixPath

from megtrim.libs.util.errors import InfrastructureFailure, ProductFailure
from megtrim.libs.util.value import Value

MOST_ENTRIES = 1000
DEEPEST = 8
"""How many folders may lie in each other, below the folder of outputs."""
LARGEST_TOTAL_BYTES = 1024 * 1024 * 1024
_SHOWN = 200
_HINT = "only files are compared: let the command write such things elsewhere than into {outputs}"


class WrittenKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "symbolic link"
    OTHER = "pipe, socket or device"


class Entry(Value):
    path: str
    """Relative to the folder of outputs, with ``/`` between its parts."""
    kind: WrittenKind


def list_files(folder: str, entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the sorted paths of the files. Raises ProductFailure for what cannot be compared.

    It takes no entry more than it needs, so that a walk that makes them ends in time.
    """
    found = []
    for entry in entries:
        found.append(entry)
        if len(found) > MOST_ENTRIES:
            msg = f"the program left more than {MOST_ENTRIES:,} files and folders in {folder}"
            raise ProductFailure(msg, hint="let the command write fewer, or pack them into one")
        if entry.path.count("/") > DEEPEST:
            top = ascii(entry.path.partition("/")[0])[:_SHOWN]
            nested = f"more than {DEEPEST} folders in each other"
            msg = f"the program left {top} in {folder}, with {nested}"
            raise ProductFailure(msg, hint="let the command make fewer, or pack them into one file")
    found.sort(key=lambda entry: entry.path)
    files = tuple(entry.path for entry in found if entry.kind is WrittenKind.FILE)
    for entry in found:
        _expect_possible(folder, entry.path, frozenset(files))
        _expect_comparable(folder, entry)
    return files


def _expect_possible(folder: str, path: str, files: frozenset[str]) -> None:
    """Refuse what no program can leave, only a machine can claim: it would lead elsewhere."""
    parents = [above.as_posix() for above in PurePosixPath(path).parents]
    if {"", ".", ".."}.intersection(path.split("/")) or not files.isdisjoint(parents):
        msg = f"the device lists {ascii(path)[:_SHOWN]} in {folder}, which cannot be a file there"
        raise InfrastructureFailure(msg, hint="is that device broken, or not to be trusted?")


def _expect_comparable(folder: str, entry: Entry) -> None:
    if not entry.path.isprintable() or "\N{REPLACEMENT CHARACTER}" in entry.path:
        path = ascii(entry.path)[:_SHOWN]
        msg = f"the program left a {entry.kind} in {folder} whose name is not text: {path}"
        raise ProductFailure(msg, hint="is it the name of an output of the model?")
    if entry.kind not in (WrittenKind.FILE, WrittenKind.FOLDER):
        msg = f"the program left a {entry.kind} among its outputs: {folder}/{entry.path[:_SHOWN]}"
        raise ProductFailure(msg, hint=_HINT)
