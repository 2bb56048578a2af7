"""``megtrim ci evidence``: what a hosted build gives to device jobs, and what comes back."""

from __future__ import annotations

import click

from megtrim.cli.lazy_group import LazyGroup


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
