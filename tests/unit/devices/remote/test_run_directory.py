import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from megtrim.devices.cpu import parse_children_s
from megtrim.devices.device import Timeouts
from megtrim.devices.remote.run_directory import RemoteDirectory
from megtrim.devices.remote.transport import ConnectionLost
from megtrim.load_and_run.exit_status import RunOutcome, ending
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import ProcessRunner
from unit.devices.folder_link import losing
from unit.devices.remote_rig import FolderMachine, gone

SHELLS = [name for name in ("dash", "bash", "mksh") if shutil.which(name)]


def test_a_program_runs_in_its_folder(machine: FolderMachine, tmp_path: Path) -> None:
    model = tmp_path / "m"
    model.write_bytes(b"weights\n")
    text = 'cat model.mge; echo "$X $@" >&2; printf made >"dump/o 1"; echo 1 >trace; exit 3'
    heard: list[str] = []
    with machine.open() as directory:
        directory.put(machine.program(text), "load_and_run")
        directory.put(model, "model.mge")
        directory.make("dump")
        run = directory.run(
            ("load_and_run", "a", "b 'c"), timeout_s=9, env={"X": "1 2"}, on_line=heard.append
        )
        assert (run.argv, run.rc, run.timed_out) == (("load_and_run", "a", "b 'c"), 3, False)
        assert (run.stdout, run.stderr) == ("weights\n", "1 2 a b 'c\n")
        assert 0 <= run.wall_s < 5
        assert run.conditions is not None
        assert sorted(heard) == ["1 2 a b 'c", "weights"]
        assert directory.names("dump") == ("o 1",)
        assert directory.names("nowhere") == directory.names("model.mge") == ()
        assert directory.get("dump/o 1") == b"made"
        assert directory.get("trace") == b"1\n"
        assert directory.get("model.mge") == b"weights\n"
        assert directory.get("dump") is directory.get("none") is None
    assert machine.left() == []


def test_calls_are_few(machine: FolderMachine, tmp_path: Path) -> None:
    for expected in (["push program"], []):
        machine.link.calls.clear()
        with machine.open() as directory:
            directory.put(machine.program("echo x >out"), "p")
            directory.make("dump")
            directory.run(("p",), timeout_s=9)
            assert directory.get("out") == b"x\n"
            assert directory.get("none") is None
        assert machine.link.calls == ["enter", *expected, "put", "run", "pull out", "clean"]


@pytest.mark.parametrize("number", [2, 3, 5, 6, 9, 11, 15])
def test_signals(machine: FolderMachine, number: int) -> None:
    """Also those that a shell's background programs would not hear; nothing is said of them."""
    run = machine.run(f"ulimit -c 0; kill -{number} $$; exit 1")
    assert (run.rc, run.stderr) == (128 + number, "")
    assert run.crash.startswith(f"ended by signal {number} ({signal.Signals(number).name})")


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_program_that_was_stopped_has_not_ended(machine: FolderMachine, shell: str) -> None:
    """As after a machine was frozen and thawed: it goes on, and its own status counts."""
    machine.link.program = shell
    run = machine.run("(sleep 0.6; kill -CONT $$) & kill -STOP $$; echo on; exit 5")
    assert (run.rc, run.stdout, run.timed_out) == (5, "on\n", False)


def test_a_hang_ends_on_the_machine_too(machine: FolderMachine) -> None:
    text = "sleep 91 & setsid sleep 92 & echo $$ $! >pids; echo said; sleep 93"
    with machine.open() as directory:
        directory.put(machine.program(text), "p")
        run = directory.run(("p",), timeout_s=0.5)
        pids = directory.get("pids")
    assert (ending(run), run.stdout) == (RunOutcome.TIMEOUT, "said\n")
    assert 0.9 < run.wall_s < 5
    assert pids is not None
    assert all(gone(int(pid)) for pid in pids.split())


@pytest.mark.parametrize("shell", SHELLS)
def test_a_machine_says_what_others_took(machine: FolderMachine, shell: str) -> None:
    machine.link.program = shell
    burn = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.4: pass'"
    run = machine.run(burn)
    answer = next(each for each in reversed(machine.link.answers) if "megtrim own=" in each)
    own_s = parse_children_s(answer.partition("megtrim own=")[2].partition("\n")[0])
    assert own_s is not None
    assert own_s >= 0.3  # in steps of the kernel's counters
    assert run.other_load is not None


def test_a_result_that_is_damaged_on_its_way_is_no_result(machine: FolderMachine) -> None:
    with machine.open() as directory:
        directory.put(machine.program("echo trace >t"), "p")
        directory.run(("p",), timeout_s=9)
        machine.link.damage = 1
        with pytest.raises(InfrastructureFailure, match="t did not arrive as it is there"):
            directory.get("t")
        assert directory.get("t") == b"trace\n"


@pytest.mark.parametrize("at", ["enter", "push", "put", "run", "pull"])
def test_a_lost_link_is_reported_and_leaves_nothing(machine: FolderMachine, at: str) -> None:
    machine.link.before = losing(at)
    with pytest.raises(ConnectionLost), machine.open() as directory:
        directory.put(machine.program("echo t >t"), "p")
        directory.run(("p",), timeout_s=9)
        directory.get("t")
    assert not machine.root.exists() or machine.left() == []


def test_a_link_lost_while_leaving_does_not_cost_the_results(machine: FolderMachine) -> None:
    reported: list[str] = []
    machine.link.before = losing("clean")
    with machine.open(said=reported) as directory:
        directory.put(machine.program("echo t >t"), "p")
        directory.run(("p",), timeout_s=9)
        assert directory.get("t") == b"t\n"
    assert reported == [
        "  later board (test): the link was lost at clean; the next job on it will clean up"
    ]
    assert len(machine.left()) == 1
    machine.link.before = losing("")
    with machine.open():
        assert len(machine.left()) == 1
    assert machine.left() == []


def test_an_answer_without_its_end_is_no_run(machine: FolderMachine) -> None:
    machine.link.cut = "run"
    with (
        pytest.raises(ConnectionLost, match="lost while running the program"),
        machine.open() as directory,
    ):
        directory.put(machine.program("echo t >t"), "p")
        directory.run(("p",), timeout_s=9)


def test_an_entry_sweeps_what_a_killed_holder_left(
    machine: FolderMachine, processes: ProcessRunner
) -> None:
    work = machine.root / "runs" / "run-old" / "place"
    (work / "closed").mkdir(parents=True)
    (work / "closed").chmod(0)
    (machine.root / "files").mkdir()
    (machine.root / "files" / "abc.part").write_bytes(b"half")
    (machine.root / "files" / ("a" * 64)).write_bytes(b"old")
    os.utime(machine.root / "files" / ("a" * 64), (0, 0))
    script = f"cd {work}; setsid sleep 95 </dev/null >/dev/null 2>&1 & echo $!"
    stray = int(machine.link.shell(script, timeout_s=9).stdout)
    with machine.open():
        assert gone(stray)
        assert "run-old" not in machine.left()
        assert list((machine.root / "files").iterdir()) == []
    assert machine.left() == []


def test_a_machine_that_no_longer_answers_ends_the_run(machine: FolderMachine) -> None:
    timeouts = Timeouts(heartbeat_s=0.1, probe_s=0.3, poll_s=0.05)
    machine.link.program = "bash"
    machine.link.before = losing("probe")
    began = time.monotonic()
    with (
        pytest.raises(ConnectionLost, match="no sign of life for 0 s while running p"),
        machine.open(timeouts) as directory,
    ):
        directory.put(machine.program("sleep 96"), "p")
        directory.run(("p",), timeout_s=60)
    assert time.monotonic() - began < 30


def test_conditions_of_a_run(machine: FolderMachine) -> None:
    with machine.open() as directory:
        directory.put(machine.program("exit 0"), "p")
        first = directory.run(("p",), timeout_s=9).conditions
        second = directory.run(("p",), timeout_s=9).conditions
    assert isinstance(directory, RemoteDirectory)
    assert first is not None
    assert second is not None
    assert second.before == first.after


def test_a_program_that_was_not_put(machine: FolderMachine) -> None:
    with machine.open() as directory, pytest.raises(InputError, match="p was not put on"):
        directory.run(("p",), timeout_s=9)
