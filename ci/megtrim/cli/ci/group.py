"""``megtrim ci``: what workflows call around a trim."""

import click

from megtrim.cli.lazy_group import LazyGroup
from megtrim.cli.options import examples


@examples("megtrim ci gate megtrim-out/final", "megtrim ci github publish megtrim-out/final")
@click.group(
    cls=LazyGroup,
    members={
        "gate": (
            "ci.gate:gate",
            (
                "Exit with the status of the verdict in REPORT, or of a run that ended before a "
                "verdict."
            ),
        ),
        "evidence": (
            "ci.group:evidence",
            "Verify, trace or time on devices of other machines: pack, run, join.",
        ),
        "sources": ("ci.sources:sources", "Fetch what an engine is built from."),
        "github": ("ci.group:github", "Commands for jobs of GitHub Actions."),
        "schema": (
            "ci.schema:schema",
            "Print the JSON Schema of megtrim.yaml, or of a file that megtrim writes.",
        ),
    },
)
def ci() -> None:
    """Commands for workflows and other programs."""


@examples(
    "megtrim ci github publish megtrim-out/final",
    "megtrim ci github baseline find --out megtrim-out",
)
@click.group(
    cls=LazyGroup,
    members={
        "base": (
            "ci.github.history:base",
            "Print the commit that a night of performance is compared with.",
        ),
        "baseline": (
            "ci.github.baseline:baseline",
            "Find or rebuild the sizes that a change is compared with.",
        ),
        "history": (
            "ci.github.history:history",
            (
                "Add a night or the sizes of a commit to the history, and the history to a night's "
                "report."
            ),
        ),
        "image": (
            "ci.github.image:image",
            "Get the image with the toolchain: pull it by digest, or build it by a recipe.",
        ),
        "logs": (
            "ci.github.artifacts:logs",
            "Copy the end of each failed build's log, for an artifact of the run.",
        ),
        "names": (
            "ci.github.artifacts:names",
            (
                "Print how the names of this configuration differ from those of others in the "
                "repository."
            ),
        ),
        "propose": (
            "ci.github.jobs:propose",
            (
                "Open or update a pull request with a new keep set, if it differs from the "
                "committed one."
            ),
        ),
        "publish": (
            "ci.github.publish:publish",
            "Publish REPORT as job summary, annotations and a comment on the pull request.",
        ),
        "publish-fork": (
            "ci.github.forks:publish_fork",
            "Comment on the pull request of a fork with the report of its run, which has ended.",
        ),
        "regression-issues": (
            "ci.github.history:regression_issues",
            "Open, update and close an issue for each scenario that got slower, by REPORT.",
        ),
        "release": (
            "ci.github.release:release",
            "Publish a release, ARCHIVE, under the tag that this run is for.",
        ),
        "release-files": (
            "ci.github.release:release_files",
            "Publish the files of FOLDER, under the tag that this run is for.",
        ),
        "toolchains": (
            "ci.github.publish:toolchains",
            (
                "Join the reports of all toolchains of a file, and exit with the worst of their "
                "statuses."
            ),
        ),
        "wait": ("ci.github.jobs:wait", "Wait for this run's device jobs, up to the timeouts."),
    },
)
def github() -> None:
    """Commands for jobs of GitHub Actions."""


@click.group(
    cls=LazyGroup,
    members={
        "join": (
            "ci.evidence.join:join_report",
            "Combine the build's verdict with the evidence of devices, and write the final report.",
        ),
        "pack": (
            "ci.evidence.pack:pack",
            "Write the bundle for device jobs: programs, models, inputs, and what to run.",
        ),
        "run": (
            "ci.evidence.device_job:run_bundle",
            "Run a part of BUNDLE on a device, and write the evidence.",
        ),
    },
)
def evidence() -> None:
    """Verify, trace or time on devices of other machines: pack, run, join."""
