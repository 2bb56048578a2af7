"""The documents of a release that follow from what it holds. Pure.

A trim makes them; they are made again when devices have proven it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from megtrim.release import readme
from megtrim.release.bill_of_materials import BILL_FILE, render_bill
from megtrim.release.checksums import CHECKSUMS_FILE, dump_checksums
from megtrim.release.contents import (
    LICENCES,
    README_FILE,
    RELEASE_FILE,
    ReleaseContents,
    dump_contents,
)
from megtrim.release.prefab import AAR_PATH
from megtrim.release.statement import STATEMENT_FILE, dump_statement, make_statement

DOCUMENTS = frozenset({README_FILE, RELEASE_FILE, BILL_FILE, STATEMENT_FILE, CHECKSUMS_FILE})


def list_licences(paths: Iterable[str]) -> list[str]:
    """Return those of the paths that are licences."""
    return [path for path in paths if path.startswith(f"{LICENCES}/")]


def describe(contents: ReleaseContents, paths: Iterable[str]) -> dict[str, str]:
    """Return the text of each document that an export has; ``paths``: of its other files."""
    every = frozenset(paths)
    return {
        README_FILE: readme.render(
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
