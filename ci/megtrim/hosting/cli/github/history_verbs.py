"""``megtrim ci github history``, ``base``, ``baseline``: their options and help."""

from __future__ import annotations

from pathlib import Path

import click

from megtrim.core.cli.later import do_later
from megtrim.core.cli.options import (
    PATH,
    artifact_option,
    common,
    config_path_option,
    examples,
    needs_token,
    out_option,
    outputs,
)

_history_option = click.option(
    "--history",
    type=PATH,
    default=Path("history"),
    show_default=True,
    help="Folder of the history; it may be missing.",
)
_branch_option = click.option(
    "--branch", default="perf-history", show_default=True, help="Branch of the history."
)
_repository_option = click.option(
    "--repository",
    type=PATH,
    default=Path(),
    help="Any checkout, for git to keep objects in. [default: the current folder]",
)
_base_option = click.option(
    "--base", "base_commit", default="", help="Commit that it was compared with."
)


@examples(
    "megtrim ci github history add report --history history",
    "megtrim ci github history push report --branch perf-history --repository kit",
)
@click.group()
def history() -> None:
    """Add a night or the sizes of a commit to the history, and the history to a night's report."""


@examples(
    "megtrim ci github history add report --history history",
    more=needs_token("actions: read, contents: read"),
)
@history.command()
@click.argument("report", type=PATH)
@_history_option
@_base_option
@artifact_option
@do_later("hosting.cli.github.history:add")
def add() -> None:
    """Write the runs of a night next to its REPORT, and the history into it.

    Instructions of the plain program are compared with those in the artifact of the base's night.

    A run has the time at which the workflow was started: a repeated job writes the same file.
    """


@examples(
    "megtrim ci github history push report --branch perf-history --repository kit",
    more=needs_token("contents: write"),
)
@history.command()
@click.argument("report", type=PATH)
@_branch_option
@_repository_option
@do_later("hosting.cli.github.history:push")
def push() -> None:
    """Append the runs of REPORT to the history's branch of this run's repository.

    Many jobs may append at once, and a repeated job changes nothing. Nothing is checked out, and
    the token is in no file and on no command line.
    """


@examples(
    "megtrim ci github history push-sizes baseline --branch perf-history --repository kit",
    more=needs_token("contents: write"),
)
@history.command()
@click.argument("baseline", type=PATH)
@config_path_option("sizes of others are refused")
@_branch_option
@_repository_option
@do_later("hosting.cli.github.history:push_sizes")
def push_sizes() -> None:
    """Append the sizes in BASELINE to the history's branch of this run's repository.

    BASELINE is a folder with the sizes.json that this run stored, at any depth. If it stored none,
    or they do not belong in a history, the command prints that and leaves the history as it is.
    """


@examples(
    "megtrim ci github base --history history",
    more=outputs(
        commit="the commit that this night is compared with; empty if there is none",
        name="its name in reports",
    )
    + needs_token("contents: read, issues: read"),
)
@click.command()
@config_path_option("each has its own issues")
@_history_option
@do_later("hosting.cli.github.history:base")
def base() -> None:
    """Print the commit that a night of performance is compared with.

    It is the last commit that was measured. While the issue of a regression is open, it stays the
    commit before the regression, so that you see the regression until it is repaired or accepted. A
    commit that is not an ancestor of the default branch's head is never the base.
    """


@examples(
    "megtrim ci github regression-issues report --base 1a2b3c4... --history history",
    more=needs_token("issues: write"),
)
@click.command("regression-issues")
@click.argument("report", type=PATH)
@config_path_option("each has its own issues")
@_history_option
@_base_option
@artifact_option
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@do_later("hosting.cli.github.history:regression_issues")
def regression_issues() -> None:
    """Open, update and close an issue for each scenario that got slower, or is not measured.

    REPORT is a folder with the verdict.json of a night. An issue about slowness is opened or closed
    only if the times were measured and the answer is clear; a scenario without a time for 7 days
    gets a separate issue. Running it again changes nothing. An issue that a person closed is not
    opened again for the same rows and the same base.
    """


@examples(
    "megtrim ci github baseline find --out megtrim-out",
    "megtrim ci github baseline compare --config project/megtrim.yaml --out megtrim-out",
    "megtrim ci github baseline rebuild --config base/megtrim.yaml --out megtrim-out",
)
@click.group()
def baseline() -> None:
    """Find or rebuild the sizes that a change is compared with."""


@examples(
    "megtrim ci github baseline find --out megtrim-out --artifact megtrim-baseline",
    more=outputs(
        how="merge-base, last-known or none",
        rebuild="the commit to build, if its sizes are not stored; otherwise empty",
    )
    + needs_token("actions: read, contents: read"),
)
@baseline.command("find")
@out_option("Folder of results.")
@config_path_option("proofs of others are refused")
@click.option(
    "--artifact",
    default="megtrim-baseline",
    show_default=True,
    help="Name of the artifact that runs store.",
)
@click.option(
    "--quick/--committed",
    help="Look for sizes of quick trims, or of trims by the committed keep set.",
)
@do_later("hosting.cli.github.baseline:find_baseline")
def find_baseline() -> None:
    """Download the sizes that the run of the merge base stored, or else the newest ones.

    Only runs of this repository on the base branch count; sizes from runs of forks are not used.
    """


@examples(
    "megtrim ci github baseline compare --config project/megtrim.yaml --out megtrim-out",
    more=outputs(
        rebuild="the commit to build, if its programs must be measured again; otherwise empty",
    ),
)
@baseline.command("compare")
@common
@do_later("hosting.cli.github.baseline:compare_conditions")
def compare_conditions() -> None:
    """Tell whether the sizes that `find` stored can be compared in instructions and memory.

    They cannot if they belong to another input, number of threads or emulator. Build the commit,
    with `rebuild`, and trim with `--base` and the same folder of results: its programs are then
    measured again under today's conditions. Nothing is built or run here.
    """


@examples(
    "megtrim ci github baseline rebuild --config base/megtrim.yaml --out megtrim-out",
    more=outputs(how="rebuilt; if the build failed, as before: last-known or none"),
)
@baseline.command("rebuild")
@common
@do_later("hosting.cli.github.baseline:rebuild_baseline")
def rebuild_baseline() -> None:
    """Build the plain and the reduced variant of the merge base, and measure them.

    The configuration is in a checkout of the commit that `find` printed. It is trimmed like the
    sizes that `find` looked for: by its committed keep set, or quickly. If the build fails, the
    sizes that `find` downloaded are kept, with the reason.
    """
