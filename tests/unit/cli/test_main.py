"""How the command line ends: exit statuses, help, a bug, an interruption."""

import sys
from collections.abc import Iterator

import click
import pytest

from megtrim.cli import main as entry
from megtrim.cli.lazy_group import LazyGroup
from megtrim.cli.main import main
from megtrim.util.errors import InfrastructureFailure, InputError, Interrupted, ProductFailure
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
    assert " ".join(main.list_commands(click.Context(main))) == (
        "doctor init check plan trim verify probe explain size report export release perf devices "
        "model stage ci"
    )


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_has_help_with_an_example(shell: Shell, verb: tuple[str, ...]) -> None:
    answer = shell(*verb, "--help")

    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(f"Usage: megtrim {' '.join(verb)} ")
    block = answer.out.partition("\n  Example")[2].partition(":\n")[2].partition("\n\n")[0]
    examples = block.replace("\\\n", " ").splitlines()
    assert examples
    assert all(line.strip().startswith(f"megtrim {' '.join(verb)}") for line in examples)


def test_the_first_page_says_where_to_start_and_how_it_ends(shell: Shell) -> None:
    answer = shell("--help").expect(0)
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
    answer = shell(*arguments)

    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


@pytest.mark.parametrize("verb", ["trim", "plan", "stage build", "verify", "explain verdict"])
def test_no_configuration_is_2(shell: Shell, verb: str) -> None:
    answer = shell(*verb.split()).expect(2)
    assert answer.err.startswith("megtrim: megtrim.yaml: found no such file")
    assert "megtrim init" in answer.err
    assert list(shell.folder.iterdir()) == []


def test_an_error_has_a_code(shell: Shell) -> None:
    assert entry._status(["plan"]) == 2
    assert shell.capture.readouterr().err.endswith("\n  MT0101: megtrim explain MT0101\n")
    assert "what to do: Change the key" in shell("explain", "MT0101").out
    assert shell("explain", "MT0999").status == 2


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def findings(_processes: object) -> Iterator[object]:
        raise error

    # The verb stands in the module of its name.
    monkeypatch.setattr(sys.modules["megtrim.cli.doctor"], "_findings", findings)


_STOPPED = "interrupted; what is finished is kept"


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (ProductFailure("it is so", hint="do this"), 1, "it is so\n  do this"),
        (InputError("it is so", hint="do this"), 2, "it is so\n  do this"),
        (InfrastructureFailure("it is so", hint="do this"), 3, "it is so\n  do this"),
        (Interrupted("it is so", hint="do this"), 130, "it is so\n  do this"),
        (KeyboardInterrupt(), 130, _STOPPED),
        (click.Abort(), 130, _STOPPED),
    ],
)
def test_every_kind_of_failure_has_its_status(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, text: str
) -> None:
    raising(monkeypatch, error)

    answer = shell("doctor")

    assert (answer.status, answer.out, answer.err.strip()) == (status, "", f"megtrim: {text}")


def test_a_bug_leaves_a_report(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, ZeroDivisionError("by zero"))

    shell("doctor", "--json").expect(
        70, "ZeroDivisionError: by zero", "this is a bug in megtrim; please report megtrim-crash.md"
    )
    report = (shell.folder / "megtrim-crash.md").read_text(encoding="utf-8")
    assert report.startswith("# megtrim crashed\n- version: ")
    assert "- arguments: `doctor --json`\n" in report
    assert "\n```\nTraceback (most recent call last):\n" in report
    assert report.endswith("ZeroDivisionError: by zero\n```\n")


def test_a_bug_is_shown_also_where_no_report_can_be_left(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(monkeypatch, ZeroDivisionError())
    (shell.folder / "megtrim-crash.md").mkdir()

    shell("doctor").expect(70, "please report the lines above")


def test_a_bug_is_shown_with_arguments_that_are_no_text(shell: Shell) -> None:
    assert entry._bug(["explain", "\udcff"]) == 70

    report = (shell.folder / "megtrim-crash.md").read_text(encoding="utf-8")
    assert "- arguments: `explain \\udcff`\n" in report
