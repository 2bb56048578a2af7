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
    """A group that finds each verb by ``members``, and lists them without finding any.

    ``alone`` is the place of the command that the group is without a verb, if it is one: a call
    without arguments, or with options first.
    """

    def __init__(
        self, *arguments: Any, members: Mapping[str, Member], alone: str = "", **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.members = members
        self._alone = alone

    @property
    def alone(self) -> click.Command | None:
        """Import the command that the group is without a verb; None if it is none."""
        if not self._alone:
            return None
        command: click.Command = pkgutil.resolve_name(self._alone)
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Make the context of the group, or of the command that it is without a verb."""
        helps = ("--help", "-h")
        verb = bool(args) and (not args[0].startswith("-") or args[0] in helps)
        if verb or (command := self.alone) is None:
            return super().make_context(info_name, args, parent, **extra)
        return command.make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, which are those of the command without a verb, and the verbs."""
        if (command := self.alone) is None:
            super().format_options(ctx, formatter)
            return
        command.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

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
