"""A job packs what it built, and device jobs run it."""

import hashlib
import itertools
import json
import os
import platform
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from megtrim.core.chain.graph import LINKED, REDUCED
from megtrim.core.chain.session import Session
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.config.device import DeviceSettings
from megtrim.core.evidence.evidence import Evidence, EvidenceSet, JobPurpose, parse_set
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.hosting.cli.evidence.pack import describe_jobs
from megtrim.lab.evidence.bundle import Bundle, BundleDevice
from megtrim.lab.jobs.pack import list_devices, select
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.strict_json import dump
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.local import Local
from support.clock import clock_at
from unit.core.cli.support import Answer, Shell
from unit.core.trim.stages.built import CONFIG, built, linked
from unit.core.trim.stages.support import keep_set
from unit.lab.evidence.support import DAY, SCENARIO, bundle, device, evidence, result, scenario
from unit.lab.jobs.timed import timed

NOTHING_KNOWN = EvidenceSet(entries=())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        *(
            (f"--{asked} {more}", f"--{asked} asks for new {asked}: ")
            for asked in ("traces", "functions")
            for more in ("--committed", "--quick", "--proofs x")
        ),
        *((f"{more} --evidence x", "it needs --functions") for more in ("", "--traces")),
        ("--committed --evidence x", "it needs --functions"),
        # They may be of the committed keep set; what was proven says nothing of times.
        ("--times --committed --proofs x", "--times asks for new times: it cannot be combined"),
    ],
)
def test_purposes_do_not_mix(shell: Shell, asked: str, message: str) -> None:
    shell("ci", "evidence", "pack", *asked.split(), "--to", "b").expect(2, message)


def describe(cpu_class: str, shard: str, artifact: str) -> dict[str, str]:
    name = f"{cpu_class} {shard}"
    return {"name": name, "class": cpu_class, "shard": shard, "artifact": artifact, "runner": ""}


def without(session: Session, task: str) -> Session:
    del session.done[task]
    return session


def proven(session: Session) -> EvidenceSet:
    asked = select(session, JobPurpose.VERIFY, NOTHING_KNOWN).asked
    results = (result(scenario=each.id, binding=bound) for each, bound in asked)
    board = DeviceIdentity(name="board", kind="local", facts={})
    return EvidenceSet(entries=(evidence(*results, device=board),))


PLAIN_FUNCTIONS = "level: function, base: plain"
VERIFY = JobPurpose.VERIFY
TRACE = JobPurpose.TRACE
RECORD = JobPurpose.RECORD


@pytest.mark.parametrize(
    ("make", "purpose", "per_job", "device", "emulated", "functions"),
    [
        # The committed keep set, and the quick way: by the devices on runners alone.
        (
            lambda folder: built(folder, committed=True),
            VERIFY,
            1,
            ["megtrim-evidence-any-1", "megtrim-evidence-any-2"],
            [],
            "false",
        ),
        (
            lambda folder: built(folder, quick=True),
            VERIFY,
            20,
            ["megtrim-evidence-any-1"],
            [],
            "false",
        ),
        # Classes without a runner are traced on emulators.
        (built, TRACE, 20, ["megtrim-traces-any-1"], ["megtrim-traces-big-1"], "false"),
        # The first jobs know that others follow; those know that they are the last.
        (linked, TRACE, 20, ["megtrim-traces-any-1"], ["megtrim-traces-big-1"], "true"),
        (linked, RECORD, 20, ["megtrim-functions-any-1"], ["megtrim-functions-big-1"], "false"),
        (
            lambda folder: linked(folder, trim=PLAIN_FUNCTIONS),
            RECORD,
            20,
            ["megtrim-functions-any-1"],
            ["megtrim-functions-big-1"],
            "false",
        ),
        # A build that failed has no job: there is nothing that a device could run.
        (
            lambda folder: without(linked(folder, trim=PLAIN_FUNCTIONS), LINKED),
            RECORD,
            20,
            [],
            [],
            "false",
        ),
        (
            lambda folder: without(built(folder, committed=True), REDUCED),
            VERIFY,
            20,
            [],
            [],
            "false",
        ),
        # Jobs that take times share contests, not scenarios.
        (
            lambda folder: timed(folder, committed=True),
            JobPurpose.TIME,
            3,
            ["megtrim-times-any-1", "megtrim-times-any-2"],
            [],
            "false",
        ),
    ],
)
def test_jobs_run_what_was_packed(
    tmp_path: Path,
    make: Callable[[Path], Session],
    purpose: JobPurpose,
    per_job: int,
    device: list[str],
    emulated: list[str],
    functions: str,
) -> None:
    outputs = describe_jobs(make(tmp_path), purpose, NOTHING_KNOWN, per_job=per_job)

    for name, artifacts in (("device", device), ("emulated", emulated)):
        cpu_class = "any" if name == "device" else "big"
        entries = [
            describe(cpu_class, f"{index}/{len(artifacts)}", artifact)
            for index, artifact in enumerate(artifacts, 1)
        ]
        assert json.loads(outputs[name]) == {"include": entries}
        assert outputs[f"{name}-jobs"] == str(len(artifacts))
    assert outputs["functions"] == functions
    assert not any("\n" in value for value in outputs.values())


def test_what_is_proven_has_no_job(tmp_path: Path) -> None:
    session = built(tmp_path, committed=True)
    outputs = describe_jobs(session, VERIFY, proven(session), per_job=20)

    assert (json.loads(outputs["device"]), outputs["device-jobs"]) == ({"include": []}, "0")


SECRET = "MEGTRIM_TEST_TOKEN"
PROGRAM = f"""\
#!/bin/sh
test -z "${{{SECRET}}}" || exit 9
printf '%s' "$PATH" > path
exit 133
"""
"""It fails on plain by design: these tests are about the job, not the proof."""


class Job:
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
            "programs": {"plain": program, "reduced": program},
            "keep_set": self.put(dump_keep_set(keep_set(1))),
            "scenarios": (scenario(model=self.put("model"), inputs=()),),
        }
        whole = bundle(**{**values, **changes})
        text = dump(whole)
        (self.folder / "bundle.json").write_text(text, encoding="utf-8")
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        return whole

    def __call__(self, *more: str, cpu_class: str = "any") -> Answer:
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


def test_a_job_runs_what_the_owner_of_the_host_allows_and_shows_it_no_token(
    job: Job, allowed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET, "ghp_x")
    assert job().expect(0).out == "evidence: out/evidence.json\n"
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
    assert job().expect(2).err == (
        f"megtrim: device pixel-6 is of kind {kind}: its programs would run on this machine\n"
        "  if this machine may run them, set MEGTRIM_HOST_RUNS_PROGRAMS=yes "
        "in the runner's environment\n"
    )
    assert not (job.shell.folder / "out").exists()


def test_a_machine_of_github_is_its_owners_to_use(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNNER_ENVIRONMENT", "github-hosted")

    assert job().status == 0


def test_a_class_names_the_machine_of_github_that_its_jobs_run_on(tmp_path: Path) -> None:
    config = CONFIG.replace("{name: any}", "{name: any, runner: ubuntu-24.04-arm}")
    session = built(tmp_path, config=config, committed=True)
    outputs = describe_jobs(session, VERIFY, NOTHING_KNOWN, per_job=1)

    found = json.loads(outputs["device"])["include"]
    assert {each["runner"] for each in found} == {"ubuntu-24.04-arm"}
    assert {each.hosted for each in list_devices(session.request, VERIFY)} == {True}


def test_an_emulated_run_is_asked_for(job: Job) -> None:
    job("--emulated").expect(0)

    assert job.evidence().device.name == "emulated-any"
    assert job.evidence().device.kind == "local"


def change_program(job: Job) -> None:
    (job.folder / "files" / job.write().programs["plain"]).write_text("#!/bin/sh\nexit 0\n")


def leave_old(job: Job) -> None:
    (job.shell.folder / "out").mkdir()
    (job.shell.folder / "out" / "old").touch()


@pytest.mark.parametrize(
    ("prepare", "words", "message"),
    [
        (lambda job: setattr(job, "digest", "0" * 64), "", "bundle/bundle.json: its sha256 is "),
        (change_program, "", "expected that of its name"),
        (Job.write, "--class other", "its classes: any"),
        (Job.write, "--class other --emulated", "its classes: any"),
        # The kit on the runner may be older than the build's.
        (
            lambda job: job.write(devices=(device(kind="telepathy"),)),
            "",
            "this megtrim knows no kind 'telepathy'",
        ),
        (leave_old, "", "--to out: found something there"),
    ],
    ids=["digest", "program", "class", "emulated class", "kind", "folder"],
)
def test_what_cannot_be_run_is_refused_and_nothing_is_left(
    job: Job, allowed: None, prepare: Callable[[Job], object], words: str, message: str
) -> None:
    prepare(job)
    out = job.shell.folder / "out"
    before = [*out.glob("*")]
    job(*words.split()).expect(2, message)

    assert [*out.glob("*")] == before


def test_a_class_without_a_runner_needs_emulation(job: Job) -> None:
    hangs_nowhere = (device(name="auto-any", kind="auto", runner=False),)
    program = job.put(PROGRAM)
    programs = {"plain": program, "profile": program}
    job.write(purpose=JobPurpose.TRACE, programs=programs, devices=hangs_nowhere)

    assert job().status == 2
    assert job("--emulated").status == 0


class Pool:
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
    made: list[tuple[str, Pool]] = []

    def make(kind: str, requests: Sequence[DeviceSpec], *, native: str) -> Pool:
        made.append((kind, Pool(requests)))
        return made[-1][1]

    monkeypatch.setattr("megtrim.places.devices.kinds.make_all", make)
    return made


def phone(name: str, **changes: Any) -> BundleDevice:
    settings = DeviceSettings(serial=name)
    return device(**{"name": name, "kind": "adb", "settings": settings, **changes})


def test_phones_of_a_class_are_a_pool(job: Job, pools: list[tuple[str, Pool]]) -> None:
    job.write(devices=(phone("dead-1"), phone("pixel-7"), phone("away", runner=False)))

    answer = job().expect(0)

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
    own_boards(job, monkeypatch, "board")
    board = device(name="board", kind="ssh", settings=DeviceSettings(host="b"))
    job.write(devices=(phone("a", cpu_class="other"), board, phone("pixel-7")))
    job()

    [(kind, pool)] = pools
    assert (kind, [request.name for request in pool.requests]) == ("ssh", ["board"])


def own_boards(job: Job, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    path = job.shell.folder / "boards.yaml"
    rows = ", ".join(f"{{name: {name}, host: {name}.lan}}" for name in names)
    path.write_text(f"boards: [{rows}]\n", encoding="utf-8")
    monkeypatch.setenv("MEGTRIM_BOARDS", str(path))


@pytest.mark.parametrize("known", [None, "b", "bb"])
def test_a_runner_logs_in_to_no_board_that_its_owner_did_not_name(
    job: Job, pools: list[tuple[str, Pool]], monkeypatch: pytest.MonkeyPatch, known: str | None
) -> None:
    """The host comes from a pull request, and the keys are the runner's."""
    own_boards(job, monkeypatch, *filter(None, [known]))
    job.write(devices=(device(name="board", kind="ssh", settings=DeviceSettings(host="b")),))
    job().expect(
        2,
        "device board: the owner of this machine has not listed such a board",
        "MEGTRIM_BOARDS names a file",
    )

    assert pools == []


def test_what_every_phone_failed_at_is_shown(job: Job, pools: list[tuple[str, Pool]]) -> None:
    job.write(devices=(phone("dead-1"), phone("dead-2")))
    job().expect(0)

    assert job.evidence().device.name == "dead-1"
    (found,) = job.evidence().results
    assert found.status is ScenarioStatus.INFRASTRUCTURE
    assert len(found.attempts) == 3
    assert all("link lost while pushing model.mge" in attempt for attempt in found.attempts)


@pytest.mark.parametrize("owner", ["self-hosted", "github-hosted"])
def test_a_machine_of_github_is_not_named_in_facts(
    job: Job, allowed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, owner: str
) -> None:
    """Each job has a new one: with its name, no times would ever be of the same machine."""
    (tmp_path / "machine-id").write_text("a", encoding="utf-8")
    monkeypatch.setattr("megtrim.places.devices.local._MACHINE_ID", tmp_path / "machine-id")
    monkeypatch.setenv("RUNNER_ENVIRONMENT", owner)
    assert job().status == 0
    assert ("host" in job.evidence().device.facts) == (owner == "self-hosted")


def test_the_way_to_a_phone_has_its_own_environment(
    job: Job, pools: list[tuple[str, Pool]], monkeypatch: pytest.MonkeyPatch
) -> None:
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
    model = job.put("model")
    names = [f"m{number}/s@any" for number in (2, 0, 1)]
    job.write(scenarios=tuple(scenario(id=name, model=model, inputs=()) for name in names))
    job("--shard", "1/2")

    assert [each.scenario for each in job.evidence().results] == ["m0/s@any", "m2/s@any"]
    assert job("--shard", "3/2").status == 2


def test_a_part_that_no_evidence_can_hold_is_refused(
    job: Job, allowed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("megtrim.libs.util.limits.MOST_RESULTS", 1)
    model = job.put("model")
    ids = ("m/s@any", "m/t@any")
    job.write(scenarios=tuple(scenario(id=each, model=model, inputs=()) for each in ids))
    assert job().expect(2).err == (
        "megtrim: --shard 1/1: found 2 scenarios in this part\n"
        "  make more parts: a job runs at most 1\n"
    )
    assert not (job.shell.folder / "out").exists()
    assert job("--shard", "2/2").status == 0


def test_a_dead_device_is_a_warning(
    job: Job, allowed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = InfrastructureFailure("runs cannot be used for runs: No space left on device")
    monkeypatch.setattr("megtrim.places.devices.local.Local.open", Mock(side_effect=failure))
    job().expect(0, "warning: the device failed: nothing is known about 1 of 1 scenarios\n")

    assert job.evidence().results[0].status is ScenarioStatus.INFRASTRUCTURE


def test_copies_of_the_bundle_are_private_and_ctrl_c_leaves_none(
    job: Job, allowed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No one else may change a program between its check and its run."""
    seen: list[int] = []

    def look(*_: object) -> None:
        (work,) = (job.shell.folder / "out").iterdir()
        seen.append(stat.S_IMODE(work.stat().st_mode))
        raise KeyboardInterrupt

    monkeypatch.setattr("megtrim.core.proof.verification.run_on", look)
    assert (job().status, seen) == (130, [0o700])
    assert list((job.shell.folder / "out").iterdir()) == []
