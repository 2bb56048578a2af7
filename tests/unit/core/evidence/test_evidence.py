import hashlib
import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import pytest

from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import Contradiction, ScenarioStatus
from megtrim.core.evidence.evidence import (
    DeviceResult,
    Evidence,
    EvidenceSet,
    JobPurpose,
    as_set,
    expect_evidence_of,
    load_proofs,
    newest,
    parse_set,
    read_evidence,
    read_folders,
)
from megtrim.core.evidence.fields import EarlyExit, parse_ending
from megtrim.libs.programs.parity import OutputResult
from megtrim.libs.programs.telemetry import Conditions, Reading
from megtrim.libs.util import limits
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump
from unit.lab.evidence.support import (
    DAY,
    HOSTILE_DIGESTS,
    HOSTILE_NAMES,
    OTHER_BINDING,
    SCENARIO,
    Change,
    changed,
    evidence,
    proofs,
    put,
    result,
    write_evidence,
    written,
)

FULL = evidence(
    result(
        status=ScenarioStatus.TRAP,
        outputs=(OutputResult(name="o", size_bytes=4, equal=False, largest_difference=1.7e308),),
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
OUTPUT = (*RESULT, "outputs", 0)
LINE = "one line of at most 4096 characters"
TODAY = date.fromisoformat(DAY)


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_set(text, source="evidence.json", hint=HINT)
    assert caught.value.hint == HINT
    return caught.value.message


def test_evidence_comes_back_as_it_went() -> None:
    several = EvidenceSet(entries=(FULL, evidence()))

    assert parse_set(dump(several), source="x") == several
    assert parse_set(dump(EvidenceSet(entries=())), source="x").entries == ()
    assert dump(EvidenceSet(entries=())) == '{\n "version": 4,\n "entries": []\n}\n'


def _hostile() -> Iterable[tuple[Change, str]]:
    for text in HOSTILE_NAMES:
        for path in (("class",), ("device", "name"), ("device", "kind")):
            yield put(*ENTRY, *path, value=text), "expected a name of letters, digits, '.'"
    for text in HOSTILE_DIGESTS:
        for key in ("binding", "trace", "cache", "functions", "times"):
            yield put(*RESULT, key, value=text), "expected a sha256 of 64 hex digits"
    for text in ("a\x1b[31m", "a\x00", "a\nb", "a\rb", "a\u2028b", "a\x9bb", "x" * 4097):
        yield put(*RESULT, "text", value=text), LINE
        yield put(*OUTPUT, "name", value=text), LINE
    for text in ("a\x1b[31m", "a\x00", "a\rb", "a\u2028b", "x" * 65_537):
        for key in ("log_tail", "crash"):
            said = "expected at most 65536 characters, none a control character"
            yield put(*RESULT, key, value=text), said
    for text in ("31.1.2027", "2027-1-31", "20270131", "2027-02-30", "", "2027-W04-7"):
        yield put(*ENTRY, "day", value=text), "expected a date such as 2027-01-31"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *_hostile(),
        (put(*ENTRY, "purpose", value="x"), "expected one of verify, trace, record or time"),
        (put(*RESULT, "status", value="good"), "expected one of pass, trap"),
        (put(*RESULT, "scenario", value="m/s@big"), "expected MODEL/SCENARIO@any"),
        (put(*RESULT, "scenario", value="../s@any"), "expected MODEL/SCENARIO@any"),
        (put(*RESULT, "time_s", value=-1), "expected 0 or more"),
        (put(*RESULT, "missing_regions", 0, value="kern< 1 >"), "in its canonical spelling"),
        (put(*RESULT, "missing_regions", 0, value='"; system("id");'), "canonical spelling"),
        (put(*RESULT, "missing_regions", value=["kern<1>"] * 10_001), "at most 10000 entries"),
        (put(*ENTRY, "device", "facts", value={"a": "\x1b"}), "device: facts: a: found"),
        (put(*ENTRY, "device", "facts", value={"\x1b": "a"}), "device: facts: found"),
        (put(*ENTRY, "device", "facts", value={str(n): "" for n in range(101)}), "found 101, ex"),
        (put(*ENTRY, "results", value=[{}] * 2), "results[0].status: found nothing"),
        (put(*ENTRY, "results", value=json.loads(TEXT)["entries"][0]["results"] * 2), "name once"),
        (put(*ENTRY, "results", value=[{}] * 1001), "results[0].status: found nothing"),
        (put(*AFTER, "thermal_status", value=7), "thermal_status: found 7, which no"),
        (put(*AFTER, "cooling", value=["\x1b[31m"]), "cooling: found '\\x1b[31m', which no"),
        (put(*RESULT, "conditions", "unmet", value="a\nb"), "unmet: found 'a\\nb', which no mac"),
        (put("version", value=5), "version: found 5, expected 4"),
        (put("version", value=1), "version: found 1, expected 4"),
    ],
)
def test_every_value_is_held_to_its_shape(change: Change, said: str) -> None:
    assert said in refused(changed(TEXT, change))


def test_a_job_has_a_thousand_results_at_most() -> None:
    results = [result(scenario=f"m{number}/s@any") for number in range(1001)]

    parse_set(written(evidence(*results[:1000])), source="x")
    assert "expected at most 1000 entries" in refused(written(evidence(*results)))


@pytest.mark.parametrize(
    ("purpose", "key"), [(JobPurpose.TRACE, "trace"), (JobPurpose.RECORD, "functions")]
)
def test_what_passed_has_its_file_and_no_sign_of_a_failure(purpose: JobPurpose, key: str) -> None:
    whole = written(evidence(result(outputs=(), **{key: "a" * 64}), purpose=purpose))

    parse_set(whole, source="x")
    said = f"{SCENARIO}: {key}: found None, expected a sha256"
    assert said in refused(changed(whole, put(*RESULT, key, value=None)))
    with pytest.raises(Contradiction):
        parse_set(changed(whole, put(*RESULT, "crash", value="signal 5")), source="x")


GOOD = written(evidence())
TWICE = json.loads(GOOD)["entries"][0]["results"][0]["outputs"] * 2
UNKNOWN = (ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED)
FAILED = [
    (put(*RESULT, "missing_regions", value=["kern<1>"]), "it misses 1 region"),
    (put(*RESULT, "crash", value="ended by signal 5"), "its program crashed"),
    (put(*OUTPUT, "equal", value=False), "output run0-var178 differs"),
]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *FAILED,
        (put(*RESULT, "outputs", value=[]), "it has no output"),
        (put(*OUTPUT, "size_bytes", value=0), "output run0-var178 is empty"),
        (put(*OUTPUT, "largest_difference", value=None), "run0-var178 could not be compared"),
        (put(*RESULT, "attempts", value=["pixel-6: lost"]), "every machine failed"),
        (put(*RESULT, "outputs", value=TWICE), "output run0-var178 occurs 2 times"),
    ],
)
def test_a_pass_is_held_to_its_own_content(change: Change, said: str) -> None:
    with pytest.raises(Contradiction) as caught:
        parse_set(changed(GOOD, change), source="evidence.json", hint=HINT)

    assert caught.value.message.startswith(f"evidence.json:1: {SCENARIO}: its status is pass, ")
    assert caught.value.message.endswith(said)
    assert caught.value.hint == HINT


@pytest.mark.parametrize(("change", "said"), FAILED)
@pytest.mark.parametrize("status", sorted({*ScenarioStatus} - {ScenarioStatus.PASS}))
def test_silence_holds_no_failure(change: Change, said: str, status: ScenarioStatus) -> None:
    """A trap would be shown as a dead device; what is a failure may hold what it likes."""
    text = changed(GOOD, put(*RESULT, "status", value=str(status)))

    parse_set(text, source="evidence.json")
    if status not in UNKNOWN:
        assert parse_set(changed(text, change), source="x").entries[0].results[0].status is status
        return
    with pytest.raises(Contradiction, match=f"its status is {status}, and {said}"):
        parse_set(changed(text, change), source="evidence.json")


def test_folders_are_found_directly_or_one_below(tmp_path: Path) -> None:
    write_evidence(tmp_path / "one", TEXT)
    write_evidence(tmp_path / "many" / "b", TEXT)
    write_evidence(tmp_path / "many" / "a", TEXT)
    write_evidence(tmp_path / "many" / "c" / "deep", TEXT)
    (tmp_path / "many" / "link").symlink_to(tmp_path / "one")

    asked = (tmp_path / "one", tmp_path / "gone", tmp_path / "many")
    assert read_folders(asked) == (
        tmp_path / "one",
        tmp_path / "many" / "a",
        tmp_path / "many" / "b",
    )
    assert read_evidence(tmp_path / "one") == (FULL,)


def test_folders_are_bounded(tmp_path: Path) -> None:
    for number in range(1001):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "evidence.json").touch()

    with pytest.raises(InputError, match="found 1001 folders of evidence, expected at most 1000"):
        read_folders((tmp_path,))


def test_evidence_of_another_configuration_is_refused() -> None:
    entries = (evidence(config="a/megtrim.yaml"), evidence(config="b/megtrim.yaml"))

    expect_evidence_of("a/megtrim.yaml", "the evidence", entries[:1])
    with pytest.raises(InputError) as error:
        expect_evidence_of("a/megtrim.yaml", "the evidence", entries)
    assert error.value.message == (
        "the evidence by pixel-6 is of the configuration b/megtrim.yaml, "
        "expected one of a/megtrim.yaml"
    )


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (None, ""),
        (FULL, "verify, trap"),
        (evidence(result(trace="a" * 64), purpose=JobPurpose.TRACE), "trace, pass"),
        (evidence(result(status=ScenarioStatus.INFRASTRUCTURE)), "verify, infrastructure"),
    ],
)
def test_proofs_that_are_none_are_refused(
    tmp_path: Path, entry: Evidence | None, found: str
) -> None:
    path = tmp_path / "evidence.json"
    entries = [evidence(), entry] if entry else [evidence()]
    path.write_text(dump(proofs(*entries)), encoding="utf-8")
    if entry is None:
        assert load_proofs(path).entries == (evidence(),)
        return
    with pytest.raises(Contradiction) as caught:
        load_proofs(path)
    assert caught.value.message == (
        f"{path}: {SCENARIO}: found {found}, expected a proof: verify, pass"
    )


def test_proofs_that_are_named_are_there(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_proofs(tmp_path / "gone.json")
    assert caught.value.hint == "remove the option: devices then prove everything again"


def test_the_newest_proof_counts() -> None:
    old = evidence(day="2027-01-01")
    new = evidence(result(binding=OTHER_BINDING), day="2027-01-02")
    failed = [evidence(result(status=status)) for status in ScenarioStatus if status != "pass"]
    trace = evidence(result(trace="a" * 64), purpose=JobPurpose.TRACE)

    for entries in ((old, new), (new, old)):
        assert newest(entries) == {SCENARIO: DeviceResult(evidence=new, result=new.results[0])}
    assert newest([*failed, trace]) == {}


@pytest.mark.parametrize(
    ("day", "age", "young", "clamped"),
    [
        ("2027-01-31", "0 days old", True, "2027-01-31"),
        ("2027-02-01", "0 days old", True, "2027-01-31"),
        ("2027-02-02", "of 2027-02-02, a day to come", False, "2027-01-31"),
        ("2027-01-30", "1 day old", True, "2027-01-30"),
        ("2027-01-17", "14 days old", True, "2027-01-17"),
        ("2027-01-16", "15 days old", False, "2027-01-16"),
    ],
)
def test_a_proof_grows_old(day: str, age: str, young: bool, clamped: str) -> None:
    """In whole days. One of tomorrow is of today, because clocks differ; no other future is."""
    proof = DeviceResult(evidence=evidence(day=day), result=result())

    assert proof.describe_age(TODAY) == age
    assert proof.is_young(TODAY, 14 * 86_400.0) is young
    assert proof.clamp_day(TODAY).evidence.day == clamped


def test_a_set_is_ordered_by_class_device_and_day() -> None:
    logged = result(scenario="a/s@any", log_tail="log")
    pixel_9 = DeviceIdentity(name="pixel-9", kind="adb", facts={})
    first = evidence(result(scenario="z/s@any"), logged)
    other = evidence(result(scenario="b/s@any"), device=pixel_9)
    older = evidence(result(scenario="c/s@any"), day="2026-12-31")
    known = newest([first, other, older])

    assert as_set(known.values()).entries == (
        older,
        evidence(result(scenario="a/s@any"), result(scenario="z/s@any")),
        other,
    )
    assert as_set([*known.values()][::-1]) == as_set(known.values())
    assert as_set([]).entries == ()


def test_what_a_program_said_is_cleaned_before_it_is_evidence() -> None:
    text = "::error::\x1b[31mred\nsecond\rthird\x00\x07\u2028\x9b\ud800" + "x" * 70_000

    assert (
        limits.clean_line(text)[:38]
        == "::error::\ufffd[31mred second third\ufffd\ufffd \ufffd\ufffdxxx"
    )
    # A runner takes a command of this kind from the middle of a line, too.
    assert limits.clean_line("a\nb ##[error]c\r\nd") == "a b # #[error]c d"
    assert limits.clean_log("a\x1bb\n\tc\r\n") == "a\ufffdb\n\tc\ufffd\n"
    assert limits.clean_log(f"{text}end")[-3:] == "end"
    clean = result(
        text=limits.clean_line(text), log_tail=limits.clean_log(text), crash=limits.clean_log(text)
    )
    failed = evidence(result(status=ScenarioStatus.TRAP, text=clean.text, crash=clean.crash))
    assert parse_set(written(failed), source="x").entries == (failed,)


def write_file(tmp_path: Path, data: bytes = b"content") -> tuple[DeviceResult, Path]:
    digest = hashlib.sha256(b"content").hexdigest()
    folder = write_evidence(tmp_path / "e", TEXT, {digest: data})
    found = DeviceResult(evidence=evidence(), result=result(trace=digest), folder=folder)
    return found, folder / "files" / digest


def test_a_file_is_read_by_its_digest(tmp_path: Path) -> None:
    found, path = write_file(tmp_path)
    digest = found.result.trace
    assert (found.file(digest), found.load(digest, most=7)) == (path, b"content")
    assert (found.file(None), found.load(None, most=7)) == (None, None)

    def expect_refused(said: str, *, most: int = 7) -> None:
        with pytest.raises(InputError) as caught:
            found.load(digest, most=most)
        assert said in caught.value.message
        assert caught.value.hint == HINT

    expect_refused("found more than 6 bytes, expected a plain file", most=6)
    path.write_bytes(b"another")
    expect_refused("expected that of its name")
    path.rename(tmp_path / "moved")
    expect_refused("cannot be read: No such file or directory")
    path.symlink_to(tmp_path / "moved")
    expect_refused("found a link, expected a plain file")
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(tmp_path)
    expect_refused("found a link, expected a folder")


def test_a_document_is_bounded_plain_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "evidence.json"
    path.write_bytes(b"{}\xff")
    with pytest.raises(InputError, match="UTF-8"):
        read_evidence(tmp_path)
    monkeypatch.setattr(limits, "LARGEST_DOCUMENT", 2)
    with pytest.raises(InputError, match="found more than 2 bytes"):
        read_evidence(tmp_path)
    path.unlink()
    path.symlink_to(tmp_path)
    with pytest.raises(InputError, match="found a link, expected a plain file"):
        read_evidence(tmp_path)


ENDING = EarlyExit(exit=2, message="megtrim.yaml: no models", hint="add one")


def test_an_ending_comes_back_as_it_went() -> None:
    what = {"exit": 2, "message": "megtrim.yaml: no models", "hint": "add one"}
    text = json.dumps({"version": 2, "config": "megtrim.yaml", **what}, indent=1) + "\n"

    assert dump(ENDING) == text
    assert parse_ending(text, source="x") == ENDING
    assert str(ENDING) == "megtrim.yaml: no models\n  add one"
    assert str(EarlyExit(exit=3, message="no space", hint="")) == "no space"


@pytest.mark.parametrize(
    ("status", "fits"), [*((each, True) for each in (1, 2, 3, 70, 130)), (0, False), (4, False)]
)
def test_a_good_ending_is_none(status: int, *, fits: bool) -> None:
    """A run that left no verdict and exits 0 would open the gate."""
    text = dump(ENDING).replace('"exit": 2', f'"exit": {status}')
    if fits:
        assert parse_ending(text, source="ending.json").exit == status
        return
    with pytest.raises(InputError, match="exit: found"):
        parse_ending(text, source="ending.json")
