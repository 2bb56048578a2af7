"""The documents of a release that follow from what it holds, and the sums of all its files. Pure.

A trim makes them; they are made again when devices have proven it, and when it is checked.

SHA256SUMS has the sha256 and path of every other file, as sha256sum reads them. The paths are
relative, sorted, each once, and never lead out of the release.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from megtrim.release.bill_of_materials import BILL_FILE, render_bill
from megtrim.release.contents import (
    HINT,
    LICENCES,
    README_FILE,
    RELEASE_FILE,
    ReleaseContents,
    dump_contents,
)
from megtrim.release.packages import AAR_PATH
from megtrim.release.pages import render_readme
from megtrim.release.statement import STATEMENT_FILE, dump_statement, make_statement
from megtrim.util.errors import InputError
from megtrim.util.printable import make_printable

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


DOCUMENTS = frozenset({README_FILE, RELEASE_FILE, BILL_FILE, STATEMENT_FILE, CHECKSUMS_FILE})


def list_licences(paths: Iterable[str]) -> list[str]:
    """Return those of the paths that are licences."""
    return [path for path in paths if path.startswith(f"{LICENCES}/")]


def describe(contents: ReleaseContents, paths: Iterable[str]) -> dict[str, str]:
    """Return the text of each document that an export has; ``paths``: of its other files."""
    every = frozenset(paths)
    return {
        README_FILE: render_readme(
            contents, has_licences=bool(list_licences(every)), has_aar=AAR_PATH in every
        ),
        RELEASE_FILE: dump_contents(contents),
    }


def seal(
    contents: ReleaseContents,
    payload: Mapping[str, str],
    *,
    stages: Mapping[str, str],
    megtrim: str,
) -> dict[str, str]:
    """Return the text of each document of a release, by path.

    ``payload`` maps every other file to its sha256, ``stages`` the id of each task that the
    programs are made from to the key of its result; ``megtrim`` is its version.
    """
    bill = render_bill(contents, licences=list_licences(payload), megtrim=megtrim)
    texts = {**describe(contents, payload), BILL_FILE: bill}
    digests = {**payload, **{path: digest(text) for path, text in texts.items()}}
    statement = dump_statement(make_statement(contents, digests, stages, megtrim=megtrim))
    sums = dump_checksums(digests | {STATEMENT_FILE: digest(statement)})
    return texts | {STATEMENT_FILE: statement, CHECKSUMS_FILE: sums}


def digest(text: str) -> str:
    """Return the sha256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
