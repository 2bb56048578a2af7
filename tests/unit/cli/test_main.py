"""How the command line ends: exit statuses, help, a bug, an interruption."""

from __future__ import annotations

import os
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from megtrim.__main__ import run
from megtrim.cli import main as entry
from megtrim.cli.main import main
from megtrim.errors import (
    InfrastructureFailure,
    InputError,
    Interrupted,
    MegtrimError,
    ProductFailure,
)
from megtrim.plan.graph import Stage
from support.waiting import alive, until, written_pid
from unit.cli.support import Shell


def commands(group: click.Group, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        else:
            yield (*before, name)


VERBS = tuple(commands(main))


def test_the_first_page_lists_what_people_use() -> None:
    """Single stages, and what workflows call, are in groups of their own."""
    assert main.list_commands(click.Context(main)) == [
        *("doctor", "init", "plan", "trim", "verify", "probe", "explain", "size", "report"),
        *("perf", "devices", "model", "dump", "images", "stage", "ci"),
    ]


def test_the_verbs_are_these() -> None:
    """One for each stage, and those around them."""
    assert {" ".join(verb) for verb in VERBS} >= {
        *("trim", "init", "doctor", "plan", "verify", "probe", "explain", "size", "report"),
        *("model show", "dump", "images build", "images pin", "perf list"),
        *(f"stage {name}" for name in ("build", "profile", "header", "reduce")),
        *(f"stage {name}" for name in ("functions", "switches", "verdict")),
        *("ci evidence pack", "ci evidence run", "ci evidence join", "ci gate", "ci schema"),
        *("ci github baseline find", "ci github baseline rebuild", "ci github wait"),
        *("ci github publish", "ci github propose", "ci github image", "ci github logs"),
    }


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_has_help_with_an_example(shell: Shell, verb: tuple[str, ...]) -> None:
    """That begins with the verb itself."""
    answer = shell(*verb, "--help")

    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(f"Usage: megtrim {' '.join(verb)} ")
    block = answer.out.partition("\n  Example")[2].partition(":\n")[2].partition("\n\n")[0]
    examples = block.replace("\\\n", " ").splitlines()
    assert examples
    assert all(line.strip().startswith(f"megtrim {' '.join(verb)}") for line in examples)


def test_the_first_page_says_where_to_start_and_how_it_ends(shell: Shell) -> None:
    """With every exit status."""
    answer = shell("--help")

    assert answer.status == 0
    for status in ("0 ", "1 ", "2 ", "3 ", "70 ", "130 "):
        assert f"\n    {status}" in answer.out
    for verb in ("doctor", "init MODEL...", "trim"):
        assert f"\n    megtrim {verb} " in answer.out
    assert shell("-h") == answer


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("frobnicate",), "No such command 'frobnicate'"),
        (("trim", "--frobnicate"), "No such option"),
        (("trim", "--jobs", "0"), "Invalid value for '--jobs'"),
        (("init",), "found no model, expected at least one to trim for"),
        (("model", "show"), "Missing argument 'FILE'"),
        (("probe",), "Missing argument 'MODEL'"),
        (("verify", "--", "--cpu"), "Got unexpected extra argument"),
        (("verify", "--scenario", "m", "--neighbours"), "does not go with --neighbours"),
    ],
)
def test_bad_usage_is_2(shell: Shell, arguments: tuple[str, ...], said: str) -> None:
    """Told on standard error."""
    answer = shell(*arguments)

    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


MOVED = {
    **{name: f"stage {name}" for name in ("build", "profile", "header", "reduce")},
    **{name: f"stage {name}" for name in ("functions", "switches", "verdict")},
    **{name: f"ci {name}" for name in ("gate", "evidence", "github", "schema")},
    **{f"stage {name}": name for name in ("verify", "size", "report")},
    "publish": "ci github publish",
    "check": "devices check",
}


@pytest.mark.parametrize(("words", "found"), MOVED.items())
def test_a_verb_of_another_group_is_named(shell: Shell, words: str, found: str) -> None:
    """Whatever follows it; nothing else is run in its place."""
    answer = shell(*words.split(), "report", "--config", "megtrim.yaml")

    assert (answer.status, answer.out) == (2, "")
    name = words.rsplit(maxsplit=1)[-1]
    assert f"Error: No such command '{name}'. Did you mean `" in answer.err
    assert f"`megtrim {found}`" in answer.err


@pytest.mark.parametrize("more", [(), ("--input", "data=x.npy"), ("--", "--cpu")])
def test_a_probe_is_no_option_of_verify(shell: Shell, more: tuple[str, ...]) -> None:
    """It is a verb, which the error names."""
    answer = shell("verify", "--probe", "m", *more)

    assert (answer.status, answer.out) == (2, "")
    assert "No such option: --probe. Did you mean `megtrim probe MODEL" in answer.err


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_names_its_command(shell: Shell, stage: Stage) -> None:
    """Which errors and reports tell people to run."""
    answer = shell(*stage.verb.split(), "--help")

    assert answer.status == 0
    assert answer.out.startswith(f"Usage: megtrim {stage.verb.partition(' --')[0]} ")


@pytest.mark.parametrize("verb", ["trim", "plan", "stage build", "verify", "explain verdict"])
def test_no_configuration_is_2(shell: Shell, verb: str) -> None:
    """And nothing is written."""
    answer = shell(*verb.split())

    assert answer.status == 2
    assert answer.err.startswith("megtrim: megtrim.yaml: found no such file")
    assert "megtrim init" in answer.err
    assert list(shell.folder.iterdir()) == []


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let ``megtrim doctor`` end with an error."""

    def findings(_processes: object) -> Iterator[object]:
        raise error

    # The verb stands in the module of its name.
    monkeypatch.setattr(sys.modules["megtrim.cli.doctor"], "_findings", findings)


@pytest.mark.parametrize(
    ("kind", "status"),
    [(ProductFailure, 1), (InputError, 2), (InfrastructureFailure, 3), (Interrupted, 130)],
)
def test_every_kind_of_failure_has_its_status(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, kind: type[MegtrimError], status: int
) -> None:
    """Message and hint, no traceback."""
    raising(monkeypatch, kind("it is so", hint="do this"))

    answer = shell("doctor")

    assert (answer.status, answer.out) == (status, "")
    assert answer.err == "megtrim: it is so\n  do this\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_ctrl_c_is_130(shell: Shell, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """What is finished is kept."""
    raising(monkeypatch, error)

    answer = shell("doctor")

    assert answer.status == 130
    assert answer.err.strip() == "megtrim: interrupted; what is finished is kept"


def test_a_bug_leaves_a_report(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ready to be pasted: version, platform, arguments, traceback."""
    raising(monkeypatch, ZeroDivisionError("by zero"))

    answer = shell("doctor", "--json")

    assert answer.status == 70
    assert "ZeroDivisionError: by zero" in answer.err
    assert "this is a bug in megtrim; please report megtrim-crash.md" in answer.err
    report = (shell.folder / "megtrim-crash.md").read_text(encoding="utf-8")
    assert report.startswith("# megtrim crashed\n- version: ")
    assert "- arguments: `doctor --json`\n" in report
    assert "\n```\nTraceback (most recent call last):\n" in report
    assert report.endswith("ZeroDivisionError: by zero\n```\n")


def test_a_bug_is_told_also_where_no_report_can_be_left(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of that name, say."""
    raising(monkeypatch, ZeroDivisionError())
    (shell.folder / "megtrim-crash.md").mkdir()

    answer = shell("doctor")

    assert answer.status == 70
    assert "please report the lines above" in answer.err


def test_a_bug_is_told_with_arguments_that_are_no_text(shell: Shell) -> None:
    """Whatever bytes they hold."""
    assert entry._bug(["explain", "\udcff"]) == 70

    report = (shell.folder / "megtrim-crash.md").read_text(encoding="utf-8")
    assert "- arguments: `explain \\udcff`\n" in report


@dataclass(frozen=True)
class Started:
    """A megtrim that waits for a compiler, which runs."""

    pid: int
    compiler: int
    err: Path

    def status(self) -> int:
        """Wait for its end."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Started]:
    """Start one, with words before it or on a terminal."""

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
            *(argv[0], argv, env),
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
    [
        ((), signal.SIGTERM),
        ((), signal.SIGINT),
        ((), signal.SIGHUP),
        (IGNORING, signal.SIGINT),
    ],
)
def test_a_cancelled_run_leaves_no_child(
    start: Callable[..., Started], words: tuple[str, ...], number: signal.Signals
) -> None:
    """A CI system that cancels sends SIGTERM, a closed terminal SIGHUP: as clean as Ctrl-C."""
    megtrim = start(*words)

    os.kill(megtrim.pid, number)

    assert megtrim.status() == 130
    until(lambda: not alive(megtrim.compiler), "the compiler's end")
    assert "megtrim: interrupted while running" in megtrim.err.read_text(encoding="utf-8")


def test_nohup_is_kept(start: Callable[..., Started]) -> None:
    """Whoever asked for it closes the terminal and expects the run to go on."""
    megtrim = start(*NOHUP)

    os.kill(megtrim.pid, signal.SIGHUP)

    time.sleep(0.5)
    assert alive(megtrim.compiler)
    os.kill(megtrim.pid, signal.SIGTERM)
    assert megtrim.status() == 130


def test_a_closed_terminal_is_an_interruption(start: Callable[..., Started]) -> None:
    """Although nobody can be told: what is written to it fails."""
    ours, theirs = os.openpty()
    megtrim = start(terminal=os.ttyname(theirs))
    os.close(theirs)

    os.close(ours)

    assert megtrim.status() == 130
    until(lambda: not alive(megtrim.compiler), "the compiler's end")


def test_ctrl_c_is_quiet_also_while_modules_load(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """That takes a second or two, and nobody catches it but the first module."""

    class Interrupting:
        def find_spec(self, name: str, *_where: object) -> None:
            if name == "megtrim.cli.main":
                raise KeyboardInterrupt

    monkeypatch.setattr("megtrim.__main__._hear_interrupts", lambda: None)
    monkeypatch.delitem(sys.modules, "megtrim.cli.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])

    with pytest.raises(SystemExit) as caught:
        run()

    assert caught.value.code == 130
    assert capsys.readouterr() == ("", "megtrim: interrupted\n")


def test_the_command_begins_where_ctrl_c_is_caught() -> None:
    """As ``python -m megtrim`` does."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))

    assert project["project"]["scripts"]["megtrim"] == "megtrim.__main__:run"
