"""The console of a process: on stderr, and silent when its command has ended."""

from __future__ import annotations

import threading

import click
import pytest

from megtrim.cli.echo import open_console


@pytest.mark.parametrize(
    ("quiet", "said"), [(False, "one\nwarning: two\n"), (True, "warning: two\n")]
)
def test_it_speaks_on_stderr(capsys: pytest.CaptureFixture[str], quiet: bool, said: str) -> None:
    """Results alone are on stdout."""
    console = open_console(quiet=quiet)
    console.say("one")
    console.warn("two")

    assert capsys.readouterr() == ("", said)


def test_its_heartbeat_ends_with_the_command() -> None:
    """Nothing is written after the last line."""
    before = threading.active_count()
    with click.Context(click.Command("verb")):
        open_console(quiet=False)
        assert threading.active_count() == before + 1

    assert threading.active_count() == before
