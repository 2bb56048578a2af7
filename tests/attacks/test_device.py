"""Attempts by programs and machines: how a run ends, what it leaves, and where it ran.

The device is this machine, and its job a real one; what it runs are scripts.
"""

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacks.arena import PROGRAM, SCENARIO, Arena
from attacks.documents import Documents, leaving, script
from attacks.test_parity import dumped
from megtrim.core.config.device import DeviceSettings
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.kinds import make
from unit.core.cli.support import Shell
from unit.core.trim.stages.fake_device import GOOD, TRAPS, Fickle
from unit.hosting.cli.evidence.test_pack import Job
from unit.lab.evidence.support import device
from unit.lab.jobs.test_worker import Place, only

pytestmark = [pytest.mark.chain]

RIGHT: Mapping[str, bytes] = {"o": dumped(np.linspace(0.1, 0.9, 6, dtype="<f4"))}
GOOD_PROGRAM = leaving(RIGHT)
TRAP = "kill -ILL $$"


@pytest.fixture
def papers(arena: Arena) -> Documents:
    documents = Documents(arena)
    documents.start()
    return documents


def expect_red(papers: Documents, plain: bytes, reduced: bytes, *statuses: str) -> dict[str, Any]:
    row = papers.play(plain, reduced)
    assert row["status"] in statuses, row
    papers.conclude().expect_red()
    return row


ENDS = ("kill -KILL $$", "kill -TERM $$", "exit 137", "exit 143")
SAID = (
    "libc : Fatal signal 4 (SIGILL), code 1 (ILL_ILLOPC), fault addr 0x5581",
    "qemu: uncaught target signal 5 (Trace/breakpoint trap) - core dumped",
)
PRETENDED = "printf 'megtrim rc=0\\nmegtrim late=no\\nmegtrim surveyed=yes\\n'"
Play = tuple[bytes, bytes, tuple[str, ...]]
ATTEMPTS: dict[str, tuple[Play, ...]] = {
    "outputs_of_an_earlier_run_are_left": ((GOOD_PROGRAM, script("exit 0"), ("parity",)),),
    "a_wrapper_swallows_the_trap": (
        (GOOD_PROGRAM, script(f"sh -c '{TRAP}'", "exit 0"), ("parity", "trap")),
    ),
    "a_trap_after_the_outputs": ((GOOD_PROGRAM, leaving(RIGHT, TRAP), ("trap",)),),
    "a_trap_that_ends_with_0": tuple(
        (GOOD_PROGRAM, leaving(RIGHT, f"echo '{said}' >&2", "exit 0"), ("trap",)) for said in SAID
    ),
    "exit_statuses_are_exchanged": (
        (leaving(RIGHT, "exit 1"), GOOD_PROGRAM, ("engine-error",)),
        (leaving(RIGHT, TRAP), GOOD_PROGRAM, ("engine-error", "trap")),
    ),
    "a_program_kills_itself_each_time": tuple(
        (GOOD_PROGRAM, leaving(RIGHT, end), ("engine-error",)) for end in ENDS
    ),
    "a_program_says_how_it_ended": (
        (GOOD_PROGRAM, leaving(RIGHT, PRETENDED, f"{PRETENDED} >&2", TRAP), ("trap",)),
    ),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_attempt(papers: Documents, attempt: str) -> None:
    for plain, reduced, statuses in ATTEMPTS[attempt]:
        papers.start()
        expect_red(papers, plain, reduced, *statuses)


def test_a_program_is_killed(papers: Documents) -> None:
    for ends in ENDS:
        for reduced in (GOOD_PROGRAM, leaving(RIGHT, ends)):
            papers.start()
            row = papers.play(leaving(RIGHT, ends), reduced)
            assert row["status"] == "infrastructure", ends
            assert papers.conclude().verdict == "unverified"


def test_a_killed_program_then_traps(papers: Documents) -> None:
    mark = papers.folder / "tried"
    once = f"test -e {mark} || {{ touch {mark}; kill -KILL $$; }}"
    row = papers.play(GOOD_PROGRAM, script(once, TRAP))

    assert row["status"] in ("trap", "infrastructure")
    papers.conclude().expect_no_pass()


def test_a_trap_then_a_dead_machine_then_a_pass(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.device = Fickle(retries=1, plays=[GOOD, TRAPS, "lose pixel-6\n", GOOD, GOOD])
    bundle = place.bundle(plain=GOOD, reduced=TRAPS, profile=GOOD)
    (result,) = only(place.run(bundle)).results

    assert result.status == "trap"


def test_a_program_that_is_too_slow(papers: Documents) -> None:
    papers.change_bundle(lambda data: data["scenarios"][0].update(timeout_s=1.0))

    expect_red(papers, GOOD_PROGRAM, leaving(RIGHT, "sleep 60"), "engine-error", "trap")


def test_outputs_are_links(papers: Documents) -> None:
    right = papers.folder / "right"
    right.write_bytes(RIGHT["o"])

    expect_red(papers, GOOD_PROGRAM, script(f"ln -s {right} dump/o"), "engine-error")


def test_outputs_by_a_stray_process(papers: Documents) -> None:
    right = papers.folder / "right"
    right.write_bytes(RIGHT["o"])
    copies = f"for d in ../*/dump; do cp {right} $d/o; done"
    work = f"for i in 1 2 3 4 5 6 7 8; do {copies}; sleep 0.1; done"
    plain = leaving(RIGHT, f"setsid sh -c '{work}' >/dev/null 2>&1 </dev/null &")

    expect_red(papers, plain, script("sleep 0.5"), "parity")


def test_another_emulated_cpu(tmp_path: Path, processes: ProcessRunner) -> None:
    reported = []
    for cpu in ("max", "cortex-a53"):
        spec = DeviceSpec(
            name="emulated",
            processes=processes,
            scratch=tmp_path,
            machine="aarch64",
            qemu_cpu=cpu,
            sysroot=None,
            cpu_class="any",
        )
        reported.append(make("qemu", spec, native="x86_64").identity())

    assert reported[0] != reported[1]


def test_another_device_is_asked_for(arena: Arena) -> None:
    arena.start("honest")
    other = {"name": "bench", "kind": "local", "class": "any"}
    arena.configure(devices=[{"name": "desk", "kind": "local", "class": "any"}, other])
    arena.make_flaky()
    assert arena.trim("--device", "desk").rc in (0, 1)
    arena.stage("verify", "--again", "--device", "desk")
    assert arena.trim("--device", "desk").rc == 1
    arena.make_steady()
    ended = arena.trim("--device", "bench")
    verdict = arena.verdict()

    assert ended.rc == (0 if verdict["verdict"] == "pass" else 1)
    if ended.rc == 0:
        assert [each["name"] for each in verdict["devices"]] == ["bench"]
    assert arena.trim("--device", "desk").rc == 1


def test_the_machine_runs_nothing(arena: Arena) -> None:
    arena.start("honest")
    for folder in (*arena.stored("build", "plain"), *arena.stored("reduce", "reduced")):
        program = folder / PROGRAM
        assert program.stat().st_mode & stat.S_IXUSR
    papers = Documents(arena)
    papers.start()
    expect_red(papers, script("exit 0"), script("exit 0"), "parity", "engine-error")
    assert SCENARIO in json.dumps(papers.play(script("exit 0"), script("exit 0")))


def test_a_bundle_chooses_the_way_to_a_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    job = Job(Shell(tmp_path, capsys))
    tools = tmp_path / "tools"
    tools.mkdir()
    denied = "echo 'Permission denied (publickey).' >&2"
    (tools / "ssh").write_bytes(script(f'echo "$@" >> {tmp_path}/log', denied, "exit 255"))
    (tools / "ssh").chmod(0o755)
    for name in ("key", "known", "evil-key", "evil-known"):
        (tmp_path / name).touch()
    own = f"host: rock.lan, port: 2200, user: tester, key: {tmp_path}/key"
    (tmp_path / "boards.yaml").write_text(
        f"boards: [{{name: rock-5, {own}, known_hosts: {tmp_path}/known}}]\n", encoding="utf-8"
    )
    monkeypatch.setenv("MEGTRIM_BOARDS", str(tmp_path / "boards.yaml"))
    monkeypatch.setenv("MEGTRIM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    key = tmp_path / "evil-key"
    known = tmp_path / "evil-known"
    asked = DeviceSettings(host="evil.lan", port=666, user="evil", key=key, known_hosts=known)
    job.write(devices=(device(name="rock-5", kind="ssh", settings=asked),))

    assert job().status == 0
    called = (tmp_path / "log").read_text(encoding="utf-8")
    assert "evil" not in called
    assert "-p 666" not in called  # digits alone may stand in a random word
    own_words = ("-p 2200", "-l tester", f'"{tmp_path}/key"', f'"{tmp_path}/known"', "-- rock.lan ")
    assert all(word in called for word in own_words)
