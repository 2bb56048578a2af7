"""The verbs of ``megtrim ci github``: their options and help."""

from __future__ import annotations

from pathlib import Path

import click

from megtrim.core.cli.later import do_later
from megtrim.core.cli.options import (
    PATH,
    artifact_option,
    config_option,
    config_path_option,
    examples,
    needs_token,
    out_option,
    outputs,
    to_option,
)


@examples(
    "megtrim ci github names",
    "megtrim ci github names --config android/megtrim.yaml",
    more=outputs(
        file="the file of the configuration, without the toolchain of FILE#TOOLCHAIN",
        suffix="what a name ends with, such as .android; empty for megtrim.yaml",
        infix="what separates the parts of a name, such as .android. or -",
        megtrim="digest of megtrim's own files, which names the results that it can use",
        release="the file of a release, such as app-v1.2.3.tar.gz; empty if the run is for no tag",
    ),
)
@click.command()
@config_path_option()
@do_later("hosting.cli.github.artifacts:names")
def names() -> None:
    """Print how the names of this configuration differ from those of others in the repository.

    Several configurations may be checked in one run: artifacts, branches and baselines follow the
    path of each. Only the path is used; the file need not exist.
    """


@examples("megtrim ci github logs --out megtrim-out --to logs")
@click.command()
@out_option("Folder of results.")
@click.option("--to", type=PATH, required=True, help="Folder to copy to.")
@do_later("hosting.cli.github.artifacts:logs")
def logs() -> None:
    """Copy the end of each failed build's log, for an artifact of the run.

    Passwords of the compiler cache are removed.
    """


@examples(
    "megtrim ci github publish-fork --to reports",
    "megtrim ci github publish-fork --config android/megtrim.yaml "
    "--workflow megtrim.android.yml --to reports",
    more=needs_token("actions: read, pull-requests: write"),
)
@click.command("publish-fork")
@config_path_option("each has its own comment")
@click.option(
    "--workflow",
    default="megtrim.yml",
    show_default=True,
    metavar="FILE.yml",
    help="Workflow with the size check.",
)
@click.option(
    "--toolchains",
    default="",
    help="Names of the toolchains, separated by spaces, if there are several.",
)
@to_option
@do_later("hosting.cli.github.forks:publish_fork")
def publish_fork() -> None:
    """Comment on the pull request of a fork with the report of its run, which has ended.

    The event is a workflow_run; GitHub is asked for the pull request and the commit. Only
    verdict.json and ending.json are read from the run's artifact, as data. If something cannot be
    shown, the command warns you.
    """


@examples(
    'megtrim ci github image --config megtrim.yaml --image "$IMAGE" --recipe "$RECIPE" '
    "--kept image",
    "megtrim ci github image --recipe android-arm64 --kept image",
    more=outputs(
        image="value for MEGTRIM_IMAGE; empty: use the configured image",
        made="true if the image of a recipe was built now and should be kept",
    ),
)
@click.command()
@config_option
@click.option(
    "--image",
    default="",
    metavar="NAME@sha256:DIGEST",
    help="Image to use instead of the configured one.",
)
@click.option(
    "--recipe",
    default="",
    metavar="NAME",
    help="Build the image by this recipe of the kit instead.",
)
@click.option(
    "--kept",
    "folder",
    type=PATH,
    default=Path("image"),
    show_default=True,
    help="Folder that keeps the image of a recipe between jobs.",
)
@do_later("hosting.cli.github.image:image")
def image() -> None:
    """Get the image with the toolchain: pull it by digest, or build it by a recipe.

    If neither the options nor the configuration name an image, nothing is done.
    """


def _count(_context: click.Context, _option: click.Parameter, value: str) -> int:
    """Read a number that a workflow leaves empty if the previous job failed."""
    if not value.strip():
        return 0
    if not (value.isascii() and value.isdigit() and len(value) < 6):
        msg = f"found {value[:40]!r}, expected how many jobs there are"
        raise click.BadParameter(msg)
    return int(value)


_jobs_option = click.option(
    "--jobs", callback=_count, required=True, metavar="N", help="Number of device jobs."
)


@examples(
    "megtrim ci github wait --jobs 3 --pickup 10 --run 60",
    "megtrim ci github wait --jobs 1 --config android/megtrim.yaml",
    more=outputs(
        pending="empty (all ended), no-runner (no runner took some), approval (a reviewer\n"
        "           must approve some), or late (some still run)",
    )
    + needs_token("actions: read"),
)
@click.command()
@_jobs_option
@click.option(
    "--pickup",
    type=click.FloatRange(0, 1440),
    default=10,
    show_default=True,
    metavar="MINUTES",
    help="Longest time that a job may wait for a runner.",
)
@click.option(
    "--run",
    "run_minutes",
    type=click.FloatRange(0, 1440),
    default=60,
    show_default=True,
    metavar="MINUTES",
    help="Longest time that all jobs together may take.",
)
@config_path_option("jobs of others are not waited for")
@do_later("hosting.cli.github.jobs:wait")
def wait() -> None:
    """Wait for this run's device jobs, up to the timeouts.

    Always exits with 0; a job whose state GitHub does not report counts as late.
    """


@examples("megtrim ci github environment --jobs 1", more=needs_token("actions: read"))
@click.command()
@_jobs_option
@do_later("hosting.cli.github.jobs:environment")
def environment() -> None:
    """Warn while the environment of the device jobs protects nothing.

    Always exits with 0. In a public repository, a token without `actions: read` is enough.
    """


@click.command(
    epilog="""\b
Examples:
  megtrim ci github propose --project project --keep-set project/megtrim/keepset \\
      --report megtrim-out/final --workflow megtrim.yml
  megtrim ci github propose --keep-set megtrim/keepset --report report --token-starts-checks

\b
Outputs of the step:
  outcome       unchanged, opened, updated or current
  pull-request  its number, or empty

From the environment: GITHUB_EVENT_PATH and the runner's other variables, and GITHUB_TOKEN,
which needs `permissions: contents: write, pull-requests: write`, and `actions: write` to start
checks.
"""
)
@click.option("--keep-set", type=PATH, required=True, help="Folder of the new keep set.")
@click.option(
    "--report",
    type=PATH,
    required=True,
    help="Folder with the verdict.json of a trim with that keep set.",
)
@click.option(
    "--config",
    "-c",
    type=PATH,
    help="The configuration that names the keep set; a report of another one is refused.",
)
@click.option(
    "--project",
    type=PATH,
    default=Path(),
    show_default=True,
    help="Checkout that contains the keep set.",
)
@click.option(
    "--branch",
    default="megtrim/keepset",
    show_default=True,
    help="Branch to propose on; -BASE is added if the base is not the default branch.",
)
@click.option("--base", default="", help="Branch to propose to. Default: the branch of this run.")
@click.option(
    "--workflow",
    default="",
    metavar="FILE.yml",
    help="Workflow with the size check, to start on the branch.",
)
@click.option(
    "--token-starts-checks/--start-checks",
    help="Whether pull requests that GITHUB_TOKEN opens start checks by themselves. They do not if "
    "it is the job's own token.",
)
@do_later("hosting.cli.github.jobs:propose")
def propose() -> None:
    """Open or update a pull request with a new keep set, if it differs from the committed one.

    Running it again changes nothing. A pull request that is no longer needed stays open.
    """


def _number(_context: click.Context, _option: click.Parameter, value: str) -> int | None:
    if not value.strip():
        return None
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 16 else 0
    if number < 1:
        msg = f"found {value[:40]!r}, expected the number of a pull request"
        raise click.BadParameter(msg)
    return number


@examples(
    "megtrim ci github publish megtrim-out/final",
    "megtrim ci github publish report --config trim/megtrim.yaml --artifact megtrim-report",
    "megtrim ci github publish report --pull-request 17",
)
@click.command()
@click.argument("report", type=PATH)
@config_path_option("each has its own comment")
@click.option(
    "--pull-request",
    default="",
    metavar="N",
    callback=_number,
    help="Comment on N if the event names no pull request and N is at this run's commit.",
)
@artifact_option
@click.option(
    "--annotated",
    type=PATH,
    metavar="DIR",
    help="A report that this run published before; its annotations are not repeated.",
)
@click.option(
    "--comment/--no-comment", "comments", default=True, help="Write the comment.", show_default=True
)
@do_later("hosting.cli.github.publish:publish")
def publish() -> None:
    """Publish REPORT as job summary, annotations and a comment on the pull request.

    REPORT is a folder with a verdict.json, or with the ending.json of a run without a verdict.
    Publishing never changes a verdict: a failure is a warning.

    To comment, the job needs `permissions: pull-requests: write`. The token comes from
    GITHUB_TOKEN, the event and the summary from the runner's variables.
    """


@examples(
    'megtrim ci github toolchains reports --names "android-arm64 linux-x86-64" --to report',
    more=outputs(
        verdict="the worst of all: pass, unverified, inconclusive, fail; error: one has none",
    ),
)
@click.command()
@click.argument("reports", type=PATH)
@config_path_option("it names the toolchains")
@click.option("--names", required=True, help="Names of the toolchains, separated by spaces.")
@click.option(
    "--to",
    "folder",
    type=PATH,
    required=True,
    help="Folder that gets the comment, for `megtrim ci github publish`.",
)
@do_later("hosting.cli.github.publish:toolchains")
def toolchains() -> None:
    """Join the reports of all toolchains of a file, and exit with the worst of their statuses.

    REPORTS is a folder with the artifact of each report in a folder of its name, or with the files
    of a single one. A missing report is a failure, because nothing is known about that toolchain.
    """


@examples(
    "megtrim ci github release vision-app-v1.4.0.tar.gz",
    more=outputs(url="the page of the release", sha256="of its SHA256SUMS, by which it is verified")
    + needs_token("contents: write"),
)
@click.command()
@click.argument("archive", type=PATH)
@do_later("hosting.cli.github.release:release")
def release() -> None:
    """Publish a release, ARCHIVE, under the tag that this run is for.

    It is published with all of its files or not at all. If you run the command again, it completes
    an earlier attempt. It refuses a release that exists with other files, and a tag that was moved.
    """


@examples(
    "megtrim ci github release-files dist --notes notes.md",
    more=outputs(url="the page of the release") + needs_token("contents: write"),
)
@click.command("release-files")
@click.argument("folder", type=PATH)
@click.option(
    "--notes",
    type=PATH,
    required=True,
    help="Markdown for the page of the release. It is not published as a file.",
)
@do_later("hosting.cli.github.release:release_files")
def release_files() -> None:
    """Publish the files of FOLDER, under the tag that this run is for.

    FOLDER has a SHA256SUMS that names each of the others. All of them are published, or none. If
    you run the command again, it completes an earlier attempt. It refuses a release that exists
    with other files, and a tag that was moved.
    """
