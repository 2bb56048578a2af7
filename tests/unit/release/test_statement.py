"""The provenance: an in-toto statement with the fields that SLSA asks for."""

from __future__ import annotations

import json

import pytest
from google.protobuf.json_format import MessageToDict, Parse, ParseDict, ParseError
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

from megtrim.release.statement import (
    dump_statement,
    list_dependencies,
    make_statement,
    parse_statement,
)
from megtrim.util.errors import InputError
from unit.release.examples import MODELS, STAGES, contents, for_other_engine

FILES = {"lib/b": "b" * 64, "bin/a": "a" * 64}


def text() -> str:
    return dump_statement(make_statement(contents(), FILES, STAGES, megtrim="0.1.0"))


def test_its_keys_are_those_of_in_toto_and_slsa() -> None:
    """Readers of other tools find what they look for."""
    read = json.loads(text())
    definition = read["predicate"]["buildDefinition"]

    assert read["_type"] == "https://in-toto.io/Statement/v1"
    assert read["predicateType"] == "https://slsa.dev/provenance/v1"
    assert read["subject"] == [
        {"name": "bin/a", "digest": {"sha256": "a" * 64}},
        {"name": "lib/b", "digest": {"sha256": "b" * 64}},
    ]
    assert definition["internalParameters"] == {
        "stage build/plain": "0" * 20,
        "stage reduce/reduced": "1" * 20,
        "toolchain": "clang-linux-arm64 clang 14.0.6 for aarch64-linux-gnu",
    }
    assert definition["resolvedDependencies"][0] == {
        "name": "engine megengine",
        "digest": {"gitCommit": "c2f1e0b6a3d94857", "sha256": "9f4c0d8e1b7a6532" * 4},
    }
    assert read["predicate"]["runDetails"]["builder"]["version"] == {"megtrim": "0.1.0"}


def test_in_toto_s_own_reader_takes_it() -> None:
    """It knows every key of a statement and of SLSA's provenance, and refuses others."""
    read = Parse(text(), statement_pb2.Statement())
    predicate = MessageToDict(read.predicate)

    Statement.copy_from_pb(read).validate()
    provenance = ParseDict(predicate, provenance_pb2.Provenance())
    assert provenance.build_definition.build_type == "urn:megtrim:trim:v1"
    with pytest.raises(ParseError, match="has no field named"):
        ParseDict(predicate | {"runDetail": {}}, provenance_pb2.Provenance())


def test_what_is_written_is_read() -> None:
    """All of it."""
    statement = parse_statement(text(), source="s")

    assert statement.digests == FILES
    assert dump_statement(statement) == text()


def test_the_sources_are_all_that_it_is_made_from() -> None:
    """Each model by its digest, and the engine by what entered the build."""
    named = {each.name: each.digest for each in list_dependencies(contents())}

    for name, sha256 in MODELS.items():
        assert named[f"model {name}"] == {"sha256": sha256}
    assert list_dependencies(for_other_engine()) != list_dependencies(contents())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Statement/v1", "Statement/v2", "found a statement of"),
        ("provenance/v1", "provenance/v0.2", "found a statement of"),
        ("urn:megtrim:trim:v1", "urn:other", "found a statement of"),
        ('"lib/b"', '"bin/a"', "subject: found a file twice or out of order"),
        ('"lib/b"', '"aaa"', "subject: found a file twice or out of order"),
        ('"subject"', '"subjects"', "subject: found nothing"),
    ],
)
def test_another_statement_is_refused(old: str, new: str, said: str) -> None:
    """It would say something about other things."""
    assert text().count(old) == 1

    with pytest.raises(InputError) as caught:
        parse_statement(text().replace(old, new), source="s")
    assert said in caught.value.message
