"""A command for each toolchain of a file, one after another."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from megtrim.core.cli.echo import complain, show_summary
from megtrim.core.cli.message_codes import describe_error
from megtrim.core.config.config_id import choose
from megtrim.core.config.load import list_toolchains, load_config
from megtrim.core.config.problems import ConfigError, Problem
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InputError, Interrupted, MegtrimError, worst_exit_code

_OF_ONE = {
    "as_json": "--json",
    "base": "--base",
    "baseline": "--baseline",
    "form": "--format",
    "image": "--image",
    "proofs": "--proofs",
    "reached": "--reached",
    "scenario": "--scenario",
    "traces": "--traces",
}
"""Options whose value or output is of one toolchain, by the parameters of commands."""


def do_for_each(
    command: Callable[..., Any],
    summarize: Callable[[Mapping[str, Path | None]], str] | None,
    values: dict[str, Any],
) -> Any:
    """Call a command with its values, once for each toolchain of a file that has several."""
    names = list_toolchains(values["config"])
    if not names:
        return command(**values)
    _expect_for_all(names, values)
    below = {key for key in ("out", "reuse", "folder") if values.get(key)}
    console = Console(sys.stderr, quiet=values.get("quiet", False))
    codes = []
    folders: dict[str, Path | None] = {}
    for number, name in enumerate(names, 1):
        own = values | {key: values[key] / name for key in below}
        own["config"] = Path(choose(str(values["config"]), name))
        console.say(f"toolchain  {name}, {number} of {len(names)}")
        code, ended = _attempt(command, own)
        codes.append(code)
        folders[name] = own.get("out") if ended else None
    if summarize is not None:
        show_summary(summarize(folders))
    return worst_exit_code(codes)


def _expect_for_all(names: tuple[str, ...], values: dict[str, Any]) -> None:
    given = next((option for key, option in _OF_ONE.items() if values.get(key)), None)
    config = values["config"]
    if given is not None:
        msg = f"{given} is for one toolchain, and {config} has {len(names)}"
        raise InputError(msg, hint=f"choose one: --config {choose(str(config), names[0])}")
    problems: list[Problem] = []
    for name in names:
        try:
            load_config(
                Path(choose(str(config), name)),
                engine_source=values.get("engine"),
                quick=values.get("quick", False),
            )
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)


def _attempt(command: Callable[..., Any], values: dict[str, Any]) -> tuple[int, bool]:
    above = click.get_current_context()
    try:
        # A context of its own: what the command leaves to its end, such as a heartbeat, ends here.
        with click.Context(above.command, info_name=above.info_name, parent=above):
            return command(**values), True
    except Interrupted:
        raise
    except MegtrimError as error:
        complain(describe_error(error))
        return error.exit_code, False
