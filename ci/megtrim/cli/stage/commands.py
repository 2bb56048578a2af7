"""The commands of single stages: all alike, but that two of them write the committed keep set.

``megtrim size`` and ``megtrim report`` are among them; the others are under ``megtrim stage``.
``megtrim size`` has verbs of its own, too.
"""

from __future__ import annotations

import click

from megtrim.cli.options import accept_option, again_option, json_option, trimming
from megtrim.cli.session.each_toolchain import each_toolchain
from megtrim.cli.stage.chain import FORMS, execute
from megtrim.plan.graph import Stage
from megtrim.verdict.invocation import Options

EXAMPLE = """\b
Examples:
  megtrim {verb}
  megtrim {verb} --config examples/megengine-linux-arm64.yaml --engine ../MegEngine
"""


def _command(stage: Stage, about: str) -> click.Command:
    @click.command(stage.value, help=about, epilog=EXAMPLE.format(verb=stage.verb))
    @each_toolchain()
    @trimming
    @json_option
    @again_option
    def command(options: Options) -> int:
        return execute(options, stage)

    return command


def _accepting_command(stage: Stage, about: str) -> click.Command:
    """Return the command of a stage that may write the committed keep set."""

    @click.command(stage.value, help=about, epilog=EXAMPLE.format(verb=f"{stage.verb} --accept"))
    @each_toolchain()
    @trimming
    @json_option
    @again_option
    @accept_option
    def command(options: Options) -> int:
        return execute(options, stage)

    return command


build = _command(Stage.BUILD, "Build the plain and the profile variant of the engine.")
profile = _command(Stage.PROFILE, "Run every scenario on the profile build and collect its trace.")
header = _accepting_command(
    Stage.HEADER, "Merge the traces and the operator JSON into the keep set and the header."
)
reduce = _command(Stage.REDUCE, "Build the engine with only what the keep set names.")
functions = _accepting_command(
    Stage.FUNCTIONS, "Record which functions run, for trim.level: function."
)
size = _command(Stage.SIZE, "Measure the artifacts and compare them with their budgets.")
verdict = _command(Stage.VERDICT, "Combine sizes, traps and parity into one verdict.")


@click.command(
    "report",
    help="Write the verdict as JUnit, Markdown and HTML.",
    epilog=EXAMPLE.format(verb="report") + "  megtrim report --format junit > junit.xml\n",
)
@each_toolchain()
@trimming
@json_option
@again_option
@click.option("--format", "form", type=click.Choice([*FORMS]), help="Print the report in a form.")
def report(options: Options) -> int:
    """Show the table, or one form of the report."""
    return execute(options, Stage.REPORT)
