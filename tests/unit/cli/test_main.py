"""How the command line ends: exit statuses, help, a bug, an interruption."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import pytest

from megtrim.cli import main as entry
from megtrim.cli.lazy_group import LazyGroup
from megtrim.cli.main import main
from megtrim.util.errors import (
    InfrastructureFailure,
    InputError,
    Interrupted,
    MegtrimError,
    ProductFailure,
)
from unit.cli.support import Shell


def commands(group: click.Group, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        if not isinstance(command, click.Group) or (
            isinstance(command, LazyGroup) and command.alone
        ):
            yield (*before, name)


VERBS = tuple(commands(main))


def test_the_first_page_lists_what_people_use() -> None:
    """Single stages, and what workflows call, are in groups of their own."""
    assert main.list_commands(click.Context(main)) == [
        *(
            "doctor",
            "init",
            "check",
            "plan",
            "trim",
            "verify",
            "probe",
            "explain",
            "size",
            "report",
        ),
        *("export", "release", "perf", "devices", "model", "stage", "ci"),
    ]


def test_the_verbs_are_these() -> None:
    """One for each stage, and those around them."""
    assert {" ".join(verb) for verb in VERBS} >= {
        *("trim", "init", "doctor", "plan", "verify", "probe", "explain", "size", "report"),
        *("model show", "perf list"),
        *("size show", "size diff"),
        *(f"stage {name}" for name in ("build", "profile", "header", "reduce")),
        *(f"stage {name}" for name in ("functions", "verdict")),
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
    """Shown on standard error."""
    answer = shell(*arguments)

    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


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


def test_a_bug_is_shown_also_where_no_report_can_be_left(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of that name, say."""
    raising(monkeypatch, ZeroDivisionError())
    (shell.folder / "megtrim-crash.md").mkdir()

    answer = shell("doctor")

    assert answer.status == 70
    assert "please report the lines above" in answer.err


def test_a_bug_is_shown_with_arguments_that_are_no_text(shell: Shell) -> None:
    """Whatever bytes they hold."""
    assert entry._bug(["explain", "\udcff"]) == 70

    report = (shell.folder / "megtrim-crash.md").read_text(encoding="utf-8")
    assert "- arguments: `explain \\udcff`\n" in report
