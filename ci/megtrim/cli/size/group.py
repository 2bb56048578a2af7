"""``megtrim size``: the stage that measures artifacts, and verbs about the bytes of any file."""

from __future__ import annotations

from typing import Any

import click

from megtrim.cli.lazy_group import LazyGroup, Member
from megtrim.cli.session.setup import Options, json_option, trimming
from megtrim.cli.stage.chain import execute
from megtrim.cli.stage.commands import again_option
from megtrim.errors import EXIT_PASS
from megtrim.plan.graph import Stage


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    members={
        "show": Member(
            "megtrim.cli.size.show:show_file",
            "Show what each byte of a program, library or archive is.",
        ),
        "diff": Member(
            "megtrim.cli.size.diff:diff",
            "Show what grew and what shrank from file A to file B.",
        ),
    },
    epilog="""\b
Examples:
  megtrim size
  megtrim size --config examples/megengine-linux-arm64.yaml --engine ../MegEngine
  megtrim size show build/load_and_run --map build/load_and_run.map
  megtrim size diff before/load_and_run after/load_and_run
""",
)
@trimming
@json_option
@again_option
@click.pass_context
def size(context: click.Context, /, as_json: bool, again: bool, **options: Any) -> int:
    """Measure the artifacts and compare them with their budgets.

    The verbs show what the bytes of any file are; they take no configuration.
    """
    if context.invoked_subcommand is not None:
        return EXIT_PASS
    return execute(Options(**options), Stage.SIZE, as_json=as_json, again=again)
