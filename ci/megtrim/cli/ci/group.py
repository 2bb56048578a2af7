"""``megtrim ci``: what workflows call around a trim."""

import click

from megtrim.cli.lazy_group import LazyGroup
from megtrim.cli.options import examples


@examples("megtrim ci gate megtrim-out/final", "megtrim ci github publish megtrim-out/final")
@click.group(
    cls=LazyGroup,
    members={
        "gate": "cli.ci.gate:gate",
        "evidence": "cli.ci.group:evidence",
        "sources": "cli.ci.sources:sources",
        "github": "cli.ci.group:github",
        "schema": "cli.ci.schema:schema",
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
        "base": "cli.ci.github.history:base",
        "baseline": "cli.ci.github.baseline:baseline",
        "history": "cli.ci.github.history:history",
        "image": "cli.ci.github.image:image",
        "logs": "cli.ci.github.artifacts:logs",
        "names": "cli.ci.github.artifacts:names",
        "propose": "cli.ci.github.jobs:propose",
        "publish": "cli.ci.github.publish:publish",
        "publish-fork": "cli.ci.github.forks:publish_fork",
        "regression-issues": "cli.ci.github.history:regression_issues",
        "release": "cli.ci.github.release:release",
        "release-files": "cli.ci.github.release:release_files",
        "toolchains": "cli.ci.github.publish:toolchains",
        "wait": "cli.ci.github.jobs:wait",
    },
)
def github() -> None:
    """Commands for jobs of GitHub Actions."""


@click.group(
    cls=LazyGroup,
    members={
        "join": "cli.ci.evidence.join:join_report",
        "pack": "cli.ci.evidence.pack:pack",
        "run": "cli.ci.evidence.device_job:run_bundle",
    },
)
def evidence() -> None:
    """Verify, trace or time on devices of other machines: pack, run, join."""
