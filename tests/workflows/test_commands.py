"""What the steps say to megtrim is what its command line takes."""

from __future__ import annotations

import shlex

import click
import pytest

from megtrim.cli.main import main
from workflows.documents import actions, workflows

WAYS = ("--quick", "--committed")
"""What a size check may put where a step says ``$WAY``."""
COMMANDS = sorted(
    {
        step["run"].replace('"$WAY"', way).replace('"$COMMENT"', "--no-comment")
        for document in (*workflows(), *actions())
        for _, step in document.steps()
        if ".venv/bin/megtrim " in step.get("run", "")
        for way in WAYS
    }
)


def unknown(run: str) -> list[str]:
    """Return the words of a call that the command line does not take."""
    words = shlex.split(run)[1:]
    command: click.Command = main
    while isinstance(command, click.Group):
        name = words.pop(0)
        inner = command.get_command(click.Context(command), name)
        if inner is None:
            return [name]
        command = inner
    own = (param for param in command.params if isinstance(param, click.Option))
    options = {name: param for param in own for name in (*param.opts, *param.secondary_opts)}
    free = sum(isinstance(p, click.Argument) for p in command.params)
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            free -= 1
            if free < 0:
                return [word]
        elif word not in options:
            return [word]
        elif not options[word].is_flag:
            words.pop(0)
    return [name for name, option in options.items() if option.required and name not in run]


@pytest.mark.parametrize("run", COMMANDS)
def test_the_command_line_takes_it(run: str) -> None:
    """A renamed option is found here, not in a team's repository."""
    assert unknown(run) == []


@pytest.mark.parametrize(
    ("run", "found"),
    [
        ("megtrim trimm", ["trimm"]),
        ("megtrim trim --gone", ["--gone"]),
        ("megtrim ci gate report again", ["again"]),
        ("megtrim ci evidence join", ["--verdict", "--to"]),
        ("megtrim trim --config x", []),
    ],
)
def test_what_it_does_not_take_is_found(run: str, found: list[str]) -> None:
    """So that the test above can fail."""
    assert unknown(run) == found


def test_steps_were_found() -> None:
    """All verbs of the flow."""
    verbs = {
        " ".join(w for w in shlex.split(run)[1:4] if not w.startswith("-")) for run in COMMANDS
    }

    assert verbs == {
        *("ci github baseline", "ci github wait", "ci github publish", "ci github propose"),
        *("ci github image", "ci github logs", "ci github names"),
        *("trim", "plan", "stage build", "ci gate report"),
        *("ci evidence pack", "ci evidence run", "ci evidence join"),
        *("ci github base", "ci github history", "ci github regression-issues"),
        *("ci sources fetch", "release build ../draft", "release prove draft", "ci github release"),
        *("ci github toolchains", "ci github release-files"),
    }
