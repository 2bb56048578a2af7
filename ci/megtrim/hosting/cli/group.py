"""``megtrim ci``: what workflows call around a trim."""

import click

from megtrim.core.cli.lazy_group import LazyGroup
from megtrim.core.cli.options import examples


@examples("megtrim ci gate megtrim-out/final", "megtrim ci github publish megtrim-out/final")
@click.group(
    cls=LazyGroup,
    members={
        "gate": "hosting.cli.gate:gate",
        "evidence": "hosting.cli.group:evidence",
        "sources": "hosting.cli.sources:sources",
        "github": "hosting.cli.group:github",
        "schema": "hosting.cli.schema:schema",
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
        "base": "hosting.cli.github.history:base",
        "baseline": "hosting.cli.github.baseline:baseline",
        "environment": "hosting.cli.github.jobs:environment",
        "history": "hosting.cli.github.history:history",
        "image": "hosting.cli.github.image:image",
        "logs": "hosting.cli.github.artifacts:logs",
        "names": "hosting.cli.github.artifacts:names",
        "propose": "hosting.cli.github.jobs:propose",
        "publish": "hosting.cli.github.publish:publish",
        "publish-fork": "hosting.cli.github.forks:publish_fork",
        "regression-issues": "hosting.cli.github.history:regression_issues",
        "release": "hosting.cli.github.release:release",
        "release-files": "hosting.cli.github.release:release_files",
        "toolchains": "hosting.cli.github.publish:toolchains",
        "wait": "hosting.cli.github.jobs:wait",
    },
)
def github() -> None:
    """Commands for jobs of GitHub Actions."""


@click.group(
    cls=LazyGroup,
    members={
        "join": "hosting.cli.evidence.join:join_report",
        "pack": "hosting.cli.evidence.pack:pack",
        "run": "hosting.cli.evidence.device_job:run_bundle",
    },
)
def evidence() -> None:
    """Verify, trace or time on devices of other machines: pack, run, join."""
