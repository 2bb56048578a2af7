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
        "sources": "hosting.cli.verbs:sources",
        "github": "hosting.cli.group:github",
        "schema": "hosting.cli.verbs:schema",
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
        "base": "hosting.cli.github.history_verbs:base",
        "baseline": "hosting.cli.github.history_verbs:baseline",
        "environment": "hosting.cli.github.verbs:environment",
        "history": "hosting.cli.github.history_verbs:history",
        "image": "hosting.cli.github.verbs:image",
        "logs": "hosting.cli.github.verbs:logs",
        "names": "hosting.cli.github.verbs:names",
        "propose": "hosting.cli.github.verbs:propose",
        "publish": "hosting.cli.github.verbs:publish",
        "publish-fork": "hosting.cli.github.verbs:publish_fork",
        "regression-issues": "hosting.cli.github.history_verbs:regression_issues",
        "release": "hosting.cli.github.verbs:release",
        "release-files": "hosting.cli.github.verbs:release_files",
        "toolchains": "hosting.cli.github.verbs:toolchains",
        "wait": "hosting.cli.github.verbs:wait",
    },
)
def github() -> None:
    """Commands for jobs of GitHub Actions."""


@click.group(
    cls=LazyGroup,
    members={
        "join": "hosting.cli.evidence.verbs:join_report",
        "pack": "hosting.cli.evidence.verbs:pack",
        "run": "hosting.cli.evidence.verbs:run_bundle",
    },
)
def evidence() -> None:
    """Verify, trace or time on devices of other machines: pack, run, join."""
