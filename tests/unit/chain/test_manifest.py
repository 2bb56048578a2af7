"""Manifests: what was written is read back, and nothing else is."""

import hashlib
import json
import random
from dataclasses import replace
from typing import Any

import pytest

from megtrim.chain.store import FileFacts, Manifest, dump_manifest, parse_manifest
from megtrim.util.errors import InputError

FACTS = FileFacts(sha256="a" * 64, size_bytes=7)
MANIFEST = Manifest(
    stage="verify",
    name="m/s@any",
    key="0123456789abcdef0123",
    inputs={"model": "aa", "arguments": "--cpu ä"},
    result={"status": "pass", "unmet": 0, "time_s": 0.25, "outputs": [{"equal": True}]},
    files={"plain.log": FACTS, "plain/out": replace(FACTS, size_bytes=0)},
)
MUTANTS = 6_000


def sealed(**changes: Any) -> str:
    """Return a manifest that states the right digest of another content."""
    data = json.loads(dump_manifest(MANIFEST)) | changes
    del data["sha256"]
    text = json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    seal = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return json.dumps(data | {"sha256": seal})


def test_what_was_written_is_read_back() -> None:
    assert parse_manifest(dump_manifest(MANIFEST)) == MANIFEST
    assert parse_manifest(sealed()) == MANIFEST


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "{}", "null", "1e999", "[" * 100_000, '{"a":' * 100_000, "\ud800"),
        dump_manifest(MANIFEST).replace('"pass"', '"trap"'),
        dump_manifest(MANIFEST).replace("0.25", "NaN"),
        dump_manifest(MANIFEST).replace('"unmet": 0', '"unmet": 1'),
        dump_manifest(MANIFEST).replace('"sha256": "', '"sha256": "0', 1),
    ],
)
def test_what_megtrim_did_not_write_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a manifest as megtrim writes it"):
        parse_manifest(text)


ODD: dict[str, list[Any]] = {
    "layout": [2, 4, 3.0, True, "3", None],
    "stage": [1, None, []],
    "name": [1, None, {}],
    "key": ["", "0" * 19, "0" * 21, "G" * 20, 0, None],
    "inputs": [None, [], {"a": 1}, {"a": None}, "x"],
    "result": [None, [], "x", 1, {"text": "\ud800"}],
    "files": [None, [], "x", {"a": None}, {"a": {}}, {"a": {"sha256": "a" * 64}}],
    "more": [1],
}
ODD_NAMES = ("", ".", "..", "/etc/passwd", "../x", "a/../b", "./a", "a//b", "a/", "a\0b")
ODD_FACTS: dict[str, list[Any]] = {
    "sha256": ["", "A" * 64, 1, None],
    "bytes": [-1, 1.0, True, "1", None],
    "more": [1],
}


@pytest.mark.parametrize(
    "changes",
    [
        *({field: value} for field, values in ODD.items() for value in values),
        *({"files": {name: {"sha256": "a" * 64, "bytes": 1}}} for name in ODD_NAMES),
        *(
            {"files": {"a": {"sha256": "a" * 64, "bytes": 1} | {field: value}}}
            for field, values in ODD_FACTS.items()
            for value in values
        ),
    ],
)
def test_every_field_has_its_form(changes: dict[str, Any]) -> None:
    """Also where the digest is right: a file outside the folder is never looked at."""
    with pytest.raises(InputError, match="expected a manifest"):
        parse_manifest(sealed(**changes))


def test_mutants_are_refused_or_say_the_same() -> None:
    chance = random.Random(14)
    whole = dump_manifest(MANIFEST)
    for _ in range(MUTANTS):
        text = mutate(whole, chance)
        try:
            assert parse_manifest(text) == MANIFEST, text
        except InputError:
            continue


def mutate(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text))
        to = min(len(text), at + chance.randint(1, 40))
        new = chance.choice(
            ["", chr(chance.randrange(1, 0x250)), "null", "[]", "{}", "-1", '"', text[at:to] * 2]
        )
        text = (text[:at] + new + text[to:]) or "x"
    return text
