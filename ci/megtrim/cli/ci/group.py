"""``megtrim ci``: what workflows call around a trim."""

import click

from megtrim.cli.lazy_group import LazyGroup
from megtrim.cli.options import examples


@examples("megtrim ci gate megtrim-out/final", "megtrim ci github publish megtrim-out/final")
@click.group(
    cls=LazyGroup,
    members={
        "gate": "ci.gate:gate",
        "evidence": "ci.group:evidence",
        "sources": "ci.sources:sources",
        "github": "ci.group:github",
        "schema": "ci.schema:schema",
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
        "base": "ci.github.history:base",
        "baseline": "ci.github.baseline:baseline",
        "history": "ci.github.history:history",
        "image": "ci.github.image:image",
        "logs": "ci.github.artifacts:logs",
        "names": "ci.github.artifacts:names",
        "propose": "ci.github.jobs:propose",
        "publish": "ci.github.publish:publish",
        "publish-fork": "ci.github.forks:publish_fork",
        "regression-issues": "ci.github.history:regression_issues",
        "release": "ci.github.release:release",
        "release-files": "ci.github.release:release_files",
        "toolchains": "ci.github.publish:toolchains",
        "wait": "ci.github.jobs:wait",
    },
)
def github() -> None:
    """Commands for jobs of GitHub Actions."""


@click.group(
    cls=LazyGroup,
    members={
        "join": "ci.evidence.join:join_report",
        "pack": "ci.evidence.pack:pack",
        "run": "ci.evidence.device_job:run_bundle",
    },
)
def evidence() -> None:
    """Verify, trace or time on devices of other machines: pack, run, join."""
