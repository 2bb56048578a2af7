"""What the command line prints: results on stdout, what went wrong on stderr.

All of it is made printable here, since names in it may come from anyone.
"""

import json
import os
import re
import sys
import textwrap

import click

from megtrim.core.cli.environment import is_in_job, takes_color
from megtrim.libs.util.console import CLEAR_LINE, Console, count_columns
from megtrim.libs.util.wording import make_printable

_COLORS = {
    **dict.fromkeys(("pass", "ok", "fine"), "green"),
    **dict.fromkeys(("fail", "failed", "regressed", "wrong outputs"), "red"),
    **dict.fromkeys(
        ("infrastructure", "unverified", "inconclusive", "unproven", "missing", "warning"), "yellow"
    ),
}
_STATUS = re.compile(
    rf"(?m)(?:^|(?<=  )|(?<=: ))(?:{'|'.join(_COLORS)})(?=$| {{2}}|[.,:])|^missing(?= )"
)
"""A status as a cell of a table, or before its text."""


_VERDICT = "verdict:"
_LONGEST_RULE = 80
_PASTED = ("to reproduce: ", "megtrim ", "git ", "budgets: ")


def show(text: str) -> None:
    """Print a result. A reader that ended (``| head``) does not change the exit status."""
    show_command(make_printable(text))


def show_summary(text: str) -> None:
    """Print what has statuses, with their colours, as wide as the terminal, the verdict apart."""
    shown = make_printable(text)
    width = count_columns(sys.stdout, otherwise=0)
    if width:
        shown = "\n".join(_fit(line, width) for line in shown.split("\n"))
    color = takes_color(sys.stdout)
    if color:
        shown = "\n".join(map(_colour, shown.split("\n")))
    show_command(shown, color=color or None)


def _fit(line: str, width: int) -> str:
    """Wrap a sentence at words; a table and a line that people paste stay as they are."""
    above = f"{'─' * min(width, _LONGEST_RULE)}\n" if line.startswith(_VERDICT) else ""
    body = line.strip()
    if len(line) <= width or "  " in body or body.startswith(_PASTED):
        return f"{above}{line}"
    indent = line[: len(line) - len(line.lstrip())]
    wrapped = textwrap.wrap(
        body,
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return above + "\n".join(wrapped)


def _colour(line: str) -> str:
    def style(found: re.Match[str]) -> str:
        bold = line.startswith(_VERDICT) or None
        return click.style(found[0], fg=_COLORS[found[0]], bold=bold)

    shown = _STATUS.sub(style, line)
    if not line.startswith(_VERDICT):
        return shown
    return f"{click.style(_VERDICT, bold=True)}{shown.removeprefix(_VERDICT)}"


def show_json(value: object) -> None:
    from megtrim.libs.util.strict_json import encode

    show(json.dumps(encode(value), indent=1))


def show_command(line: str, *, color: bool | None = None) -> None:
    if sys.stderr.isatty():
        click.echo(CLEAR_LINE, err=True, nl=False)  # progress may be shown there
    try:
        click.echo(line, color=color)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes again when it ends, and needs something to write to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(text: str) -> None:
    click.echo(f"megtrim: {make_printable(text)}", err=True)


def open_console(*, quiet: bool = False) -> Console:
    console = Console(sys.stderr, quiet=quiet, in_job=is_in_job())
    context = click.get_current_context(silent=True)
    if context is not None:
        context.with_resource(console.heartbeat())
    return console
