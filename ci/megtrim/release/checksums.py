"""SHA256SUMS: the sha256 and path of every other file of a release, as sha256sum reads them. Pure.

The paths are relative, sorted, each once, and never lead out of the release.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from megtrim.errors import InputError
from megtrim.printable import make_printable
from megtrim.release.contents import HINT

CHECKSUMS_FILE = "SHA256SUMS"
LARGEST_BYTES = 4 * 1024 * 1024

_LINE = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<path>[^\x00-\x1f\x7f\\]{1,1000})")
_EXPECTED = "a sha256, two blanks and a path within the release"


def dump_checksums(digests: Mapping[str, str]) -> str:
    """Return the lines; ``digests`` maps paths to their sha256."""
    return "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(digests.items()))


def parse_checksums(text: str, *, source: str) -> dict[str, str]:
    """Return the sha256 of each path. Raises InputError naming the line that is none."""
    if not text.endswith("\n"):
        raise _make_error(source, text.count("\n") + 1, "no end of line", "one")
    found: list[tuple[str, str]] = []
    for number, line in enumerate(text[:-1].split("\n"), start=1):
        match = _LINE.fullmatch(line)
        if match is None or not is_inside(match["path"]):
            raise _make_error(source, number, repr(line[:100]), _EXPECTED)
        if found and found[-1][0] >= match["path"]:
            raise _make_error(source, number, "a path out of order, or twice", "each once, sorted")
        found.append((match["path"], match["sha256"]))
    return dict(found)


def is_inside(path: str) -> bool:
    """Tell whether a path is relative, plain, and within the folder that it is relative to."""
    plain = PurePosixPath(path)
    # One that begins with two slashes is a root of its own.
    leaves = plain.is_absolute() or ".." in plain.parts
    return bool(plain.parts) and str(plain) == path and not leaves


def list_unfit(paths: Iterable[str]) -> Iterator[str]:
    """Name the paths that some machine could not show, or would take for another one of them."""
    known: dict[str, str] = {}
    for path in paths:
        if make_printable(path) != path:
            yield f"{path!a}, which has letters that cannot be seen"
        for one in (path, *map(str, PurePosixPath(path).parents)):
            folded = unicodedata.normalize("NFKC", one).casefold()
            if known.setdefault(folded, one) != one:
                yield f"both {one} and {known[folded]}, which are one name on some machines"


def _make_error(source: str, line: int, found: str, expected: str) -> InputError:
    msg = f"{source}:{line}: found {found}, expected {expected}"
    return InputError(msg, hint=HINT)
