"""How the program begins and is interrupted, as processes of their own."""

import os
import signal
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from megtrim.__main__ import run
from megtrim.core.cli import main as entry
from megtrim.libs.util.process import Command, ProcessRunner
from support.clock import alive, until, written_pid


@dataclass(frozen=True)
class Started:
    pid: int
    compiler: int
    err: Path

    def status(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Started]:
    def start(*words: str, terminal: str = "") -> Started:
        compiler = tmp_path / "bin" / "g++"
        compiler.parent.mkdir()
        for name in ("g++", "gcc"):
            program = compiler.with_name(name)
            program.write_text(f"#!/bin/sh\nsleep 0.2\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
            program.chmod(0o755)
        package = str(Path(entry.__file__).parents[2])
        env = dict(os.environ) | {"PATH": f"{compiler.parent}:/bin", "PYTHONPATH": package}
        err = tmp_path / "err"
        path, mode = (terminal, os.O_RDWR) if terminal else (str(err), os.O_WRONLY | os.O_CREAT)
        opened = [(os.POSIX_SPAWN_OPEN, number, path, mode, 0o644) for number in (1, 2)]
        argv = [*words, sys.executable, "-m", "megtrim", "doctor"]
        pid = os.posix_spawn(
            argv[0],
            argv,
            env,
            file_actions=opened,
            setsid=bool(terminal),
            setsigdef=(signal.SIGINT, signal.SIGQUIT, signal.SIGHUP),
        )
        return Started(pid, written_pid(tmp_path / "pid"), err)

    return start


IGNORING = ("/bin/sh", "-c", 'trap "" INT QUIT; exec "$0" "$@"')
"""As a shell without job control starts a program in the background."""
NOHUP = ("/bin/sh", "-c", 'trap "" HUP; exec "$0" "$@"')


@pytest.mark.parametrize(
    ("words", "number"),
    [((), signal.SIGTERM), ((), signal.SIGINT), ((), signal.SIGHUP), (IGNORING, signal.SIGINT)],
)
def test_a_cancelled_run_leaves_no_child(
    start: Callable[..., Started], words: tuple[str, ...], number: signal.Signals
) -> None:
    megtrim = start(*words)

    os.kill(megtrim.pid, number)

    assert megtrim.status() == 130
    until(lambda: not alive(megtrim.compiler), "the compiler's end")
    assert "megtrim: interrupted while running" in megtrim.err.read_text(encoding="utf-8")


def test_nohup_is_kept(start: Callable[..., Started]) -> None:
    megtrim = start(*NOHUP)

    os.kill(megtrim.pid, signal.SIGHUP)

    time.sleep(0.5)
    assert alive(megtrim.compiler)
    os.kill(megtrim.pid, signal.SIGTERM)
    assert megtrim.status() == 130


def test_a_closed_terminal_is_an_interruption(start: Callable[..., Started]) -> None:
    ours, theirs = os.openpty()
    megtrim = start(terminal=os.ttyname(theirs))
    os.close(theirs)

    os.close(ours)

    assert megtrim.status() == 130
    until(lambda: not alive(megtrim.compiler), "the compiler's end")


def test_ctrl_c_is_quiet_also_while_modules_load(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """That takes a second or two, and no one catches it but the first module."""

    class Interrupting:
        def find_spec(self, name: str, *_where: object) -> None:
            if name == "megtrim.core.cli.main":
                raise KeyboardInterrupt

    monkeypatch.setattr("megtrim.__main__._hear_interrupts", lambda: None)
    monkeypatch.delitem(sys.modules, "megtrim.core.cli.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])

    with pytest.raises(SystemExit) as caught:
        run()

    assert caught.value.code == 130
    assert capsys.readouterr() == ("", "megtrim: interrupted\n")


def test_the_end_looks_for_no_garbage() -> None:
    """It takes a fifth of a short verb's time."""
    code = (
        "import atexit, gc\n"
        "atexit.register(lambda: print('looked at', len(gc.get_objects())))\n"
        "from megtrim.__main__ import run\n"
        "run()\n"
    )
    argv = (sys.executable, "-c", code, "--version")

    ended = ProcessRunner(os.environ).run(Command(argv=argv, timeout_s=60))

    assert ended.stdout.endswith("looked at 0\n")


def test_the_command_begins_where_ctrl_c_is_caught() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))

    assert project["project"]["scripts"]["megtrim"] == "megtrim.__main__:run"
