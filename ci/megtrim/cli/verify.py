"""``megtrim verify``: scenarios and their neighbours, on the reduced build."""

from __future__ import annotations

import click

from megtrim.chain.graph import Stage
from megtrim.checks.invocation import Options
from megtrim.cli.options import again_option, json_option, neighbours_option, trimming
from megtrim.cli.session.each_toolchain import each_toolchain
from megtrim.cli.stage import execute


@click.command(
    epilog="""\b
Examples:
  megtrim verify
  megtrim verify --scenario resnet50/default@any --again
  megtrim verify --neighbours
"""
)
@each_toolchain()
@trimming
@neighbours_option
@json_option
@again_option
@click.option("--scenario", metavar="ID", help="Verify only this one: MODEL/SCENARIO@CLASS.")
def verify(options: Options) -> int:
    """Run every scenario on the reduced build and compare its outputs with the plain build.

    With --neighbours, also run variations of each scenario, and show how many still work.
    """
    if options.scenario is not None and options.neighbours:
        msg = "--scenario runs one scenario as it was traced: it does not go with --neighbours"
        raise click.UsageError(msg)
    stage = Stage.NEIGHBOURS if options.neighbours else Stage.VERIFY
    return execute(options, stage)
