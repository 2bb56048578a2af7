"""Groups of verbs that import the module of the verb that is called, and no other.

Importing all verbs takes seconds, which ``megtrim --help`` and ``megtrim ci gate`` do without.
"""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import NoSuchCommand

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_MARGINS = 6
"""Columns of a list of verbs that hold no text."""
_LONGEST = 1000


class LazyGroup(click.Group):
    """A group that lists its verbs without importing any.

    ``members``: of each verb ``module:attribute`` below ``megtrim``. ``alone``: likewise the
    command that the group is without a verb, in a call without arguments or with options first;
    empty: it is none.
    """

    def __init__(
        self,
        *arguments: Any,
        members: Mapping[str, str],
        alone: str = "",
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.members = members
        self._alone = alone

    @property
    def alone(self) -> click.Command | None:
        return _import(self._alone) if self._alone else None

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        is_verb = bool(args) and (not args[0].startswith("-") or args[0] in ("--help", "-h"))
        is_verb = is_verb or (not args and extra.get("resilient_parsing", False))
        if is_verb or (command := self.alone) is None:
            return super().make_context(info_name, args, parent, **extra)
        return command.make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if (command := self.alone) is None:
            super().format_options(ctx, formatter)
            return
        command.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.members)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _import(self.members[cmd_name]) if cmd_name in self.members else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as error:
            raise NoSuchCommand(error.command_name, possibilities=self.members, ctx=ctx) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self.alone or self, ctx, incomplete)
        return [
            CompletionItem(name, help=describe(place, limit=_LONGEST))
            for name, place in self.members.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        room = formatter.width - _MARGINS - max(map(len, self.members))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, describe(place, limit=room)) for name, place in self.members.items()]
            )


def describe(place: str, *, limit: int) -> str:
    """Return the first sentence of a command's help, as the source has it: nothing is imported."""
    return click.Command(None, help=_find_help(place)).get_short_help_str(limit)


def _find_help(place: str) -> str:
    module, _, name = place.partition(":")
    file = Path(__file__).parents[2] / f"{module.replace('.', '/')}.py"
    for node in ast.parse(file.read_bytes()).body:
        match node:
            case ast.FunctionDef(name=known) if known == name:
                return ast.get_docstring(node) or ""
            case ast.Assign(
                targets=[ast.Name(id=known)], value=ast.Call(args=[ast.Constant(value=text), *_])
            ) if known == name:  # a command that another makes of its help
                return str(text)
    return ""


def _import(place: str) -> click.Command:
    command: click.Command = pkgutil.resolve_name(f"megtrim.{place}")
    return command
