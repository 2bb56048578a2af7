"""Groups of verbs: what is imported, and what a verb of another group is answered."""

from __future__ import annotations

import click
import pytest

from megtrim.cli.lazy_group import LazyGroup
from unit.cli.support import Shell

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


GROUP = LazyGroup(
    "tool",
    members={
        "show": "megtrim.cli.ci.schema:schema",
        "inner": "megtrim.cli.devices.group:devices",
        "broken": "megtrim.nowhere:nothing",
    },
)


def test_a_verb_is_imported_when_it_is_called() -> None:
    """A broken one breaks no other; what is no verb is none."""
    context = click.Context(GROUP)

    assert GROUP.list_commands(context) == ["show", "inner", "broken"]
    found = GROUP.get_command(context, "show")
    assert found is not None
    assert found.name == "schema"
    assert GROUP.get_command(context, "absent") is None
    with pytest.raises(ModuleNotFoundError):
        GROUP.get_command(context, "broken")
