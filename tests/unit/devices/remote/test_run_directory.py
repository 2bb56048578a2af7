from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from megtrim.devices.cpu import parse_children_s
from megtrim.devices.device import Timeouts
from megtrim.devices.remote.run_directory import RemoteDirectory
from megtrim.devices.remote.transport import ConnectionLost
from megtrim.load_and_run.exit_status import RunOutcome, ending
from megtrim.util.errors import InfrastructureFailure, InputError, Interrupted
from megtrim.util.process import ProcessRunner
from unit.devices.folder_link import FolderLink, losing
from unit.devices.remote_rig import gone, left, opened

SHELLS = [name for name in ("dash", "bash", "mksh") if shutil.which(name)]


def test_a_program_runs_in_its_folder(
    link: FolderLink, root: Path, tmp_path: Path, program: Callable[[str], Path]
) -> None:
    model = tmp_path / "m"
    model.write_bytes(b"weights\n")
    text = 'cat model.mge; echo "$X $@" >&2; printf made >"dump/o 1"; echo 1 >trace; exit 3'
    heard: list[str] = []
    with opened(link, root) as directory:
        directory.put(program(text), "load_and_run")
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
    assert left(root) == []


def test_calls_are_few(
    link: FolderLink, root: Path, tmp_path: Path, program: Callable[[str], Path]
) -> None:
    for expected in (["push program"], []):
        link.calls.clear()
        with opened(link, root) as directory:
            directory.put(program("echo x >out"), "p")
            directory.make("dump")
            directory.run(("p",), timeout_s=9)
            assert directory.get("out") == b"x\n"
            assert directory.get("none") is None
        assert link.calls == ["enter", *expected, "put", "run", "pull out", "clean"]


@pytest.mark.parametrize("rc", [0, 1, 126, 255])
def test_exit_statuses(
    link: FolderLink, root: Path, program: Callable[[str], Path], rc: int
) -> None:
    with opened(link, root) as directory:
        directory.put(program(f"exit {rc}"), "p")
        assert directory.run(("p",), timeout_s=9).rc == rc


@pytest.mark.parametrize("number", [2, 3, 5, 6, 9, 11, 15])
def test_signals(link: FolderLink, root: Path, program: Callable[[str], Path], number: int) -> None:
    """Also those that a shell's background programs would not hear; nothing is said of them."""
    with opened(link, root) as directory:
        directory.put(program(f"ulimit -c 0; kill -{number} $$; exit 1"), "p")
        run = directory.run(("p",), timeout_s=9)
    assert (run.rc, run.stderr) == (128 + number, "")
    assert run.crash.startswith(f"ended by signal {number} ({signal.Signals(number).name})")


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_program_that_was_stopped_has_not_ended(
    link: FolderLink, root: Path, program: Callable[[str], Path], shell: str
) -> None:
    """As after a machine was frozen and thawed: it goes on, and its own status counts."""
    link.program = shell
    with opened(link, root) as directory:
        directory.put(program("(sleep 0.6; kill -CONT $$) & kill -STOP $$; echo on; exit 5"), "p")
        run = directory.run(("p",), timeout_s=9)
    assert (run.rc, run.stdout, run.timed_out) == (5, "on\n", False)


def test_a_hang_ends_on_the_machine_too(
    link: FolderLink, root: Path, program: Callable[[str], Path]
) -> None:
    text = "sleep 91 & setsid sleep 92 & echo $$ $! >pids; echo said; sleep 93"
    with opened(link, root) as directory:
        directory.put(program(text), "p")
        run = directory.run(("p",), timeout_s=0.5)
        pids = directory.get("pids")
    assert (ending(run), run.stdout) == (RunOutcome.TIMEOUT, "said\n")
    assert 0.9 < run.wall_s < 5
    assert pids is not None
    assert all(gone(int(pid)) for pid in pids.split())


@pytest.mark.parametrize("shell", SHELLS)
def test_a_machine_says_what_others_took(
    link: FolderLink, root: Path, program: Callable[[str], Path], shell: str
) -> None:
    link.program = shell
    burn = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.4: pass'"
    with opened(link, root) as directory:
        directory.put(program(burn), "p")
        run = directory.run(("p",), timeout_s=60)
    answer = next(each for each in reversed(link.answers) if "megtrim own=" in each)
    own_s = parse_children_s(answer.partition("megtrim own=")[2].partition("\n")[0])
    assert own_s is not None
    assert own_s >= 0.3  # in steps of the kernel's counters
    assert run.other_load is not None


def test_what_a_program_leaves_running_ends_with_it(
    link: FolderLink, root: Path, program: Callable[[str], Path]
) -> None:
    """It would hold the link open, and write where the next one reads."""
    with opened(link, root) as directory:
        directory.put(program("setsid sleep 94 & echo $! >pid"), "p")
        run = directory.run(("p",), timeout_s=60)
        pid = directory.get("pid")
    assert run.rc == 0
    assert run.wall_s < 5
    assert pid is not None
    assert gone(int(pid))


def test_a_result_that_is_damaged_on_its_way_is_no_result(
    link: FolderLink, root: Path, program: Callable[[str], Path]
) -> None:
    with opened(link, root) as directory:
        directory.put(program("echo trace >t"), "p")
        directory.run(("p",), timeout_s=9)
        link.damage = 1
        with pytest.raises(InfrastructureFailure, match="t did not arrive as it is there"):
            directory.get("t")
        assert directory.get("t") == b"trace\n"


@pytest.mark.parametrize("at", ["enter", "push", "put", "run", "pull"])
def test_a_lost_link_is_reported_and_leaves_nothing(
    link: FolderLink, root: Path, program: Callable[[str], Path], at: str
) -> None:
    link.before = losing(at)
    with pytest.raises(ConnectionLost), opened(link, root) as directory:
        directory.put(program("echo t >t"), "p")
        directory.run(("p",), timeout_s=9)
        directory.get("t")
    assert not root.exists() or left(root) == []


def test_a_link_lost_while_leaving_does_not_cost_the_results(
    link: FolderLink, root: Path, program: Callable[[str], Path]
) -> None:
    reported: list[str] = []
    link.before = losing("clean")
    with opened(link, root, said=reported) as directory:
        directory.put(program("echo t >t"), "p")
        directory.run(("p",), timeout_s=9)
        assert directory.get("t") == b"t\n"
    assert reported == [
        "  later board (test): the link was lost at clean; the next job on it will clean up"
    ]
    assert len(left(root)) == 1
    link.before = losing("")
    with opened(link, root):
        assert len(left(root)) == 1
    assert left(root) == []


@pytest.mark.parametrize("error", [Interrupted("Ctrl-C"), KeyboardInterrupt(), ValueError()])
def test_nothing_is_left_after_other_failures(
    link: FolderLink, root: Path, error: BaseException
) -> None:
    with pytest.raises(type(error)), opened(link, root) as directory:
        directory.make("x")
        raise error
    assert left(root) == []


def test_an_answer_without_its_end_is_no_run(
    link: FolderLink, root: Path, program: Callable[[str], Path]
) -> None:
    link.cut = "run"
    with (
        pytest.raises(ConnectionLost, match="lost while running the program"),
        opened(link, root) as directory,
    ):
        directory.put(program("echo t >t"), "p")
        directory.run(("p",), timeout_s=9)


def test_an_entry_sweeps_what_a_killed_holder_left(
    link: FolderLink, root: Path, processes: ProcessRunner
) -> None:
    work = root / "runs" / "run-old" / "place"
    (work / "closed").mkdir(parents=True)
    (work / "closed").chmod(0)
    (root / "files").mkdir()
    (root / "files" / "abc.part").write_bytes(b"half")
    (root / "files" / ("a" * 64)).write_bytes(b"old")
    os.utime(root / "files" / ("a" * 64), (0, 0))
    script = f"cd {work}; setsid sleep 95 </dev/null >/dev/null 2>&1 & echo $!"
    stray = int(link.shell(script, timeout_s=9).stdout)
    with opened(link, root):
        assert gone(stray)
        assert "run-old" not in left(root)
        assert list((root / "files").iterdir()) == []
    assert left(root) == []


def test_a_machine_that_no_longer_answers_ends_the_run(
    link: FolderLink, root: Path, program: Callable[[str], Path]
) -> None:
    timeouts = Timeouts(heartbeat_s=0.1, probe_s=0.3, poll_s=0.05)
    link.program = "bash"
    link.before = losing("probe")
    began = time.monotonic()
    with (
        pytest.raises(ConnectionLost, match="no sign of life for 0 s while running p"),
        opened(link, root, timeouts) as directory,
    ):
        directory.put(program("sleep 96"), "p")
        directory.run(("p",), timeout_s=60)
    assert time.monotonic() - began < 30


def test_conditions_of_a_run(link: FolderLink, root: Path, program: Callable[[str], Path]) -> None:
    """Before the first run stands the entry's reading, before the next the last run's."""
    with opened(link, root) as directory:
        directory.put(program("exit 0"), "p")
        first = directory.run(("p",), timeout_s=9).conditions
        second = directory.run(("p",), timeout_s=9).conditions
    assert isinstance(directory, RemoteDirectory)
    assert first is not None
    assert second is not None
    assert second.before == first.after


def test_a_program_that_was_not_put(link: FolderLink, root: Path) -> None:
    with opened(link, root) as directory, pytest.raises(InputError, match="p was not put on"):
        directory.run(("p",), timeout_s=9)
