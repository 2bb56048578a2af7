"""The documents of a release: made from what it holds, each about all of the others."""

from __future__ import annotations

from megtrim.release.bill_of_materials import BILL_FILE
from megtrim.release.contents import README_FILE, RELEASE_FILE
from megtrim.release.documents import (
    CHECKSUMS_FILE,
    DOCUMENTS,
    describe,
    list_licences,
    parse_checksums,
    seal,
)
from megtrim.release.statement import STATEMENT_FILE, parse_statement
from unit.release.examples import STAGES, contents, sha

PAYLOAD = {"bin/a": "a" * 64, "licences/LICENSE": "b" * 64}


def test_the_sums_are_of_all_else() -> None:
    """Of the payload and of each document."""
    texts = seal(contents(), PAYLOAD, stages=STAGES, megtrim="0.1.0")
    sums = parse_checksums(texts.pop(CHECKSUMS_FILE), source="s")

    assert sums == PAYLOAD | {path: sha(text) for path, text in texts.items()}
    assert {*texts, CHECKSUMS_FILE} == DOCUMENTS


def test_the_statement_is_of_all_but_the_sums_and_itself() -> None:
    """And says by what the programs were made."""
    texts = seal(contents(), PAYLOAD, stages=STAGES, megtrim="0.1.0")
    stated = parse_statement(texts[STATEMENT_FILE], source="s")

    assert {*stated.digests} == {*PAYLOAD, README_FILE, RELEASE_FILE, BILL_FILE}
    assert (stated.stages, stated.megtrim) == (STAGES, "0.1.0")


def test_an_export_says_whether_it_has_licences() -> None:
    """By their folder."""
    with_them, without = describe(contents(), PAYLOAD), describe(contents(), ["bin/a"])

    assert list_licences(PAYLOAD) == ["licences/LICENSE"]
    assert "are in `licences`" in with_them[README_FILE]
    assert "no file with a licence" in without[README_FILE]
    assert {*with_them} == {README_FILE, RELEASE_FILE}
