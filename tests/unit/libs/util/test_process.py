import os
import shutil
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.libs.util import process
from megtrim.libs.util.errors import InfrastructureFailure, InputError, Interrupted
from megtrim.libs.util.process import Command, ProcessRunner, Stream
from support.clock import alive, until, written_pid

STUBBORN = """import signal,time
for n in (2, 15): signal.signal(n, signal.SIG_IGN)
time.sleep(20)
"""


PYTHON = (sys.executable, "-S", "-E", "-c")
IMPORTS = f"""import os, signal, sys, threading, time
from pathlib import Path
sys.path.insert(0, {str(Path(process.__file__).parents[2])!r})
from megtrim.libs.util.process import Command, ProcessRunner
"""


def sh(script: str, *, timeout_s: float = 10.0) -> Command:
    return Command(argv=("sh", "-c", script), timeout_s=timeout_s)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> float:
    """Each step of the escalation waits a moment only."""
    monkeypatch.setattr(process, "GRACE_S", 0.3)
    return 0.3


def test_what_a_program_prints_and_returns_is_shown(processes: ProcessRunner) -> None:
    command = sh("echo out; echo err >&2; sleep 0.2; exit 7")
    outcome = processes.run(command)

    assert (outcome.rc, outcome.stdout, outcome.stderr) == (7, "out\n", "err\n")
    assert str(command) == "sh -c 'echo out; echo err >&2; sleep 0.2; exit 7'"
    assert (outcome.argv, outcome.timed_out, outcome.ok) == (command.argv, False, False)
    assert 0.2 <= outcome.wall_s < 5
    assert processes.run(sh("true")).ok
    assert not replace(processes.run(sh("true")), timed_out=True).ok


NUMBERS = "".join(f"{number}\n" for number in range(1000, 2800))  # 9,000 bytes


@pytest.mark.parametrize(
    ("script", "options", "expected"),
    [
        # 128 + N for a program that signal N ended.
        ("kill -TERM $$", {}, (143, "", "")),
        ("kill -TRAP $$", {}, (133, "", "")),
        ("kill -KILL $$", {}, (137, "", "")),
        ("echo a; echo b >&2; echo c", {"merge_stderr": True}, (0, "a\nb\nc\n", "")),
        # A damaged log line is still a log line.
        (r"printf 'a\377b'", {}, (0, "a\ufffdb", "")),
        ("seq 1000 2799", {}, (0, NUMBERS, "")),
        ("exit 3", {"timeout_s": 40 * 86_400}, (3, "", "")),
    ],
    ids=["TERM", "TRAP", "KILL", "one stream", "no text", "up to the limit", "longer than a poll"],
)
def test_how_a_program_ended_and_what_it_printed(
    processes: ProcessRunner,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    options: dict[str, Any],
    expected: tuple[int, str, str],
) -> None:
    monkeypatch.setattr(process, "CAPTURE_LIMIT_BYTES", 10_000)
    outcome = processes.run(replace(sh(script), tested=True, **options))

    assert (outcome.rc, outcome.stdout, outcome.stderr) == expected


def test_environment_and_folder_are_given(processes: ProcessRunner, tmp_path: Path) -> None:
    base = ProcessRunner({**processes.env, "A": "base", "B": "base"})
    command = replace(sh("echo $A $B; pwd; cat"), cwd=tmp_path, env={"A": "mine"})

    # `cat` ends at once: no one types into a build.
    assert base.run(command).stdout == f"mine base\n{tmp_path}\n"


@pytest.mark.parametrize(
    ("argv", "files", "error", "said"),
    [
        (["no-such-program"], {}, InputError, r"^there is no program 'no-such-program'\n.*doctor"),
        (["true"], {"cwd": "gone"}, InfrastructureFailure, r"no folder .*/gone"),
        (["./program"], {"cwd": "."}, InfrastructureFailure, "be started: Exec format error"),
        (["true"], {"stdin": "gone"}, InfrastructureFailure, "gone cannot be read"),
        (["true"], {"stdout_to": "gone/x"}, InfrastructureFailure, "x cannot be written"),
        (["echo", "a\0b"], {}, InputError, "an argument contains a NUL byte"),
        (["echo", "a\ud800b"], {}, InputError, "an argument contains a NUL byte"),
    ],
    ids=[
        "missing",
        "no folder",
        "no program",
        "no input",
        "no output",
        "a NUL byte",
        "half a character",
    ],
)
def test_what_cannot_be_started_is_shown(
    processes: ProcessRunner,
    tmp_path: Path,
    argv: list[str],
    files: dict[str, str],
    error: type[Exception],
    said: str,
) -> None:
    """A missing folder is not taken for a missing program."""
    (tmp_path / "program").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "program").chmod(0o755)
    paths: Any = {name: tmp_path / value for name, value in files.items()}

    with pytest.raises(error, match=said):
        processes.run(Command(argv=tuple(argv), timeout_s=1, **paths))


@pytest.mark.parametrize(
    ("argv", "rc", "stdout", "steps"),
    [
        (
            ("sh", "-c", "trap 'echo cleaned; exit 5' INT; echo on; sleep 600 & wait"),
            5,
            "on\ncleaned\n",
            0,
        ),
        ((*PYTHON, STUBBORN.replace("(2, 15)", "(2,)")), 143, "", 1),
        ((*PYTHON, STUBBORN), 137, "", 2),
    ],
    ids=["hears the interrupt", "ignores it", "ignores everything"],
)
def test_a_late_program_is_ended(
    processes: ProcessRunner, hasty: float, argv: tuple[str, ...], rc: int, stdout: str, steps: int
) -> None:
    """The last step cannot be ignored, and comes only after the two others had their time."""
    outcome = processes.run(Command(argv=argv, timeout_s=0.4))

    assert (outcome.timed_out, outcome.rc, outcome.stdout) == (True, rc, stdout)
    assert 0.4 + steps * hasty <= outcome.wall_s < 3


def test_children_of_a_late_program_end(
    processes: ProcessRunner, tmp_path: Path, hasty: float
) -> None:
    grandchild = tmp_path / "pid"
    script = f"sh -c 'trap \"\" INT TERM; echo $$ > {grandchild}; sleep 600; sleep 600' & wait"

    outcome = processes.run(sh(script, timeout_s=0.5))

    assert outcome.timed_out
    pid = written_pid(grandchild)
    until(lambda: not alive(pid), "the grandchild's end")


def test_an_ended_program_leaves_nothing_behind(processes: ProcessRunner, tmp_path: Path) -> None:
    """A leftover would write into a folder that the next program uses, and hold the pipes."""
    left = tmp_path / "pid"

    outcome = processes.run(sh(f"sleep 600 & echo $! > {left}; echo done"))

    assert (outcome.rc, outcome.stdout) == (0, "done\n")
    assert outcome.wall_s < 2
    pid = written_pid(left)
    until(lambda: not alive(pid), "the leftover's end")


def test_long_output_is_shortened(
    processes: ProcessRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CAPTURE_LIMIT_BYTES", 10_000)

    outcome = processes.run(sh("echo first; seq 100000; echo last; seq 9 >&2"))

    assert outcome.stdout.startswith("first\n1\n2\n")
    assert outcome.stdout.endswith("\n100000\nlast\n")
    assert 10_000 <= len(outcome.stdout) <= 20_000
    assert outcome.stderr == "1\n2\n3\n4\n5\n6\n7\n8\n9\n"


def test_a_line_without_end_is_read_in_pieces(processes: ProcessRunner) -> None:
    lines: list[str] = []
    command = sh("head -c 200000 /dev/zero | tr '\\0' x")

    processes.run(replace(command, on_line=lines.append))

    assert [len(line) for line in lines] == [65536, 65536, 65536, 3392]


def test_lines_are_shown_as_they_come_and_logged(processes: ProcessRunner, tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("$ before\n", encoding="utf-8")
    lines: list[str] = []
    command = sh(r"echo 1; echo 3 >&2; printf 'o\377\nlast\n'")

    processes.run(replace(command, log=log, on_line=lines.append))

    assert [line for line in lines if line != "3"] == ["1", "o\ufffd", "last"]
    assert sorted(lines) == ["1", "3", "last", "o\ufffd"]
    assert sorted(log.read_bytes().splitlines()) == [b"$ before", b"1", b"3", b"last", b"o\xff"]


def test_a_full_disk_fails_the_run_and_does_not_hang_it(processes: ProcessRunner) -> None:
    """The program would wait for ever on a pipe that no one reads."""
    command = sh("seq 100000; echo end >&2", timeout_s=5)

    started = time.monotonic()
    with pytest.raises(InfrastructureFailure) as caught:
        processes.run(replace(command, log=Path("/dev/full")))

    assert caught.value.message == "/dev/full cannot be written: No space left on device"
    assert time.monotonic() - started < 4


def test_an_error_in_who_listens_is_shown_after_the_run(processes: ProcessRunner) -> None:
    def listen(line: str) -> None:
        raise ZeroDivisionError(line)

    with pytest.raises(ZeroDivisionError, match=r"^1$"):
        processes.run(Command(argv=("seq", "100000"), timeout_s=5, on_line=listen))


def test_ctrl_c_ends_the_program_and_is_shown(processes: ProcessRunner, tmp_path: Path) -> None:
    child = tmp_path / "pid"

    def press() -> None:
        written_pid(child)
        os.kill(os.getpid(), signal.SIGINT)

    hand = threading.Thread(target=press)
    hand.start()
    with pytest.raises(Interrupted, match=r"^interrupted while running sh$"):
        processes.run(sh(f"sleep 0.2; echo $$ > {child}; sleep 600; sleep 600"))
    hand.join()

    assert not alive(written_pid(child))


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(
    ("start", "reported"),
    [
        ("processes.run(command)", "Interrupted interrupted while running sleep"),
        ("with processes.background(command): print('begun')", "KeyboardInterrupt "),
    ],
)
def test_ctrl_c_while_a_program_is_started_is_not_lost(
    processes: ProcessRunner, tmp_path: Path, start: str, reported: str, number: str
) -> None:
    """What a hook raises after a fork is dropped. The interrupt comes once the program is known."""
    script = tmp_path / "script.py"
    script.write_text(
        f"{IMPORTS}"
        "processes = ProcessRunner(os.environ)\n"
        "command = Command(argv=('sleep', '20'), timeout_s=5)\n"
        "def interrupt(_number, _frame): raise KeyboardInterrupt\n"
        "for each in ('SIGTERM', 'SIGHUP'): signal.signal(getattr(signal, each), interrupt)\n"
        f"pressed = [signal.{number}]\n"
        "def press():\n"
        "    if pressed: signal.raise_signal(pressed.pop())\n"
        "os.register_at_fork(after_in_parent=press)\n"
        "try:\n"
        f"    {start}\n"
        "except BaseException as error:\n"
        "    print(type(error).__name__, error)\n"
        "print(signal.getsignal(signal.SIGTERM) is interrupt)\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
        "try: os.waitpid(-1, os.WNOHANG)\n"
        "except ChildProcessError: print('no one is left')\n",
        encoding="utf-8",
    )
    outcome = processes.run(Command(argv=(sys.executable, str(script)), timeout_s=30))

    assert outcome.stderr == ""
    assert outcome.stdout == f"{reported}\nTrue\nTrue\nno one is left\n"


DIES_EARLY = """
def outlive():
    parent = os.getppid()
    os.kill(parent, signal.SIGKILL)
    while os.getppid() == parent: time.sleep(0.01)
    Path({child!r}).write_text(f"{{os.getpid()}}\\n")
os.register_at_fork(after_in_child=outlive)
"""
"""Kills the parent as soon as it forked: before the child asks to end with it."""


@pytest.mark.parametrize("mode", ["kill", "exit", "kill early"])
def test_a_program_ends_with_its_parent(
    processes: ProcessRunner, tmp_path: Path, mode: str
) -> None:
    """A build that goes on would write into a tree that the next run uses."""
    child = tmp_path / "pid"
    parent = tmp_path / "parent.py"
    parent.write_text(
        f"{IMPORTS}{DIES_EARLY.format(child=str(child)) if mode == 'kill early' else ''}"
        f"if {mode == 'exit'}: threading.Timer(0.5, os._exit, [0]).start()\n"
        "ProcessRunner(os.environ).run(Command(\n"
        f"    argv=('sh', '-c', 'echo $$ > {child}; exec sleep 600'), timeout_s=30))\n",
        encoding="utf-8",
    )
    pid = os.posix_spawn(sys.executable, [sys.executable, str(parent)], dict(os.environ))
    program = written_pid(child)
    if mode == "kill":
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

    until(lambda: not alive(program), "the program's end")


def test_capture_returns_what_a_tool_prints(processes: ProcessRunner, tmp_path: Path) -> None:
    assert processes.capture("pwd", cwd=tmp_path) == f"{tmp_path}\n"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo no such option >&2; exit 3", "sh -c '.*' exited with 3: no such option"),
        ("echo shown on stdout; exit 1", "sh -c '.*' exited with 1: shown on stdout"),
        ("exec sleep 20", "sh did not answer within 0 s: sh -c 'exec sleep 20'"),
    ],
)
def test_capture_says_why_a_tool_failed(processes: ProcessRunner, script: str, said: str) -> None:
    kind = InfrastructureFailure if "sleep" in script else InputError
    with pytest.raises(kind, match=f"^{said}"):
        processes.capture("sh", "-c", script, timeout_s=0.5)


def test_another_thread_can_abort_a_program(processes: ProcessRunner) -> None:
    abort = threading.Event()
    ended = processes.run(Command(argv=("true",), timeout_s=60, abort=abort))
    threading.Timer(0.2, abort.set).start()
    outcome = processes.run(Command(argv=("sleep", "60"), timeout_s=60, abort=abort))

    assert (ended.aborted, ended.ok) == (False, True)
    assert (outcome.aborted, outcome.timed_out, outcome.ok) == (True, False, False)
    assert outcome.wall_s < 10


def test_any_system_waits_for_programs(
    processes: ProcessRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)

    assert processes.run(sh("exit 3")).rc == 3
    assert processes.run(sh("sleep 60", timeout_s=0.2)).timed_out


def test_a_program_next_to_us_ends_with_the_block(processes: ProcessRunner, tmp_path: Path) -> None:
    log = tmp_path / "log"
    pid_file = tmp_path / "pid"
    script = f"echo $$ > {pid_file}; echo out; echo err >&2; exec sleep 60"
    with processes.background(replace(sh(script), log=log)) as companion:
        pid = written_pid(pid_file)
        until(lambda: log.read_text("utf-8") == "out\nerr\n", "the log")
        assert (companion.pid, companion.alive(), companion.rc()) == (pid, True, None)

    assert (companion.alive(), companion.rc()) == (False, 128 + signal.SIGTERM)
    assert not alive(pid)


def test_who_ends_other_programs_has_the_time(processes: ProcessRunner, tmp_path: Path) -> None:
    """It takes longer here than a program usually has before it is killed."""
    ready = tmp_path / "ready"
    ended = tmp_path / "ended"
    slow = f"""
import pathlib, signal, time
def end(*_):
    time.sleep({2.5 * process.GRACE_S})
    pathlib.Path({str(ended)!r}).touch()
    raise SystemExit
signal.signal(signal.SIGTERM, end)
pathlib.Path({str(ready)!r}).touch()
time.sleep(60)
"""
    command = Command(argv=(sys.executable, "-c", slow), timeout_s=1)
    with processes.background(command, grace_s=20 * process.GRACE_S):
        until(ready.exists, "its handler")

    assert ended.exists()


def test_a_companion_may_end_before_the_block(processes: ProcessRunner, tmp_path: Path) -> None:
    with processes.background(sh("exit 1")) as companion:
        until(lambda: not companion.alive(), "its end")
        assert companion.rc() == 1
    command = replace(sh("true"), log=tmp_path / "gone" / "log")
    failure = pytest.raises(InfrastructureFailure, match="cannot be written: No such file")
    with failure, processes.background(command):
        pass


def test_a_program_reads_and_writes_raw_files(processes: ProcessRunner, tmp_path: Path) -> None:
    data = bytes(range(256)) * 100_000
    (tmp_path / "in").write_bytes(data)
    files: Any = {"stdin": tmp_path / "in", "stdout_to": tmp_path / "out"}
    outcome = processes.run(replace(sh("cat; echo shown >&2"), **files))

    assert (outcome.rc, outcome.stdout, outcome.stderr) == (0, "", "shown\n")
    assert (tmp_path / "out").read_bytes() == data
    outcome = processes.run(
        replace(sh("echo shown; cat >&2"), stdin=tmp_path / "in", stderr_to=tmp_path / "err")
    )
    assert (outcome.rc, outcome.stdout, outcome.stderr) == (0, "shown\n", "")
    assert (tmp_path / "err").read_bytes() == data


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGPIPE])
def test_signals_are_heard_in_a_background_job(
    processes: ProcessRunner, number: signal.Signals
) -> None:
    """Where a shell or nohup runs us, we ignore some, and a program would inherit that."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        outcome = processes.run(sh(f"kill -{number} $$; exit 1"))
    finally:
        signal.signal(number, before)

    assert outcome.rc == 128 + number


def test_a_program_that_someone_still_holds_open_is_started_again(
    tmp_path: Path, processes: ProcessRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    shutil.copy2(sys.executable, program)
    held = program.open("ab")
    threading.Timer(0.1, held.close).start()

    assert processes.run(Command(argv=(str(program), "-S", "-c", ""), timeout_s=10)).rc == 0

    monkeypatch.setattr(process, "_WRITTEN_S", (0.01,))
    with program.open("ab"), pytest.raises(InfrastructureFailure, match=r"Text file busy"):
        processes.run(Command(argv=(str(program),), timeout_s=10))


def test_no_pipe_is_no_output() -> None:
    stream = Stream(None, log=None, on_line=None)
    stream.wait(10)

    assert (stream.text(), stream.failure) == ("", None)
