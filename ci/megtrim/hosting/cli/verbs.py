"""``megtrim ci sources`` and ``schema``: their options and help."""

from __future__ import annotations

import click

from megtrim.core.cli.later import do_later
from megtrim.core.cli.options import PATH, examples

SCHEMAS = (
    "megtrim.yaml",
    "model",
    "scenario",
    "command",
    "verdict.json",
    "sizes.json",
    "size-history",
    "results",
)
"""Names of documents that have a schema; what makes each stands beside the work."""


@examples("megtrim ci sources fetch project --trusted trusted --config megtrim.yaml")
@click.group()
def sources() -> None:
    """Fetch the sources of an engine."""


@sources.command(
    epilog="""\b
Examples:
  megtrim ci sources fetch project --trusted trusted --config megtrim.yaml --out out
  megtrim ci sources fetch base --trusted base --shared project

\b
Output of the step:
  private  true if the key was needed: do not show logs of this build to everyone

From the environment: MEGTRIM_ENGINE_KEY, a token or SSH key that reads one repository;
MEGTRIM_ENGINE_HOST_KEYS, lines of known hosts for an SSH key; and the runner's GITHUB_SERVER_URL
and GITHUB_REPOSITORY, the project's own repository.
"""
)
@click.argument("project", type=PATH)
@click.option("--trusted", type=PATH, required=True, help="Checkout of the base commit.")
@click.option(
    "--config",
    "-c",
    default="megtrim.yaml",
    show_default=True,
    help="The configuration, relative to PROJECT.",
)
@click.option("--url", default="", help="The project's own repository.  [default: the runner's]")
@click.option("--submodules", default="", help="Paths of further submodules, separated by spaces.")
@click.option(
    "--repositories",
    default="",
    help="Further repositories to trust, separated by spaces; one with / at its end stands for all "
    "below it.",
)
@click.option("--shared", type=PATH, help="Checkout of the project whose engine is fetched.")
@click.option("--out", type=PATH, help="Folder of results, which gets the reason of a failure.")
@do_later("hosting.cli.sources:fetch")
def fetch() -> None:
    """Fetch the submodules of PROJECT that its engine needs, without their history.

    PROJECT is a checkout; its engine is the one in the configuration. Submodules are fetched only
    by https, and only from repositories that the .gitmodules of the base commit or --repositories
    name.
    """


@examples(
    "megtrim ci schema > megtrim.schema.json",
    "megtrim ci schema scenario > scenario.schema.json",
    "megtrim ci schema verdict.json",
)
@click.command()
@click.argument("name", type=click.Choice(SCHEMAS), default=SCHEMAS[0])
@do_later("hosting.cli.schema:schema")
def schema() -> None:
    """Print the JSON Schema of megtrim.yaml, or of a file that megtrim writes.

    NAME may be megtrim.yaml, verdict.json or sizes.json; model or scenario, for a file that
    contains one; size-history, for the output of `megtrim size history --json`; or results, for the
    output of a stage with --json.
    """
