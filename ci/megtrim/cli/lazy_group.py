"""Groups of verbs that import the module of the verb that is called, and no other.

Importing all verbs takes seconds, which ``megtrim --help`` and ``megtrim ci gate`` do without.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

_MARGINS = 6
"""Columns of a list of verbs that hold no text."""


@dataclass(frozen=True, slots=True)
class Member:
    """One verb of a group."""

    place: str
    """``module:attribute``, as entry points have it."""
    about: str
    """First sentence of its help."""


class LazyGroup(click.Group):
    """A group that finds each verb by ``members``, and lists them without finding any."""

    def __init__(self, *arguments: Any, members: Mapping[str, Member], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.members = members

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names of the verbs, in the order of ``members``."""
        return list(self.members)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb; None if the group has none of that name."""
        if cmd_name not in self.members:
            return None
        command: click.Command = pkgutil.resolve_name(self.members[cmd_name].place)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs, each with what it does."""
        room = formatter.width - _MARGINS - max(map(len, self.members))
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, click.Command(name, help=each.about).get_short_help_str(room))
                    for name, each in self.members.items()
                ]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb of a call; an error names the groups that have one of that name."""
        root = ctx.find_root()
        if args[0] not in self.members and isinstance(root.command, click.Group):
            found = [f"`{path}`" for path in _find(args[0], root.command, root.command_path)]
            if found:
                msg = f"No such command '{args[0]}'. Did you mean {' or '.join(found)}?"
                raise click.UsageError(msg, ctx)
        return super().resolve_command(ctx, args)


def _find(name: str, group: click.Group, path: str) -> Iterator[str]:
    """Yield every command line that runs a verb of that name."""
    context = click.Context(group)
    for each in group.list_commands(context):
        if each == name:
            yield f"{path} {each}"
        command = group.get_command(context, each)
        if isinstance(command, click.Group):
            yield from _find(name, command, f"{path} {each}")
