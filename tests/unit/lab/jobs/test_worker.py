import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.evidence.evidence import Evidence, EvidenceResult, JobPurpose, parse_set
from megtrim.core.functions import probes, qemu_log
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.core.trim.runs import tracing
from megtrim.lab.evidence.bundle import Bundle, BundleInput, BundleScenario
from megtrim.lab.jobs.worker import DeviceJob, JobResult, run, take
from megtrim.libs.programs.parity import EXACT, OutputResult, Tolerance
from megtrim.libs.programs.telemetry import Conditions, Reading
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.strict_json import dump
from megtrim.places.devices.device import Device, make_too_large_error
from unit.core.trim.stages.fake_device import (
    GOOD,
    PROFILE,
    TRAPS,
    FakeDevice,
    FakeDirectory,
    Fickle,
)
from unit.core.trim.stages.support import keep_set, trace
from unit.lab.evidence.support import BUNDLE, bundle, device, scenario

KEEP = dump_keep_set(keep_set(1))


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "bundle"
        (self.folder / "files").mkdir(parents=True)
        self.work = folder / "work"
        self.work.mkdir()
        self.device: Any = FakeDevice()
        self.said = io.StringIO()

    def put(self, text: str) -> str:
        data = text.encode()
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / "files" / digest).write_bytes(data)
        return digest

    def scenario(self, **changes: Any) -> BundleScenario:
        inputs = (BundleInput(name="data", file=self.put("numbers"), suffix=".npy"),)
        return scenario(**{"model": self.put("model"), "inputs": inputs, **changes})

    def bundle(self, *scenarios: BundleScenario, **programs: str) -> Bundle:
        verify = "reduced" in programs
        return bundle(
            purpose=JobPurpose.VERIFY if verify else JobPurpose.TRACE,
            programs={name: self.put(text) for name, text in programs.items()},
            keep_set=self.put(KEEP) if verify else None,
            scenarios=scenarios or (self.scenario(),),
        )

    def job(self, what: Bundle) -> DeviceJob:
        return DeviceJob(
            bundle=what,
            folder=self.folder,
            sha256=BUNDLE,
            work=self.work,
            scenarios=what.of_class("any"),
            asked=device(),
            today=date(2027, 1, 31),
        )

    def run(self, what: Bundle, open_device: Callable[[], Device] | None = None) -> JobResult:
        found = run(self.job(what), open_device or (lambda: self.device), Console(self.said))
        # What a job writes can always be read again.
        assert parse_set(dump(found.evidence), source="x") == found.evidence
        return found


def only(found: JobResult) -> Evidence:
    (entry,) = found.evidence.entries
    return entry


def results(found: JobResult) -> list[EvidenceResult]:
    every = [result for entry in found.evidence.entries for result in entry.results]
    return sorted(every, key=lambda result: result.scenario)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("tolerance", "status"),
    [
        (EXACT, ScenarioStatus.PARITY),
        (Tolerance(absolute=0.25), ScenarioStatus.PASS),
        (Tolerance(relative=0.125), ScenarioStatus.PASS),
        (Tolerance(absolute=1.5), ScenarioStatus.PARITY),
    ],
)
def test_a_scenario_is_held_to_its_own_tolerance(
    place: Place, tolerance: Tolerance, status: ScenarioStatus
) -> None:
    asked = place.scenario(tolerance=tolerance)
    found = place.run(place.bundle(asked, plain=GOOD, reduced="output o 1 2.25 3\n"))

    assert [each.status for each in only(found).results] == [status]


def test_a_proof(place: Place) -> None:
    found = place.run(place.bundle(plain=GOOD, reduced=GOOD))
    (result,) = only(found).results

    assert (found.files, found.lost) == ({}, 0)
    assert (only(found).purpose, only(found).day) == (JobPurpose.VERIFY, "2027-01-31")
    assert only(found).cpu_class == "any"
    assert only(found).device == DeviceIdentity(
        name="pixel-6", kind="fake", facts={"model": "Pixel 6"}
    )
    assert (result.scenario, result.binding) == ("resnet18-s/default@any", "b" * 64)
    assert result.status is ScenarioStatus.PASS
    assert result.text == "outputs equal to the last bit (1 tensor, 12 bytes)"
    output = OutputResult(name="o", size_bytes=12, equal=True, largest_difference=0.0)
    assert (result.outputs, result.time_s) == ((output,), 0.5)


def test_programs_see_the_names_that_they_see_elsewhere(place: Place) -> None:
    cached = place.scenario(cache=place.put("algorithms"), threads=2)
    place.run(place.bundle(cached, plain=GOOD, reduced=GOOD))

    assert place.device.runs[1] == (
        "load_and_run",
        "model.mge",
        "--cpu",
        "--multithread",
        "2",
        "--fast-run-algo-policy",
        "algo.cache",
        "--input",
        "data:input0.npy",
        "--bin-out-dump",
        "dump",
    )
    assert {name: data for name, data in place.device.put[1].items() if name != "load_and_run"} == {
        "model.mge": b"model",
        "input0.npy": b"numbers",
        "algo.cache": b"algorithms",
    }


NAMES = "exit 133\nstderr megtrim: function #1 is not kept\n"
LISTED = "_ZN2ns3oneEv\n_ZN2ns3twoEv\n"
NAMED = {"named": NAMES, "dropped": LISTED}
EXPLAINED = "it trapped: 1 region it needs is not in the keep set"


@pytest.mark.parametrize(
    ("programs", "missing", "text", "ran"),
    [
        ({"profile": PROFILE}, ("kern<7>",), EXPLAINED, [GOOD, TRAPS, PROFILE]),
        ({}, (), "it trapped; no profile build is at hand", [GOOD, TRAPS]),
        # The named link is asked first, and if it names something, last.
        (
            {**NAMED, "profile": PROFILE},
            (),
            "it trapped: the function ns::two() is not kept, because the keep set does not list it",
            [GOOD, TRAPS, NAMES],
        ),
        (
            {**NAMED, "named": TRAPS, "profile": PROFILE},
            ("kern<7>",),
            EXPLAINED,
            [GOOD, TRAPS, TRAPS, PROFILE],
        ),
    ],
)
def test_a_trap_is_evidence(
    place: Place, programs: dict[str, str], missing: tuple[str, ...], text: str, ran: list[str]
) -> None:
    found = place.run(place.bundle(plain=GOOD, reduced=TRAPS, **programs))
    (result,) = only(found).results

    assert (result.status, result.missing_regions) == (ScenarioStatus.TRAP, missing)
    assert result.text.startswith(text)
    assert [put["load_and_run"].decode() for put in place.device.put] == ran
    assert found.lost == 0


@pytest.mark.parametrize("programs", [NAMED, {"profile": PROFILE}])
@pytest.mark.parametrize("then", [[GOOD, GOOD], ["lose the phone\n"]])
def test_a_trap_stays_seen_where_the_device_fails_while_it_is_explained(
    place: Place, programs: dict[str, str], then: list[str]
) -> None:
    device = Fickle(retries=1, plays=[GOOD, TRAPS, "lose the phone\n", *then])
    bundle = place.bundle(plain=GOOD, reduced=TRAPS, **programs)
    found = place.run(bundle, lambda: device)
    (result,) = only(found).results

    assert (result.status, found.lost, device.plays) == (ScenarioStatus.TRAP, 0, [])
    assert result.text == "it trapped; what it needs is not known: adb: the phone is gone"


def test_conditions_and_crash_are_evidence(place: Place) -> None:
    hot = place.run(place.bundle(plain=GOOD, reduced=GOOD + "status 2\n"))
    crashed = place.run(place.bundle(plain=GOOD, reduced=TRAPS + "crash signal 5|\x1b[1mpc\n"))
    traced = place.run(place.bundle(plain=GOOD, profile="exit 139\ncrash signal 11\n"))

    conditions = Conditions(before=Reading(cpu_c=-3.5), after=Reading(thermal_status=2))
    assert only(hot).results[0].conditions == conditions
    assert only(hot).results[0].crash == ""
    assert only(crashed).results[0].crash == "signal 5\n\ufffd[1mpc"
    assert only(crashed).results[0].conditions is None
    assert only(traced).results[0].crash == "signal 11"


def test_a_trace_is_brought_back(place: Place) -> None:
    found = place.run(place.bundle(plain=GOOD, profile=PROFILE))
    (result,) = only(found).results
    data = trace(1, 7)

    assert (result.status, result.text) == (ScenarioStatus.PASS, "traced: 2 regions")
    assert (result.trace, result.cache) == (hashlib.sha256(data).hexdigest(), None)
    assert found.files == {result.trace: data}


RECORDS = "record two one _Exit\n"
OBSERVABLES = f"megtrim observables v1\nlink {'7' * 64}\nlogged\none\ntwo\n"


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "read_linked", lambda _path: b"")
    monkeypatch.setattr(tracing, "parse_table", lambda _data, source: None)
    monkeypatch.setattr(tracing, "parse_block_map", lambda _data, source: ())
    monkeypatch.setattr(tracing, "find_blocks", lambda *_: {})
    # Names stand for addresses.
    monkeypatch.setattr(tracing, "holding", lambda _table, addresses: tuple(sorted(addresses)))
    for read in ((probes, "parse_record"), (qemu_log, "find_addresses")):
        monkeypatch.setattr(*read, lambda data, _table, source: {*data.decode().split()})


def recording_bundle(place: Place, **programs: str) -> Bundle:
    whole = place.bundle(place.scenario(link="7" * 64), plain=GOOD, profile=PROFILE)
    listed = {"observables": OBSERVABLES, **programs}
    digests = {name: place.put(text) for name, text in listed.items()}
    return replace(whole, purpose=JobPurpose.RECORD, programs=digests, speaks=True)


@pytest.mark.usefixtures("listed")
def test_functions_are_brought_back_as_a_list_of_their_link(place: Place) -> None:
    found = place.run(recording_bundle(place, unfolded="exit 1\n", probed=RECORDS))
    (result,) = only(found).results
    text = f"megtrim functions v1\nlink {'7' * 64}\none\ntwo\n".encode()

    assert (result.status, result.text) == (ScenarioStatus.PASS, "recorded: 2 functions")
    assert (result.binding, result.time_s, result.trace) == ("b" * 64, 0.5, None)
    assert found.files == {str(result.functions): text}
    assert only(found).purpose is JobPurpose.RECORD
    assert len(place.device.runs) == 4


@pytest.mark.usefixtures("listed")
def test_an_emulator_needs_no_twin(place: Place) -> None:
    place.device.kind = "qemu"
    (result,) = only(place.run(recording_bundle(place, unfolded=RECORDS))).results

    assert result.text == "recorded: 3 functions"


@pytest.mark.usefixtures("listed")
def test_functions_that_cannot_be_used_are_evidence(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = place.run(recording_bundle(place, unfolded=GOOD, probed="exit 1\nstderr what()\n"))
    silent = place.run(recording_bundle(place, unfolded=GOOD, probed=GOOD))
    monkeypatch.setattr("megtrim.lab.jobs.worker.LARGEST_LIST", 10)
    large = place.run(recording_bundle(place, unfolded=GOOD, probed=RECORDS))
    reported = [only(found).results[0] for found in (failed, silent, large)]

    assert [each.status for each in reported] == [
        ScenarioStatus.ENGINE_ERROR,
        ScenarioStatus.INFRASTRUCTURE,
        ScenarioStatus.TRACE,
    ]
    assert reported[0].log_tail == "what()"
    assert "left no functions.bin" in reported[1].text
    assert "the list of functions contains 99 bytes, expected at most 10" in reported[2].text
    assert [found.files for found in (failed, silent, large)] == [{}, {}, {}]


@pytest.mark.usefixtures("listed")
def test_a_device_for_which_no_twin_was_made_is_shown(place: Place) -> None:
    with pytest.raises(InputError) as caught:
        place.run(recording_bundle(place, unfolded=RECORDS))

    assert caught.value.message == "pixel-6 (fake): the bundle contains no probed program"


def test_a_search_comes_first_and_its_cache_is_brought_back(place: Place) -> None:
    searching = place.scenario(search=True)
    found = place.run(place.bundle(searching, plain="cache found\n", profile=PROFILE))
    (result,) = only(found).results

    assert result.cache == hashlib.sha256(b"found").hexdigest()
    assert sorted(found.files) == sorted([str(result.trace), result.cache])
    assert ["--fast-run" in argv for argv in place.device.runs] == [True, False]
    assert place.device.put[1]["algo.cache"] == b"found"
    assert result.time_s == 1.0


def test_a_full_disk_under_a_found_cache_is_evidence(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.suffix == ".cache":
            raise OSError(28, "No space left on device")
        return write(path, data)

    searching = place.scenario(search=True)
    asked = place.bundle(searching, plain="cache found\n", profile=PROFILE)
    monkeypatch.setattr(Path, "write_bytes", full)
    (result,) = only(place.run(asked)).results

    assert result.status is ScenarioStatus.INFRASTRUCTURE
    assert "No space left on device" in result.text


def test_a_device_with_very_many_facts_reports_the_first_hundred(place: Place) -> None:
    facts = {f"fact {n:03}": "yes" for n in range(150)}
    place.device.reported = facts
    found = place.run(place.bundle(plain=GOOD, reduced=GOOD))

    assert only(found).device.facts == dict(list(facts.items())[:100])


REFUSED = "exit 1\nstderr x: libc.so.6: version `GLIBC_ABI_DT_RELR' not found\n"
OLD = "its C library is older than glibc 2.36, and cannot load packed relocations"
FOREIGN = 'raw-trace midout_trace v1|#include "/etc/passwd"|\npromise 1\n'
KILLED = "which megtrim did not send (attempt 2 of 2)"


@pytest.mark.parametrize(
    ("programs", "status", "said"),
    [
        ({"profile": "exit 1\nstderr what()\n"}, "engine error", "the profile build ended with 1"),
        ({"profile": "trace 1\npromise 2\n"}, "trace", "contains 1 items, but the run wrote 2"),
        ({"profile": "output o 1\n"}, "trace", "the run left no trace"),
        # C++ in a trace is no region; nothing of it is brought back.
        ({"profile": FOREIGN}, "trace", ":2: "),
        ({"profile": "raw-trace int main() {}|\npromise 1\n"}, "trace", "found 'int main() {}'"),
        # A device that cannot load programs: no trace is to blame.
        ({"plain": REFUSED, "reduced": REFUSED}, "engine error", f"device pixel-6: {OLD}"),
        ({"plain": REFUSED, "profile": REFUSED}, "engine error", f"device pixel-6: {OLD}"),
        # After an attempt more: nothing is known of the product where plain is killed as well.
        ({"plain": "exit 137\n", "reduced": GOOD}, "infrastructure", KILLED),
        ({"plain": "exit 143\n", "reduced": GOOD}, "infrastructure", KILLED),
    ],
)
def test_a_run_that_cannot_be_used_is_evidence(
    place: Place, programs: dict[str, str], status: str, said: str
) -> None:
    found = place.run(place.bundle(**({"plain": GOOD} | programs)))
    (result,) = only(found).results
    lost = status == "infrastructure"

    assert result.status.replace("-", " ").replace("_", " ") == status
    assert said in result.text
    assert (result.trace, found.files, found.lost) == (None, {}, lost)
    assert len(result.attempts) == 2 * lost


def test_a_trace_that_is_too_large_is_not_brought_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("megtrim.lab.jobs.worker.LARGEST_TRACE", 10)
    found = place.run(place.bundle(plain=GOOD, profile=PROFILE))

    assert only(found).results[0].status is ScenarioStatus.TRACE
    assert found.files == {}


def test_a_file_that_is_too_large_to_be_fetched_is_evidence(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(_directory: FakeDirectory, name: str) -> bytes | None:
        raise make_too_large_error(name, 10**10)

    monkeypatch.setattr(FakeDirectory, "get", endless)
    found = place.run(place.bundle(plain=GOOD, reduced=GOOD))
    (result,) = only(found).results

    assert (result.status, found.lost) == (ScenarioStatus.ENGINE_ERROR, 0)
    assert result.text.startswith("the program left dump/o with 10,000,000,000 bytes")


def test_what_programs_say_is_cleaned(place: Place) -> None:
    place.device.reported = {"a\x1bb": "c\nd"}
    hostile = "exit 1\nstderr \x1b[31m::error::x\r\x00\n"
    found = place.run(place.bundle(plain=GOOD, reduced=hostile))
    traced = place.run(place.bundle(plain=GOOD, profile=hostile))

    assert only(found).device.facts == {"a\ufffdb": "c d"}
    assert only(found).results[0].log_tail.startswith("\ufffd[31m::error::x")
    assert only(traced).results[0].log_tail.startswith("\ufffd[31m::error::x")
    said = place.said.getvalue()
    assert not {"\x1b", "\r", "\x00"} & set(said)
    assert not any(line.lstrip().startswith("::") for line in said.splitlines())


def test_a_device_that_fails_is_evidence(place: Place) -> None:
    names = [f"m{number}/s@any" for number in range(4)]
    what = place.bundle(
        *(place.scenario(id=name) for name in names), plain="lose it\n", reduced=GOOD
    )
    found = place.run(what)

    assert [result.scenario for result in only(found).results] == names
    assert [result.status for result in only(found).results] == [ScenarioStatus.INFRASTRUCTURE] * 4
    assert [result.text for result in only(found).results] == [
        *(["adb: it is gone"] * 2),
        *(["not tried: the device failed 2 times in a row"] * 2),
    ]
    assert (found.lost, len(place.device.runs)) == (4, 2)


def test_a_device_that_comes_back_is_used(place: Place) -> None:
    what = place.bundle(
        *(place.scenario(id=f"m{number}/s@any") for number in range(5)), plain=GOOD, reduced=GOOD
    )
    job = place.job(what)
    lost = iter([True, False, False, True])

    class Flaky(FakeDevice):
        def open(self) -> Any:
            if next(lost, False):
                msg = "adb: it is gone"
                raise InfrastructureFailure(msg)
            return super().open()

    found = run(job, Flaky, Console(place.said))

    ended = [str(result.status) for result in only(found).results]
    assert ended == ["infrastructure", "pass", "infrastructure", "pass", "pass"]
    assert found.lost == 2


def test_a_device_that_cannot_be_opened_is_evidence(place: Place) -> None:
    def gone() -> Device:
        msg = "adb: no device\x1b[31m"
        raise InfrastructureFailure(msg)

    found = place.run(place.bundle(plain=GOOD, reduced=GOOD), gone)

    assert only(found).device == DeviceIdentity(name="pixel-6", kind="local", facts={})
    assert [result.text for result in only(found).results] == ["adb: no device\ufffd[31m"]
    assert found.lost == 1
    assert place.said.getvalue() == "warning: pixel-6: adb: no device\ufffd[31m\n"


@pytest.mark.parametrize(
    "which", ["plain", "reduced", "named", "dropped", "model", "input", "keep set"]
)
@pytest.mark.parametrize("damage", ["changed", "gone", "link", "folder"])
def test_a_file_of_another_digest_is_never_used(place: Place, which: str, damage: str) -> None:
    programs = {"named": NAMES, "dropped": LISTED}
    what = place.bundle(plain=GOOD, reduced=GOOD + "stderr reduced\n", **programs)
    digest = {
        **what.programs,
        "model": what.scenarios[0].model or "",
        "input": what.scenarios[0].inputs[0].file,
        "keep set": what.keep_set or "",
    }[which]
    path = place.folder / "files" / digest
    whole = path.read_bytes()
    path.unlink()
    if damage == "changed":
        path.write_bytes(whole + b"x")
    elif damage == "folder":
        path.mkdir()
    elif damage == "link":
        (place.folder / "copy").write_bytes(whole)
        path.symlink_to(place.folder / "copy")

    with pytest.raises(InputError) as caught:
        place.run(what)

    assert caught.value.message.startswith(f"{path}: ")
    if damage == "changed":
        found = hashlib.sha256(whole + b"x").hexdigest()
        assert caught.value.message == f"{path}: its sha256 is {found}, expected that of its name"
    assert caught.value.hint == (
        "the bundle was changed or cut off on its way: run the build job again"
    )
    assert not any("reduced" in str(put) for put in place.device.put)
    assert all(left.suffix == ".partial" for left in (place.work / digest).glob("*"))


def test_ctrl_c_is_passed_on(place: Place) -> None:
    place.device.interrupt = True
    with pytest.raises(KeyboardInterrupt):
        place.run(place.bundle(plain=GOOD, reduced=GOOD))


def test_evidence_bears_the_machine_that_ran_it(place: Place) -> None:
    what = place.bundle(
        *(place.scenario(id=f"m{number}/s@any") for number in range(3)), plain=GOOD, reduced=GOOD
    )
    job = place.job(what)
    turns = iter(["phone-1", "dead", "phone-2", "phone-1"])

    class Dead(FakeDevice):
        def facts(self) -> dict[str, str]:
            msg = "adb: it is gone"
            raise InfrastructureFailure(msg)

    class Pool(FakeDevice):
        @contextmanager
        def reserve(self) -> Iterator[FakeDevice]:
            name = next(turns)
            yield Dead(name=name) if name == "dead" else FakeDevice(name=name)

    found = run(job, lambda: Pool(name="pool", retries=2), Console(place.said))

    reported = {
        entry.device.name: [result.scenario for result in entry.results]
        for entry in found.evidence.entries
    }
    assert reported == {"phone-1": ["m0/s@any", "m2/s@any"], "phone-2": ["m1/s@any"]}
    assert found.lost == 0
    assert "again dead failed (adb: it is gone); attempt 2" in place.said.getvalue()


def test_attempts_are_evidence_where_nothing_is_known(place: Place) -> None:
    place.device.retries = 1
    found = place.run(place.bundle(plain="lose it\n", reduced=GOOD))
    (result,) = only(found).results

    assert result.text == "adb: it is gone (attempt 2 of 2)"
    assert result.attempts == ("pixel-6: adb: it is gone",) * 2


def test_a_file_is_taken_once(place: Place) -> None:
    digest = place.put("model")
    target = place.work / "a" / "model"
    assert take(place.folder, digest, target) == target
    (place.folder / "files" / digest).write_bytes(b"other")

    assert take(place.folder, digest, target).read_bytes() == b"model"
    assert sorted(path.name for path in target.parent.iterdir()) == ["model"]


def test_no_link_to_another_folder_is_followed(place: Place) -> None:
    digest = place.put("model")
    elsewhere = (place.folder / "files").rename(place.work / "elsewhere")
    (place.folder / "files").symlink_to(elsewhere)

    with pytest.raises(InputError, match="found no plain file"):
        take(place.folder, digest, place.work / "model")
