"""Groups of verbs that import the module of the verb that is called, and no other."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that finds each verb by ``members``: ``module:attribute``, as entry points do.

    Importing all verbs takes a second, which ``megtrim ci gate`` would spend in every CI job.
    """

    def __init__(self, *arguments: Any, members: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._members = members

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names of the verbs, in the order of ``members``."""
        return list(self._members)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb; None if the group has none of that name."""
        if cmd_name not in self._members:
            return None
        command: click.Command = pkgutil.resolve_name(self._members[cmd_name])
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb of a call; an error names the groups that have one of that name."""
        root = ctx.find_root()
        if args[0] not in self._members and isinstance(root.command, click.Group):
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
