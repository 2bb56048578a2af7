"""What is printed as a result, also where no one reads it to its end."""

import os
import sys
import threading

import click
import pytest

from megtrim.cli.echo import complain, open_console, show, show_command
from megtrim.util.process import Command, ProcessRunner

PRINTS = (
    "from megtrim.cli.echo import show\nfor _ in range(9999): show('x' * 99)\nraise SystemExit(3)"
)


def test_a_result_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    show("a result")

    assert capsys.readouterr() == ("a result\n", "")


def test_a_result_is_made_printable(capsys: pytest.CaptureFixture[str]) -> None:
    show("::error::\x1b[2J")
    show_command("::error::a%0Ab")
    complain("\u202e")

    assert capsys.readouterr() == (
        "\\u003a:error::\\u001b[2J\n::error::a%0Ab\n",
        "megtrim: \\u202e\n",
    )


def test_a_reader_that_ends_does_not_change_the_exit_status() -> None:
    script = f'{sys.executable} -c "$1" | head -n 1; exit ${{PIPESTATUS[0]}}'
    outcome = ProcessRunner(os.environ).run(
        Command(argv=("bash", "-c", script, "bash", PRINTS), timeout_s=60)
    )

    assert (outcome.rc, outcome.stdout, outcome.stderr) == (3, "x" * 99 + "\n", "")


@pytest.mark.parametrize(
    ("quiet", "said"), [(False, "one\nwarning: two\n"), (True, "warning: two\n")]
)
def test_it_speaks_on_stderr(capsys: pytest.CaptureFixture[str], quiet: bool, said: str) -> None:
    console = open_console(quiet=quiet)
    console.say("one")
    console.warn("two")

    assert capsys.readouterr() == ("", said)


def test_its_heartbeat_ends_with_the_command() -> None:
    before = threading.active_count()
    with click.Context(click.Command("verb")):
        open_console(quiet=False)
        assert threading.active_count() == before + 1

    assert threading.active_count() == before
