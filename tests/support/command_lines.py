"""Whether the command line takes a command that a page or a message quotes; nothing is run."""

from __future__ import annotations

import re
import shlex

import click

from megtrim.cli.lazy_group import LazyGroup
from megtrim.cli.main import main as megtrim
from virtual_phone.cli import main as virtual_phone

PROGRAMS: dict[str, click.Command] = {"megtrim": megtrim, "virtual-phone": virtual_phone}


def find_refusal(line: str) -> str:
    """Say why the command line would refuse a command; empty where it takes it."""
    said = re.split(r" {3}| [|>] ", line, maxsplit=1)[0].replace(" DIGEST", f" {'0' * 64}")
    program, *words = shlex.split(said, comments=True)
    command = PROGRAMS[program]
    context = click.Context(command, info_name=program)
    try:
        while isinstance(command, click.Group):
            if isinstance(command, LazyGroup) and command.alone and not _names_verb(words):
                break  # a group that is a verb, too
            found = command.get_command(context, words[0]) if words else None
            if found is None:
                return f"no verb {words[:1]}"
            command, words = found, words[1:]
        if words:  # a verb alone may be spoken of
            command.make_context(program, words, parent=context)
    except click.exceptions.Exit:
        return ""  # --help
    except click.UsageError as error:
        return error.format_message()
    return ""


def _names_verb(words: list[str]) -> bool:
    return bool(words) and not words[0].startswith("-")
