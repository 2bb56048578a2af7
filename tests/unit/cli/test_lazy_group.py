"""Groups of verbs: what is imported when."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from megtrim.cli.lazy_group import LazyGroup
from megtrim.cli.main import main
from megtrim.util.process import Command, ProcessRunner
from megtrim.verdict.model import to_json
from unit.verdict.examples import passing

GROUP = LazyGroup(
    "tool",
    members={
        "show": ("ci.schema:schema", "Print it."),
        "inner": ("devices.group:devices", "Look around."),
        "broken": ("nowhere:nothing", "Do nothing."),
    },
)


def test_a_verb_is_imported_when_it_is_called() -> None:
    context = click.Context(GROUP)

    assert GROUP.list_commands(context) == ["show", "inner", "broken"]
    found = GROUP.get_command(context, "show")
    assert found is not None
    assert found.name == "schema"
    assert GROUP.get_command(context, "absent") is None
    with pytest.raises(ModuleNotFoundError):
        GROUP.get_command(context, "broken")


HEAVY = ("jinja2", "numpy", "ruptures", "scipy.optimize", "scipy.sparse", "scipy.stats")


def walk(group: click.Group) -> Iterator[LazyGroup]:
    if isinstance(group, LazyGroup):
        yield group
    context = click.Context(group)
    for name in group.list_commands(context):
        inner = group.get_command(context, name)
        if isinstance(inner, click.Group):
            yield from walk(inner)


def test_a_list_says_of_each_verb_what_its_help_begins_with() -> None:
    """The list is written without importing a verb, so nothing else keeps them equal."""
    for group in walk(main):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            assert group.members[name][1] == command.get_short_help_str(limit=1000), name


_CHAIN = ("megtrim.stages", "megtrim.devices")


@pytest.mark.parametrize(
    ("words", "more", "needed"),
    [
        *((words, (), []) for words in ("--version", "--help", "perf --help", "trim -h")),
        *((words, (), []) for words in ("ci github --help", "ci evidence --help", "perf list")),
        *((f"{verb} --help", (), []) for verb in ("perf run", "ci evidence run")),
        ("ci evidence join --help", (), []),
        ("perf history --help", (), ["numpy"]),
        ("ci github names", (*_CHAIN, "megtrim.verdict.model", "megtrim.config.model", "yaml"), []),
        ("ci github logs --help", (*_CHAIN, "megtrim.verdict.model", "requests"), []),
        ("ci github wait --help", _CHAIN, []),
        ("ci github publish --help", _CHAIN, []),
        ("ci github image --help", _CHAIN, []),
        ("ci sources fetch --help", (*_CHAIN, "megtrim.verdict.model"), []),
    ],
)
def test_a_call_imports_what_it_uses(
    processes: ProcessRunner, words: str, more: tuple[str, ...], needed: list[str]
) -> None:
    """A list imports no verb, a verb statistics and templates only to use them.

    Each of these libraries takes a tenth of a second, or a whole one. Each job of a workflow has
    some small steps: none waits for what a trim needs.
    """
    assert list_heavy(processes, words, *more) == needed


def test_the_gate_imports_no_schema(processes: ProcessRunner, tmp_path: Path) -> None:
    """Every job has a gate, and every one of its modules is a moment of each."""
    (tmp_path / "verdict.json").write_text(to_json(passing()), encoding="utf-8")
    heavy = ("pydantic", "yaml", "requests", "filelock", "importlib.metadata")

    assert list_heavy(processes, f"ci gate {tmp_path}", *heavy, "megtrim.verdict.model") == []


def list_heavy(processes: ProcessRunner, words: str, *more: str) -> list[str]:
    script = (
        "import sys\n"
        "from megtrim.cli import main\n"
        f"status = main._status({words.split()!r})\n"
        f"heavy = {[*HEAVY, *more]!r}\n"
        "print(status, *(each for each in heavy if each in sys.modules))"
    )
    ended = processes.run(Command(argv=(sys.executable, "-c", script), timeout_s=60))
    status, *found = ended.stdout.splitlines()[-1].split()
    assert status == "0", ended.stderr
    return found
