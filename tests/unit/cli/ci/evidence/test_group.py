"""``megtrim ci evidence`` and ``gate``: device jobs on this machine, the final report, its gate."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import platform
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from megtrim.cli.ci.evidence import join
from megtrim.config.device import DeviceSettings
from megtrim.devices import DeviceSpec
from megtrim.devices.local import Local
from megtrim.errors import InfrastructureFailure
from megtrim.evidence.bundle import Bundle, JobPurpose, dump_bundle
from megtrim.evidence.device import BundleDevice
from megtrim.evidence.early_exit import EarlyExit, dump_ending
from megtrim.evidence.evidence import (
    Evidence,
    EvidenceSet,
    dump_set,
    parse_set,
)
from megtrim.midout.keepset import dump_keep_set
from megtrim.process import ProcessRunner
from megtrim.report.comment import Links
from megtrim.verdict.model import ScenarioStatus, parse_verdict, to_json
from support.clock import clock_at
from unit.cli.support import Shell
from unit.evidence.support import (
    DAY,
    SCENARIO,
    bundle,
    changed,
    device,
    evidence,
    proven,
    put,
    result,
    scenario,
    write_evidence,
    written,
)
from unit.stages.support import keep_set
from unit.verdict.examples import failing, passing, unverified

SECRET = "MEGTRIM_TEST_TOKEN"
PROGRAM = f"""\
#!/bin/sh
test -z "${{{SECRET}}}" || exit 9
printf '%s' "$PATH" > path
exit 133
"""
"""It fails on plain by design: these tests are about the job, not the proof."""


class Job:
    """A bundle in a folder, and the command that runs it."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.folder = shell.folder / "bundle"
        (self.folder / "files").mkdir(parents=True)
        self.digest = ""

    def put(self, text: str) -> str:
        digest = hashlib.sha256(text.encode()).hexdigest()
        (self.folder / "files" / digest).write_text(text, encoding="utf-8")
        return digest

    def write(self, **changes: Any) -> Bundle:
        program = self.put(PROGRAM)
        values: dict[str, Any] = {
            "machine": platform.machine(),
            "programs": (("plain", program), ("reduced", program)),
            "keep_set": self.put(dump_keep_set(keep_set(1))),
            "scenarios": (scenario(model=self.put("model"), inputs=()),),
        }
        whole = bundle(**{**values, **changes})
        text = dump_bundle(whole)
        (self.folder / "bundle.json").write_text(text, encoding="utf-8")
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        return whole

    def __call__(self, *more: str, cpu_class: str = "any") -> Any:
        given = ("--sha256", self.digest, "--class", cpu_class, "--to", "out")
        with clock_at(DAY):
            return self.shell("ci", "evidence", "run", "bundle", *given, *more)

    def evidence(self) -> Evidence:
        text = (self.shell.folder / "out" / "evidence.json").read_text("utf-8")
        (entry,) = parse_set(text, source="x").entries
        return entry


@pytest.fixture
def job(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.delenv("MEGTRIM_HOST_RUNS_PROGRAMS", raising=False)
    made = Job(shell)
    made.write()
    return made


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEGTRIM_HOST_RUNS_PROGRAMS", "yes")


def test_a_job_runs_what_the_owner_of_the_host_allows(job: Job, allowed: None) -> None:
    """What the program did is evidence: the exit status is 0."""
    answer = job()

    assert answer.status == 0
    assert answer.out == "evidence: out/evidence.json\n"
    assert job.evidence().device.name == "pixel-6"
    assert job.evidence().day == DAY
    (found,) = job.evidence().results
    assert (found.scenario, found.status) == (SCENARIO, ScenarioStatus.ENGINE_ERROR)
    assert found.text == "the plain build ended with 133 (trap)"
    assert sorted(path.name for path in (job.shell.folder / "out").iterdir()) == ["evidence.json"]


@pytest.mark.parametrize("kind", ["local", "qemu", "auto", "virtual-phone"])
@pytest.mark.parametrize("value", ["", "no", "1", "YES"])
def test_a_host_runs_nothing_unless_it_is_allowed(
    job: Job, monkeypatch: pytest.MonkeyPatch, kind: str, value: str
) -> None:
    """A pull request's program on the machine itself is for its owner to decide."""
    job.write(devices=(device(kind=kind),))
    monkeypatch.setenv("MEGTRIM_HOST_RUNS_PROGRAMS", value)
    answer = job()

    assert answer.status == 2
    assert answer.err == (
        f"megtrim: device pixel-6 is of kind {kind}: the bundle's programs would run here\n"
        "  if this machine may run them, set MEGTRIM_HOST_RUNS_PROGRAMS=yes "
        "in the runner's environment\n"
    )
    assert not (job.shell.folder / "out").exists()


def test_an_emulated_run_is_asked_for(job: Job) -> None:
    """On a hosted runner nobody needs protection; the evidence says that it was no device."""
    answer = job("--emulated")

    assert answer.status == 0
    assert job.evidence().device.name == "emulated-any"
    assert job.evidence().device.kind == "local"


def test_programs_see_no_token(job: Job, allowed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the job's environment only what a program needs is passed on."""
    monkeypatch.setenv(SECRET, "ghp_x")
    job()

    assert job.evidence().results[0].text == "the plain build ended with 133 (trap)"


def test_another_digest_is_refused(job: Job, allowed: None) -> None:
    """The bundle is not the one that the build job made."""
    job.digest = "0" * 64
    answer = job()

    assert answer.status == 2
    assert answer.err.startswith("megtrim: bundle/bundle.json: its sha256 is ")
    assert not (job.shell.folder / "out").exists()


def test_a_changed_file_is_refused_and_nothing_is_left(job: Job, allowed: None) -> None:
    """No evidence, and no copies."""
    whole = job.write()
    (job.folder / "files" / whole.programs[0][1]).write_text("#!/bin/sh\nexit 0\n")
    answer = job()

    assert answer.status == 2
    assert "expected that of its name" in answer.err
    assert list((job.shell.folder / "out").iterdir()) == []


@pytest.mark.parametrize("emulated", [True, False])
def test_a_class_that_the_bundle_does_not_know_is_refused(job: Job, emulated: bool) -> None:
    """With those that it knows."""
    answer = job(*(["--emulated"] if emulated else []), cpu_class="other")

    assert answer.status == 2
    assert "its classes: any" in answer.err


def test_a_class_without_a_runner_needs_emulation(job: Job) -> None:
    """Its device hangs nowhere."""
    hangs_nowhere = (device(name="auto-any", kind="auto", runner=False),)
    program = job.put(PROGRAM)
    programs = (("plain", program), ("profile", program))
    job.write(purpose=JobPurpose.TRACE, programs=programs, devices=hangs_nowhere)

    assert job().status == 2
    assert job("--emulated").status == 0


def test_a_kind_that_nobody_knows_is_refused(job: Job) -> None:
    """The kit on the runner may be older than the build's."""
    job.write(devices=(device(kind="telepathy"),))
    answer = job()

    assert answer.status == 2
    assert "this megtrim knows no kind 'telepathy'" in answer.err


class Pool:
    """Machines that are given out in turn; those named ``dead`` fail."""

    kind = "adb"
    retries = 2

    def __init__(self, requests: Sequence[DeviceSpec]) -> None:
        self.name = requests[0].name
        self.requests = requests
        self._turn = itertools.cycle(requests)

    @contextmanager
    def reserve(self) -> Iterator[Local]:
        request = next(self._turn)
        if request.name.startswith("dead"):
            msg = "link lost while pushing model.mge"
            raise InfrastructureFailure(msg)
        yield Local(request.name, ProcessRunner({"PATH": os.environ["PATH"]}), request.scratch)


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Pool]]:
    """Take every pool that a job makes, by its kind."""
    made: list[tuple[str, Pool]] = []

    def make(kind: str, requests: Sequence[DeviceSpec], *, native: str) -> Pool:
        made.append((kind, Pool(requests)))
        return made[-1][1]

    monkeypatch.setattr("megtrim.cli.ci.evidence.device_job.make", make)
    return made


def phone(name: str, **changes: Any) -> BundleDevice:
    settings = DeviceSettings(serial=name)
    return device(**{"name": name, "kind": "adb", "settings": settings, **changes})


def test_phones_of_a_class_are_a_pool(job: Job, pools: list[tuple[str, Pool]]) -> None:
    """A dead phone's job goes to another, and the evidence bears the one that ran it."""
    job.write(devices=(phone("dead-1"), phone("pixel-7"), phone("away", runner=False)))

    answer = job()

    assert answer.status == 0
    [(kind, pool)] = pools
    assert kind == "adb"
    assert [(request.name, request.settings.serial) for request in pool.requests] == [
        ("dead-1", "dead-1"),
        ("pixel-7", "pixel-7"),
    ]
    assert job.evidence().device.name == "pixel-7"
    assert job.evidence().results[0].text == "the plain build ended with 133 (trap)"
    assert "device     dead-1 (adb) for class any\n" in answer.err
    assert "device     pixel-7 (adb) for class any\n" in answer.err


def test_a_pool_is_of_one_kind(
    job: Job, pools: list[tuple[str, Pool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the first device of the class."""
    monkeypatch.setenv("MEGTRIM_BOARDS", "a b")
    board = device(name="board", kind="ssh", settings=DeviceSettings(host="b"))
    job.write(devices=(phone("a", cpu_class="other"), board, phone("pixel-7")))
    job()

    [(kind, pool)] = pools
    assert (kind, [request.name for request in pool.requests]) == ("ssh", ["board"])


@pytest.mark.parametrize("known", ["", "bb c", "B"])
def test_a_runner_logs_in_to_no_board_that_its_owner_did_not_name(
    job: Job, pools: list[tuple[str, Pool]], monkeypatch: pytest.MonkeyPatch, known: str
) -> None:
    """The host comes from a pull request, and the keys are the runner's."""
    monkeypatch.setenv("MEGTRIM_BOARDS", known)
    job.write(devices=(device(name="board", kind="ssh", settings=DeviceSettings(host="b")),))
    answer = job()

    assert answer.status == 2
    assert "device board: this runner may not log in to b" in answer.err
    assert "names the boards in MEGTRIM_BOARDS" in answer.err
    assert pools == []


def test_what_every_phone_failed_at_is_told(job: Job, pools: list[tuple[str, Pool]]) -> None:
    """All attempts, under the name of the first."""
    job.write(devices=(phone("dead-1"), phone("dead-2")))
    answer = job()

    assert answer.status == 0
    assert job.evidence().device.name == "dead-1"
    (found,) = job.evidence().results
    assert found.status is ScenarioStatus.INFRASTRUCTURE
    assert len(found.attempts) == 3
    assert all("link lost while pushing model.mge" in attempt for attempt in found.attempts)


def test_the_way_to_a_phone_has_its_own_environment(
    job: Job, pools: list[tuple[str, Pool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adb and ssh need a home; no token of the job is among what is passed on."""
    monkeypatch.setenv(SECRET, "ghp_x")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("MEGTRIM_ADB", "/opt/adb")
    job.write(devices=(phone("pixel-7"),))
    job()

    [(_, pool)] = pools
    env = pool.requests[0].processes.env
    assert (env["HOME"], env["MEGTRIM_ADB"]) == ("/home/me", "/opt/adb")
    assert SECRET not in env


def test_a_part_of_the_scenarios(job: Job, allowed: None) -> None:
    """Each shard has its own, by id."""
    model = job.put("model")
    names = [f"m{number}/s@any" for number in (2, 0, 1)]
    job.write(scenarios=tuple(scenario(id=name, model=model, inputs=()) for name in names))
    job("--shard", "1/2")

    assert [each.scenario for each in job.evidence().results] == ["m0/s@any", "m2/s@any"]
    assert job("--shard", "3/2").status == 2


def test_a_part_that_no_evidence_can_hold_is_refused(
    job: Job, allowed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything runs: all of it would be lost at the end."""
    monkeypatch.setattr("megtrim.evidence.limits.MOST_RESULTS", 1)
    model = job.put("model")
    ids = ("m/s@any", "m/t@any")
    job.write(scenarios=tuple(scenario(id=each, model=model, inputs=()) for each in ids))
    answer = job()

    assert answer.status == 2
    assert answer.err == (
        "megtrim: --shard 1/1: found 2 scenarios in this part\n"
        "  make more parts: a job runs at most 1\n"
    )
    assert not (job.shell.folder / "out").exists()
    assert job("--shard", "2/2").status == 0


def test_evidence_goes_into_a_folder_of_its_own(job: Job, allowed: None) -> None:
    """What is there is not mixed with it."""
    (job.shell.folder / "out").mkdir()
    (job.shell.folder / "out" / "old").touch()
    answer = job()

    assert answer.status == 2
    assert "--to out: found something there" in answer.err


def test_a_dead_device_is_a_warning(
    job: Job, allowed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict judges what it means."""
    monkeypatch.setattr("megtrim.devices.local.Local.open", full_disk)
    answer = job()

    assert answer.status == 0
    assert "warning: the device failed: nothing is known about 1 of 1 scenarios\n" in answer.err
    assert job.evidence().results[0].status is ScenarioStatus.INFRASTRUCTURE


def full_disk(self: object) -> None:
    msg = "runs cannot be used for runs: No space left on device"
    raise InfrastructureFailure(msg)


def test_ctrl_c_leaves_nothing(job: Job, allowed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No copies, no half of evidence."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("megtrim.pipeline.running.verification.run_on", interrupt)
    answer = job()

    assert answer.status == 130
    assert list((job.shell.folder / "out").iterdir()) == []


def test_copies_of_the_bundle_are_private(
    job: Job, allowed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else may change a program between its check and its run."""
    seen: list[int] = []

    def look(*_: object) -> None:
        (work,) = (job.shell.folder / "out").iterdir()
        seen.append(stat.S_IMODE(work.stat().st_mode))
        raise KeyboardInterrupt

    monkeypatch.setattr("megtrim.pipeline.running.verification.run_on", look)
    job()

    assert seen == [0o700]


class Final:
    """The folders of a run's jobs, and the command that joins them."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.results = shell.folder / "results"
        self.results.mkdir()

    def bundle(self, **changes: Any) -> None:
        folder = self.shell.folder / "bundle"
        folder.mkdir()
        (folder / "bundle.json").write_text(dump_bundle(bundle(**changes)), encoding="utf-8")

    def verdict(self, text: str) -> None:
        (self.results / "verdict.json").write_text(text, encoding="utf-8")

    def __call__(self, *more: str) -> Any:
        given = ("--verdict", "results/verdict.json", "--bundle", "bundle", "--to", "report")
        with clock_at(DAY):
            return self.shell("ci", "evidence", "join", *given, *more)

    def read(self, name: str) -> str:
        return (self.shell.folder / "report" / name).read_text("utf-8")

    def checks(self) -> dict[str, str]:
        verdict = parse_verdict(self.read("verdict.json"), source="x")
        return {check.id: check.text for check in verdict.checks if check.kind == "device"}

    def left(self) -> list[str]:
        return sorted(path.name for path in (self.shell.folder / "report").iterdir())


@pytest.fixture
def final_(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Final:
    for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    return Final(shell)


def test_a_report_has_all_its_forms(final_: Final) -> None:
    """And the sizes that the build left beside its verdict."""
    final_.verdict(to_json(passing()))
    final_.bundle()
    (final_.results / "sizes.json").write_text("sizes", encoding="utf-8")
    write_evidence(final_.shell.folder / "evidence" / "a", written(evidence()))
    answer = final_("--evidence", "evidence", "--run-url", "https://ci.example/1")

    assert answer.status == 0
    assert answer.out.startswith("unverified: load_and_run: ")
    assert answer.out.endswith(", 1 of 2 proven on devices\n")
    assert final_.left() == [
        *("comment.md", "evidence.json", "index.html", "junit.xml", "report.md"),
        *("sizes.json", "verdict.json"),
    ]
    assert final_.read("sizes.json") == "sizes"
    assert final_.read("comment.md") == final_.read("report.md")
    assert "(https://ci.example/1)" in final_.read("comment.md")
    assert "pixel-6" in final_.read("junit.xml")
    assert parse_set(final_.read("evidence.json"), source="x").entries == (evidence(),)
    assert final_.checks()[f"device:{SCENARIO}"].startswith("pixel-6: outputs equal")


def test_silence_has_its_reason(final_: Final) -> None:
    """As the jobs before know it; an empty one is none."""
    final_.verdict(to_json(passing()))
    final_.bundle()

    assert final_("--pending", "fork", "--evidence", "gone").status == 0
    assert "a pull request from a fork" in final_.checks()[f"device:{SCENARIO}"]
    assert final_("--pending", "").status == 0
    assert final_.checks()[f"device:{SCENARIO}"].endswith("the device job brought no result of it")
    assert final_("--pending", "lazy").status == 2


def test_proofs_of_before_are_used_and_handed_on(final_: Final) -> None:
    """A pull request that touches nothing needs no device, and says why."""
    final_.verdict(to_json(passing()))
    final_.bundle(scenarios=(), proven=(proven(),))
    before = dump_set(EvidenceSet(entries=(evidence(day="2027-01-28"),)))
    (final_.shell.folder / "proofs.json").write_text(before, encoding="utf-8")

    assert final_("--proofs", "proofs.json").status == 0
    assert final_.checks()[f"device:{SCENARIO}"] == (
        "pixel-6 proved this program 3 days ago, so no device was used"
    )
    assert final_.read("evidence.json") == before
    assert "pixel-6 proved this program 3 days ago" in final_.read("comment.md")


def test_proofs_that_nobody_kept_are_none(final_: Final) -> None:
    """A first run has no baseline; a damaged file is bad input all the same."""
    final_.verdict(to_json(passing()))
    final_.bundle()
    answer = final_("--proofs", "proofs.json")
    (final_.shell.folder / "proofs.json").write_text("{", encoding="utf-8")

    assert (answer.status, answer.err) == (
        0,
        "no earlier proofs: there is no proofs.json\n",
    )
    assert final_("--proofs", "proofs.json").status == 2


def test_evidence_that_cannot_be_used_is_a_warning(final_: Final) -> None:
    """Its scenarios stay unverified; what else came counts."""
    final_.verdict(to_json(passing()))
    final_.bundle()
    write_evidence(final_.shell.folder / "evidence" / "a", "\x1b[31m{")
    assert final_("--evidence", "evidence").status == 0

    verdict = parse_verdict(final_.read("verdict.json"), source="x")
    assert verdict.warnings[-1].startswith(
        "evidence that cannot be used: evidence/a/evidence.json:1: found no JSON here"
    )
    assert verdict.verdict == "unverified"
    write_evidence(final_.shell.folder / "evidence" / "b", written(evidence()))
    final_("--evidence", "evidence")
    assert final_.checks()[f"device:{SCENARIO}"].startswith("pixel-6: outputs equal")


def test_evidence_that_contradicts_itself_ends_the_report(final_: Final) -> None:
    """It may hold a trap, so the gate is red, and says why; what cannot be read at all may not."""
    final_.verdict(to_json(passing()))
    final_.bundle()
    path = ("entries", 0, "results", 0, "outputs", 0, "equal")
    text = changed(written(evidence()), put(*path, value=False))
    write_evidence(final_.shell.folder / "evidence" / "a", text)
    answer = final_("--evidence", "evidence")

    assert answer.status == 2
    said = f"{SCENARIO}: its status is pass, and output run0-var178 differs"
    assert answer.err.startswith(f"megtrim: evidence/a/evidence.json:1: {said}\n")
    assert final_.shell("ci", "gate", "report").status == 2
    assert said in final_.read("comment.md")


def test_a_lost_bundle_is_no_pass(final_: Final) -> None:
    """Nobody knows which devices had to be asked; the gate says so as well."""
    final_.verdict(to_json(passing()))
    answer = final_()

    assert answer.status == 3
    assert "the build job left no bundle in bundle" in answer.err
    assert "the build job left no bundle" in final_.read("comment.md")
    assert final_.shell("ci", "gate", "report").status == 3


def test_a_failed_build_fails_without_a_bundle(final_: Final) -> None:
    """What it found is told, and is enough."""
    final_.verdict(to_json(failing()))

    assert final_().status == 0
    assert final_.checks() == {}
    assert final_.shell("ci", "gate", "report").status == 1


def test_a_build_that_ended_early_is_told(final_: Final) -> None:
    """Why, as a comment, for the gate; a report of before is gone."""
    final_.verdict(to_json(passing()))
    final_.bundle()
    final_()
    (final_.results / "verdict.json").unlink()
    ending = dump_ending(EarlyExit(exit=2, message="megtrim.yaml:3: @all no", hint="fix"))
    (final_.results / "ending.json").write_text(ending, encoding="utf-8")
    answer = final_("--run-url", "https://ci.example/1")

    assert (answer.status, answer.out) == (0, "no verdict: megtrim.yaml:3: @all no\n")
    assert final_.left() == ["comment.md", "ending.json", "junit.xml", "report.md"]
    assert final_.read("ending.json") == ending
    assert final_.read("comment.md") == final_.read("report.md")
    assert "megtrim.yaml:3: @all no" in final_.read("comment.md")
    assert "[This run](https://ci.example/1)" in final_.read("comment.md")
    assert 'message="megtrim.yaml:3: @all no"' in final_.read("junit.xml")
    gate = final_.shell("ci", "gate", "report")
    assert (gate.status, gate.out) == (2, "  megtrim.yaml:3: @all no\n    fix\n")


def test_a_build_that_left_nothing_is_told(final_: Final) -> None:
    """Its job was cancelled, say."""
    answer = final_()

    assert (answer.status, answer.out) == (0, "no verdict: the build job left no result\n")
    assert json.loads(final_.read("ending.json"))["exit"] == 3
    assert final_.shell("ci", "gate", "report").status == 3


def test_the_verdict_may_be_named_by_its_folder(final_: Final) -> None:
    """With the ending looked for in it."""
    final_.verdict(to_json(passing()))
    final_.bundle()
    answer = final_.shell("ci", "evidence", "join", "--verdict", "results", "--to", "report")

    assert answer.status == 0
    assert "verdict.json" in final_.left()


@pytest.mark.parametrize("text", ["", "{", '{"version": 1}'])
def test_a_verdict_that_is_none_is_refused(final_: Final, text: str) -> None:
    """What is left says why, and no gate takes it for good."""
    final_.verdict(text)
    answer = final_()

    assert answer.status == 2
    assert final_.left() == ["comment.md", "ending.json", "junit.xml", "report.md"]
    assert "verdict.json:1: " in json.loads(final_.read("ending.json"))["message"]
    assert "verdict.json:1: " in final_.read("comment.md")
    assert final_.shell("ci", "gate", "report").status == 2


@pytest.mark.parametrize("left", ["verdict", "proofs", "evidence"])
def test_a_report_does_not_go_where_its_sources_lie(final_: Final, left: str) -> None:
    """The folder is cleared first: they would be lost, and the report would know nothing."""
    final_.verdict(to_json(passing()))
    final_.bundle()
    (final_.shell.folder / "report").mkdir()
    file = final_.shell.folder / "report" / {"verdict": "verdict.json"}.get(left, "evidence.json")
    file.write_text(to_json(passing()), encoding="utf-8")
    given = {"proofs": "report/evidence.json", "evidence": "report", "verdict": "report"}[left]
    more = ("--to", "./report", f"--{left}", given)
    answer = final_(*more)

    assert answer.status == 2
    assert answer.err.startswith("megtrim: --to report: found what the report is to be made from")
    assert file.read_text("utf-8") == to_json(passing())


def test_the_run_is_linked_from_its_environment() -> None:
    """Where all three parts are known, and unless told otherwise."""
    env = {
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "team/app",
        "GITHUB_RUN_ID": "17",
    }
    here = "https://github.com/team/app/actions/runs/17"

    assert join.links(env, "", "report") == Links(run=here, artifact="report")
    assert join.links(env, "https://ci/1", "") == Links(run="https://ci/1", artifact="")
    for name in env:
        assert join.links({**env, name: ""}, "", "") == Links(run="", artifact="")


@pytest.mark.parametrize(
    ("verdict", "status"),
    [(passing(), 0), (failing(), 1), (unverified(), 0), (unverified(expired=True), 1)],
)
def test_the_gate_ends_as_the_verdict_says(shell: Shell, verdict: Any, status: int) -> None:
    """A sleeping phone blocks nobody; an expired proof does."""
    (shell.folder / "verdict.json").write_text(to_json(verdict), encoding="utf-8")
    answer = shell("ci", "gate", ".")

    assert answer.status == status
    assert answer.out == f"{verdict.verdict}: {verdict.headline}\n"


def test_a_verdict_beside_the_word_of_a_run_without_one_is_refused(shell: Shell) -> None:
    """One of them is of an earlier run."""
    (shell.folder / "verdict.json").write_text(to_json(passing()), encoding="utf-8")
    text = dump_ending(EarlyExit(exit=2, message="it broke", hint=""))
    (shell.folder / "ending.json").write_text(text, encoding="utf-8")
    answer = shell("ci", "gate", ".")

    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "megtrim: .: found verdict.json and ending.json, expected one of them\n"
        "  two runs wrote there: empty the folder, and run again\n"
    )


@pytest.mark.parametrize("status", [1, 2, 3, 70, 130])
def test_the_gate_ends_as_the_build_did(shell: Shell, status: int) -> None:
    """Where there is no verdict."""
    text = dump_ending(EarlyExit(exit=status, message="it broke", hint=""))
    (shell.folder / "ending.json").write_text(text, encoding="utf-8")

    assert shell("ci", "gate", ".").status == status


@pytest.mark.parametrize("name", ["verdict.json", "ending.json"])
def test_the_gate_stays_shut_for_what_is_no_report(shell: Shell, name: str) -> None:
    """Nothing at all is an infrastructure failure, a damaged file bad input."""
    empty = shell("ci", "gate", ".")
    (shell.folder / name).write_text("{}", encoding="utf-8")

    assert (empty.status, shell("ci", "gate", ".").status) == (3, 2)
    assert empty.err == (
        "megtrim: .: the build job left no result\n  look at the build job, and run it again\n"
    )


@pytest.mark.parametrize("asked", ["traces", "functions"])
@pytest.mark.parametrize("more", [("--committed",), ("--quick",), ("--proofs", "x")])
def test_purposes_do_not_mix(shell: Shell, asked: str, more: tuple[str, ...]) -> None:
    """Both are asked for anew: the committed keep set and proofs have no say."""
    answer = shell("ci", "evidence", "pack", f"--{asked}", "--to", "b", *more)

    assert answer.status == 2
    assert f"--{asked} asks for new {asked}: " in answer.err


@pytest.mark.parametrize("asked", [(), ("--traces",), ("--committed",)])
def test_only_functions_rest_on_evidence(shell: Shell, asked: tuple[str, ...]) -> None:
    """Elsewhere it would be taken for something that it is not."""
    answer = shell("ci", "evidence", "pack", *asked, "--evidence", "x", "--to", "b")

    assert answer.status == 2
    assert "it needs --functions" in answer.err


def test_a_trace_job_is_no_verification(final_: Final) -> None:
    """Its evidence says nothing about the reduced program."""
    final_.verdict(to_json(passing()))
    final_.bundle()
    traced = evidence(result(trace="a" * 64), purpose=JobPurpose.TRACE)
    write_evidence(final_.shell.folder / "evidence" / "a", written(traced))
    final_("--evidence", "evidence")

    assert final_.checks()[f"device:{SCENARIO}"].endswith("brought no result of it")
