"""Results of stages and their manifests: read back as written, or not at all."""

import hashlib
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.chain.result_store import (
    FileFacts,
    Manifest,
    StageFolder,
    content_of,
    dump_manifest,
    failure_content,
    parse_manifest,
)
from megtrim.core.chain.stage_result import StageResult, dump_result, parse_result
from megtrim.core.checks.statuses import CheckStatus, ScenarioStatus, VerdictKind
from megtrim.core.proof.neighbours import NeighbourRunResult, NeighboursResult
from megtrim.core.proof.results import VerifyResult
from megtrim.core.size.results import SizeResult
from megtrim.core.verdict.model import VerdictResult
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from unit.core.trim.stages.results import BUDGET, DEVICE, NEIGHBOUR, OUTCOME, SAMPLES, sample


@pytest.mark.parametrize(
    ("kind", "changes", "status"),
    [
        (VerifyResult, {}, 0),
        (VerifyResult, {"outcome": replace(OUTCOME, status=ScenarioStatus.TRAP)}, 1),
        (VerifyResult, {"outcome": replace(OUTCOME, status=ScenarioStatus.PARITY)}, 1),
        (NeighboursResult, {}, 0),
        (SizeResult, {}, 0),
        (SizeResult, {"budgets": ()}, 0),
        (SizeResult, {"budgets": (BUDGET, replace(BUDGET, status=CheckStatus.FAIL))}, 1),
        (VerdictResult, {}, 0),
        (VerdictResult, {"verdict": VerdictKind.FAIL}, 1),
    ],
)
def test_a_result_that_is_a_product_failure_exits_with_1(
    kind: type[StageResult], changes: dict[str, Any], status: int
) -> None:
    assert sample(kind, **changes).exit_code == status


RESULT = sample(VerifyResult)


def folder(result: StageResult, **files: str) -> StageFolder:
    named = {name.replace("_", "."): sha256 for name, sha256 in files.items()}
    return StageFolder(
        path=Path("out"), stage="verify", name="m", key="k", inputs={}, result=result, files=named
    )


def ended(**changes: Any) -> VerifyResult:
    return replace(RESULT, outcome=replace(RESULT.outcome, **changes))


@pytest.mark.parametrize(
    "other",
    [
        ended(status=ScenarioStatus.PARITY),
        ended(outputs=()),
        ended(outputs=(replace(OUTCOME.outputs[0], equal=False),)),
        replace(RESULT, device=replace(DEVICE, name="other")),
        replace(RESULT, device=replace(DEVICE, facts={"model": "C"})),
    ],
)
def test_what_was_found_is_its_content(other: VerifyResult) -> None:
    assert content_of(folder(other)) != content_of(folder(RESULT))


@pytest.mark.parametrize(
    "other",
    [
        ended(time_s=9.0),
        ended(conditions=None),
        ended(log_tail="a"),
        ended(crash="signal 5"),
        replace(RESULT, day=date(2027, 1, 31)),
    ],
)
def test_what_is_measured_is_not(other: VerifyResult) -> None:
    assert content_of(folder(other)) == content_of(folder(RESULT))


def test_what_is_measured_in_a_row_is_not_either() -> None:
    [level] = NEIGHBOUR.levels
    same, slower, other = (
        NeighbourRunResult(neighbour=replace(NEIGHBOUR, levels=(each,)))
        for each in (level, replace(level, time_s=9.0), replace(level, works=False))
    )
    assert content_of(folder(slower)) == content_of(folder(same)) != content_of(folder(other))


def test_files_are_and_logs_are_not() -> None:
    base = folder(RESULT, out_npy="1", run_log="1")

    assert content_of(base) == content_of(folder(RESULT, out_npy="1", run_log="2"))
    assert content_of(base) != content_of(folder(RESULT, out_npy="2", run_log="1"))
    assert content_of(base) != content_of(folder(RESULT, run_log="1"))


def test_a_failure_is_known_by_all_that_is_shown_of_it() -> None:
    failures: tuple[MegtrimError, ...] = (
        InfrastructureFailure("no phone"),
        InfrastructureFailure("no phone", attempts=("link lost",)),
        InfrastructureFailure("no phone", hint="plug it in"),
        InfrastructureFailure("another"),
        ProductFailure("no phone"),
    )

    assert len({failure_content(each) for each in failures}) == len(failures)


ODD: tuple[Any, ...] = (None, True, -1, 1.5, "x", [], {}, [[]], {"x": 1})


@pytest.mark.parametrize("result", SAMPLES.values(), ids=lambda each: type(each).__name__)
def test_what_was_written_is_read_back(result: StageResult) -> None:
    data = json.loads(json.dumps(dump_result(result), allow_nan=False))

    assert parse_result(type(result), data) == result
    assert dump_result(parse_result(type(result), data)) == data


def test_a_result_is_plain_json() -> None:
    data = dump_result(sample(VerifyResult))

    assert (data["day"], data["outcome"]["status"]) == ("2027-01-20", "pass")
    assert data["device"] == {"name": "board", "kind": "adb", "facts": {"model": "B"}}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("binding",), None, "binding: found None, expected text"),
        (("day",), "2027-02-30", "day: found '2027-02-30', expected a date such as 2027-01-31"),
        (
            ("day",),
            "2027-01-20T00:00:00",
            "result: found another spelling, expected the fields of Verify",
        ),
        (("day",), 0, "result: found another spelling, expected the fields of VerifyResult"),
        (("outcome", "status"), "fine", "outcome.status: found 'fine', expected one of pass, trap"),
        (("outcome", "time_s"), -1.0, "outcome.time_s: found -1.0, expected 0 or more"),
        (("outcome", "time_s"), "1", "outcome.time_s: found '1', expected a number"),
        (("outcome", "more"), 1, "outcome.more: found 1, expected no such key"),
        (("outcome", "outputs", 0, "equal"), 1, "outcome.outputs[0].equal: found 1, expected true"),
        (("outcome", "conditions", "before", "cpu_c"), 1e9, "cpu_c: found 1000000000.0, which no"),
        (("device", "facts", "model"), 1, "device.facts.model: found 1, expected text"),
        (("exit_code",), 0, "exit_code: found 0, expected no such key"),
    ],
)
def test_the_first_wrong_entry_is_named(path: tuple[Any, ...], value: object, said: str) -> None:
    data: Any = dump_result(sample(VerifyResult))
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value

    with pytest.raises(InputError, match=f"^{re.escape(said)}"):
        parse_result(VerifyResult, data)


@pytest.mark.parametrize("result", SAMPLES.values(), ids=lambda each: type(each).__name__)
def test_an_odd_entry_is_refused_or_read_as_what_it_says(result: StageResult) -> None:
    """Whatever stands in whichever place: an input error, never a bug or another value."""
    for data in _mutants(dump_result(result)):
        try:
            found = parse_result(type(result), data)
        except InputError:
            continue
        assert dump_result(found) == data


def _mutants(value: Any) -> Iterator[Any]:
    """Yield copies with one entry missing, added or of another value, at every depth."""
    if isinstance(value, dict):
        yield {**value, "another entry": 1}
        for key, each in value.items():
            yield {name: kept for name, kept in value.items() if name != key}
            for other in (*ODD, *_mutants(each)):
                yield {**value, key: other}
    elif isinstance(value, list):
        for at, each in enumerate(value):
            for other in (*ODD, *_mutants(each)):
                yield [*value[:at], other, *value[at + 1 :]]


FACTS = FileFacts(sha256="a" * 64, size_bytes=7)
MANIFEST = Manifest(
    stage="verify",
    name="m/s@any",
    key="0123456789abcdef0123",
    inputs={"model": "aa", "arguments": "--cpu ä"},
    result={"status": "pass", "unmet": 0, "time_s": 0.25, "outputs": [{"equal": True}]},
    files={"plain.log": FACTS, "plain/out": replace(FACTS, size_bytes=0)},
)


def sealed(**changes: Any) -> str:
    """Return a manifest that states the right digest of another content."""
    data = json.loads(dump_manifest(MANIFEST)) | changes
    del data["sha256"]
    text = json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    seal = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return json.dumps(data | {"sha256": seal})


def test_a_manifest_that_was_written_is_read_back() -> None:
    assert parse_manifest(dump_manifest(MANIFEST)) == MANIFEST
    assert parse_manifest(sealed()) == MANIFEST


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "null",
        "1e999",
        "[" * 100_000,
        '{"a":' * 100_000,
        "\ud800",
        dump_manifest(MANIFEST).replace('"pass"', '"trap"'),
        dump_manifest(MANIFEST).replace("0.25", "NaN"),
        dump_manifest(MANIFEST).replace('"unmet": 0', '"unmet": 1'),
        dump_manifest(MANIFEST).replace('"sha256": "', '"sha256": "0', 1),
    ],
)
def test_what_megtrim_did_not_write_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a manifest as megtrim writes it"):
        parse_manifest(text)


ODD_FIELDS: dict[str, list[Any]] = {
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
        *({field: value} for field, values in ODD_FIELDS.items() for value in values),
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
    for _ in range(6_000):
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
