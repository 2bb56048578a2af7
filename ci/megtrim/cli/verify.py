"""``megtrim verify``: scenarios and their neighbours, on the reduced build."""

from __future__ import annotations

from typing import Any

import click

from megtrim.cli.session.each_toolchain import each_toolchain
from megtrim.cli.session.setup import Options, json_option, neighbours_option, trimming
from megtrim.cli.stage.chain import execute
from megtrim.cli.stage.commands import again_option
from megtrim.plan.graph import Stage


class _Verify(click.Command):
    """Names the verb for a probe to people who look for it here."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse ``--probe`` before the options that would go with it."""
        if any(word.partition("=")[0] == "--probe" for word in args):
            ctx.fail("No such option: --probe. Did you mean `megtrim probe MODEL -- ARGUMENT...`?")
        return super().parse_args(ctx, args)


@click.command(
    cls=_Verify,
    epilog="""\b
Examples:
  megtrim verify
  megtrim verify --scenario resnet50/default@any --again
  megtrim verify --neighbours
""",
)
@each_toolchain()
@trimming
@neighbours_option
@json_option
@again_option
@click.option("--scenario", metavar="ID", help="Verify only this one: MODEL/SCENARIO@CLASS.")
def verify(as_json: bool, again: bool, scenario: str | None, **options: Any) -> int:
    """Run every scenario on the reduced build and compare its outputs with the plain build.

    With --neighbours, also run variations of each scenario, and show how many still work.
    """
    chosen = Options(**options)
    if scenario is not None and chosen.neighbours:
        msg = "--scenario runs one scenario as it was traced: it does not go with --neighbours"
        raise click.UsageError(msg)
    stage = Stage.NEIGHBOURS if chosen.neighbours else Stage.VERIFY
    return execute(chosen, stage, as_json=as_json, again=again, scenario=scenario)
