"""Evidence as a document: it comes from where a pull request's program ran."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from megtrim.checks.content import Contradiction
from megtrim.checks.statuses import ScenarioStatus
from megtrim.evidence import limits
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.evidence import (
    Evidence,
    EvidenceSet,
    dump_set,
    load_file,
    load_proofs,
    parse_set,
    read_evidence,
    read_folders,
)
from megtrim.load_and_run.parity import OutputResult
from megtrim.load_and_run.telemetry import Conditions, Reading
from megtrim.util.errors import InputError
from unit.evidence.support import (
    HOSTILE_DIGESTS,
    HOSTILE_NAMES,
    SCENARIO,
    Change,
    changed,
    evidence,
    put,
    result,
    write_evidence,
    written,
)

FULL = evidence(
    result(
        status=ScenarioStatus.TRAP,
        outputs=(OutputResult(name="o", size_bytes=4, equal=False, largest_difference=None),),
        missing_regions=("kern<1>",),
        log_tail="Trace/breakpoint trap\n\tcore dumped",
        conditions=Conditions(before=Reading(cpu_c=-3.5), after=Reading(thermal_status=1)),
        crash="ended by signal 5 (SIGTRAP)\n\t#00 pc 0",
    )
)
TEXT = written(FULL)
HINT = "run the device job again; `megtrim ci evidence run` writes it"
ENTRY = ("entries", 0)
RESULT = (*ENTRY, "results", 0)
AFTER = (*RESULT, "conditions", "after")


def refused(text: str) -> str:
    """Return what is said of a text that is no evidence."""
    with pytest.raises(InputError) as caught:
        parse_set(text, source="evidence.json", hint=HINT)
    assert caught.value.hint == HINT
    return caught.value.message


def test_evidence_comes_back_as_it_went() -> None:
    """That of a job, and the set that lies next to a baseline."""
    several = EvidenceSet(entries=(FULL, evidence()))

    assert parse_set(dump_set(several), source="x") == several
    assert parse_set(dump_set(EvidenceSet(entries=())), source="x").entries == ()
    assert dump_set(EvidenceSet(entries=())) == '{\n "version": 4,\n "entries": []\n}\n'


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("path", [("class",), ("device", "name"), ("device", "kind")])
def test_names_are_names(path: tuple[str, ...], name: str) -> None:
    """They are shown, and compared with the bundle's."""
    said = refused(changed(TEXT, put(*ENTRY, *path, value=name)))

    assert said.endswith("expected a name of letters, digits, '.', '_' and '-'")


@pytest.mark.parametrize("digest", HOSTILE_DIGESTS)
@pytest.mark.parametrize("key", ["binding", "trace", "cache", "functions"])
def test_files_are_named_by_digest(key: str, digest: str) -> None:
    """No other name can be asked for."""
    said = refused(changed(TEXT, put(*RESULT, key, value=digest)))

    assert said.endswith("expected a sha256 of 64 hex digits")


@pytest.mark.parametrize("text", ["a\x1b[31m", "a\x00", "a\nb", "a\rb", "a\u2028b", "x" * 4097])
@pytest.mark.parametrize("path", [(*RESULT, "text"), (*RESULT, "outputs", 0, "name")])
def test_a_line_is_a_line(path: tuple[str | int, ...], text: str) -> None:
    """Escape sequences and further lines would speak to a terminal or a runner."""
    assert "one line of at most 4096 characters" in refused(changed(TEXT, put(*path, value=text)))


@pytest.mark.parametrize("text", ["a\x1b[31m", "a\x00", "a\rb", "x" * 65_537])
@pytest.mark.parametrize("key", ["log_tail", "crash"])
def test_a_log_has_no_escape_sequences(key: str, text: str) -> None:
    """Line ends and tabs may stand in it."""
    said = refused(changed(TEXT, put(*RESULT, key, value=text)))

    assert said.endswith("expected at most 65536 characters, none a control character")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            put(*ENTRY, "day", value="31.1.2027"),
            "found '31.1.2027', expected a date",
        ),
        (put(*ENTRY, "day", value="20270131"), "expected a date such as 2027-01-31"),
        (put(*ENTRY, "day", value="2027-02-30"), "expected a date such as 2027-01-31"),
        (put(*ENTRY, "purpose", value="x"), "expected one of verify, trace, record or time"),
        (put(*RESULT, "status", value="good"), "expected one of pass, trap"),
        (put(*RESULT, "scenario", value="m/s@big"), "expected MODEL/SCENARIO@any"),
        (put(*RESULT, "scenario", value="../s@any"), "expected MODEL/SCENARIO@any"),
        (put(*RESULT, "time_s", value=-1), "expected 0 or more"),
        (put(*RESULT, "missing_regions", 0, value="kern< 1 >"), "in its canonical spelling"),
        (put(*RESULT, "missing_regions", 0, value='"; system("id");'), "canonical spelling"),
        (put(*RESULT, "missing_regions", value=["kern<1>"] * 10_001), "10001, expected at most"),
        (put(*ENTRY, "device", "facts", value={"a": "\x1b"}), "device: facts: a: found"),
        (put(*ENTRY, "device", "facts", value={"\x1b": "a"}), "device: facts: found"),
        (
            put(*ENTRY, "device", "facts", value={str(n): "" for n in range(101)}),
            "101, expected",
        ),
        (
            put(*ENTRY, "results", value=[{}] * 2),
            "results[0].scenario: found nothing",
        ),
        (
            put(*AFTER, "thermal_status", value=7),
            "thermal_status: found 7, which no",
        ),
        (
            put(*AFTER, "cooling", value=["\x1b[31m"]),
            "cooling: found '\\x1b[31m', which no",
        ),
        (
            put(*RESULT, "conditions", "unmet", value="a\nb"),
            "unmet: found 'a\\nb', which no machine",
        ),
        (put("version", value=5), "version: found 5, expected 4"),
        (put("version", value=1), "version: found 1, expected 4"),
    ],
)
def test_every_value_is_held_to_its_shape(change: Change, said: str) -> None:
    """One clear message."""
    assert said in refused(changed(TEXT, change))


def test_counts_are_bounded() -> None:
    """A job has at most a thousand results, each of another scenario."""
    results = [result(scenario=f"m{number}/s@any") for number in range(1001)]

    assert len(evidence(*results[:1000]).results) == 1000
    with pytest.raises(ValueError, match="results: found 1001, expected at most 1000"):
        evidence(*results)
    with pytest.raises(ValueError, match="expected each name once"):
        evidence(result(), result())


def test_a_trace_that_passed_has_a_file() -> None:
    """Else there would be nothing to take."""
    with pytest.raises(ValueError, match="trace: found '', expected a sha256"):
        evidence(purpose=JobPurpose.TRACE)
    assert evidence(result(trace="a" * 64), purpose=JobPurpose.TRACE).results[0].trace == "a" * 64


def test_functions_that_were_recorded_have_a_file() -> None:
    """Likewise; a trace is no list of them."""
    with pytest.raises(ValueError, match="functions: found '', expected a sha256"):
        evidence(result(trace="a" * 64), purpose=JobPurpose.RECORD)
    whole = evidence(result(functions="a" * 64), purpose=JobPurpose.RECORD)
    assert whole.results[0].functions == "a" * 64


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "NaN", '{"a": 1, "a": 1}'])
def test_what_is_no_evidence_at_all_is_refused(text: str) -> None:
    """Nested as deep as one likes."""
    assert refused(text).startswith("evidence.json:1: ")


def test_what_a_program_said_is_cleaned_before_it_is_evidence() -> None:
    """So that what a device job writes can always be read again."""
    text = "::error::\x1b[31mred\nsecond\rthird\x00" + "x" * 70_000

    assert limits.clean_line(text)[:38] == "::error::\ufffd[31mred second third\ufffdxxxxxxx"
    assert len(limits.clean_line(text)) == limits.LONGEST_LINE
    # A runner takes a command of this kind from the middle of a line, too.
    assert limits.clean_line("pass ##[add-mask]a") == "pass # #[add-mask]a"
    log = limits.clean_log("a\x1bb\n\tc\r\n")
    assert log == "a\ufffdb\n\tc\ufffd\n"
    assert len(limits.clean_log(text)) == limits.LONGEST_LOG
    result(
        text=limits.clean_line(text),
        log_tail=limits.clean_log(text),
        crash=limits.clean_log(text),
    )


def test_a_file_of_evidence_is_held_to_its_digest(tmp_path: Path) -> None:
    """And to a size; a link is no file."""
    digest = hashlib.sha256(b"trace").hexdigest()
    folder = write_evidence(tmp_path / "e", TEXT, {digest: b"trace", "0" * 64: b"other"})
    (folder / "files" / ("1" * 64)).symlink_to(folder / "files" / digest)

    assert load_file(folder, digest, most=5) == b"trace"
    for name, most, said in (
        (digest, 4, "found more than 4 bytes, expected a plain file"),
        ("0" * 64, 5, "its sha256 is d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b"),
        ("1" * 64, 5, "found a link, expected a plain file"),
        ("2" * 64, 5, "cannot be read: No such file or directory"),
    ):
        with pytest.raises(InputError) as caught:
            load_file(folder, name, most=most)
        assert caught.value.message.startswith(f"{folder / 'files' / name}: {said}")


def test_the_folder_of_files_may_be_no_link(tmp_path: Path) -> None:
    """It could lead to any folder of the reader."""
    folder = write_evidence(tmp_path / "e", TEXT)
    (folder / "files").rmdir()
    (folder / "files").symlink_to(tmp_path)

    with pytest.raises(InputError, match="found a link, expected a folder"):
        load_file(folder, "1" * 64, most=5)


def test_folders_are_found_directly_or_one_below(tmp_path: Path) -> None:
    """Artifacts come either way. Links are not followed; a folder that is not there is none."""
    write_evidence(tmp_path / "one", TEXT)
    write_evidence(tmp_path / "many" / "b", TEXT)
    write_evidence(tmp_path / "many" / "a", TEXT)
    write_evidence(tmp_path / "many" / "c" / "deep", TEXT)
    (tmp_path / "many" / "link").symlink_to(tmp_path / "one")

    asked = (tmp_path / "one", tmp_path / "gone", tmp_path / "many")
    assert read_folders(asked) == (
        *(tmp_path / "one", tmp_path / "many" / "a", tmp_path / "many" / "b"),
    )
    assert read_evidence(tmp_path / "one") == (FULL,)


def test_folders_are_bounded(tmp_path: Path) -> None:
    """A thousand of them are more than a run can have."""
    for number in range(1001):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "evidence.json").touch()

    with pytest.raises(InputError, match="found 1001 folders of evidence, expected at most 1000"):
        read_folders((tmp_path,))


def test_a_set_is_read_from_its_file(tmp_path: Path) -> None:
    """One that is not there is bad input: someone named it."""
    path = tmp_path / "evidence.json"
    path.write_text(dump_set(EvidenceSet(entries=(evidence(),))), encoding="utf-8")

    assert load_proofs(path).entries == (evidence(),)
    with pytest.raises(InputError) as caught:
        load_proofs(tmp_path / "gone.json")
    assert caught.value.hint == "remove the option: devices then prove everything again"


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (FULL, "verify, trap"),
        (evidence(result(trace="a" * 64), purpose=JobPurpose.TRACE), "trace, pass"),
        (evidence(result(status=ScenarioStatus.INFRASTRUCTURE)), "verify, infrastructure"),
    ],
)
def test_proofs_that_are_none_are_refused(tmp_path: Path, entry: Evidence, found: str) -> None:
    """A trap among them would be passed over."""
    path = tmp_path / "evidence.json"
    path.write_text(dump_set(EvidenceSet(entries=(evidence(), entry))), encoding="utf-8")

    with pytest.raises(Contradiction) as caught:
        load_proofs(path)
    assert caught.value.message == (
        f"{path}: {SCENARIO}: found {found}, expected proofs: verify, pass"
    )


GOOD = written(evidence())
TWICE = json.loads(GOOD)["entries"][0]["results"][0]["outputs"] * 2
UNKNOWN = (ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED)
OUTPUT = (*RESULT, "outputs", 0)
FAILED = [
    (put(*RESULT, "missing_regions", value=["kern<1>"]), "it misses 1 region"),
    (put(*RESULT, "crash", value="ended by signal 5"), "its program crashed"),
    (put(*OUTPUT, "equal", value=False), "output run0-var178 differs"),
]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *FAILED,
        (put(*RESULT, "outputs", value=[]), "it holds no output"),
        (put(*OUTPUT, "size_bytes", value=0), "output run0-var178 is empty"),
        (put(*OUTPUT, "largest_difference", value=None), "run0-var178 could not be compared"),
        (put(*RESULT, "attempts", value=["pixel-6: lost"]), "every machine failed"),
        (
            put(
                *RESULT,
                "outputs",
                value=TWICE,
            ),
            "output run0-var178 stands there 2 times",
        ),
    ],
)
def test_a_pass_is_held_to_its_own_content(change: Change, said: str) -> None:
    """One that holds a failure, or nothing, is not taken for either."""
    with pytest.raises(Contradiction) as caught:
        parse_set(changed(GOOD, change), source="evidence.json", hint=HINT)

    assert caught.value.message.startswith(f"evidence.json:1: {SCENARIO}: its status is pass, and ")
    assert caught.value.message.endswith(said)
    assert caught.value.hint == HINT
    parse_set(GOOD, source="evidence.json")


@pytest.mark.parametrize(("change", "said"), FAILED)
@pytest.mark.parametrize("status", UNKNOWN)
def test_silence_holds_no_failure(change: Change, said: str, status: ScenarioStatus) -> None:
    """A trap would be shown as a dead device."""
    text = changed(GOOD, put(*RESULT, "status", value=str(status)))

    parse_set(text, source="evidence.json")
    with pytest.raises(Contradiction, match=f"its status is {status}, and {said}"):
        parse_set(changed(text, change), source="evidence.json")


@pytest.mark.parametrize("change", [change for change, _ in FAILED])
@pytest.mark.parametrize("status", sorted({*ScenarioStatus} - {ScenarioStatus.PASS, *UNKNOWN}))
def test_a_failure_may_hold_what_it_likes(change: Change, status: ScenarioStatus) -> None:
    """It stays one."""
    text = changed(changed(GOOD, put(*RESULT, "status", value=str(status))), change)

    assert parse_set(text, source="x").entries[0].results[0].status is status


def test_what_a_trace_brings_is_no_comparison() -> None:
    """It has no outputs, and holds no failure either."""
    traced = result(trace="a" * 64, outputs=())
    text = written(evidence(traced, purpose=JobPurpose.TRACE))

    parse_set(text, source="x")
    with pytest.raises(Contradiction):
        parse_set(changed(text, put(*RESULT, "crash", value="signal 5")), source="x")


def test_a_document_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before all of it is read."""
    path: Any = tmp_path / "evidence.json"
    path.write_bytes(b" " * 100)
    monkeypatch.setattr(limits, "LARGEST_DOCUMENT", 99)

    with pytest.raises(InputError, match="found more than 99 bytes"):
        read_evidence(tmp_path)


def test_a_failure_by_a_huge_difference_can_be_read() -> None:
    """What a broken program computes has no bounds, and must not make its failure unreadable."""
    output = OutputResult(name="o", size_bytes=4, equal=False, largest_difference=1.7e308)
    failed = evidence(result(status=ScenarioStatus.PARITY, outputs=(output,)))

    assert parse_set(written(failed), source="x").entries == (failed,)
