"""What a person should do next, in one place for everything that shows it.

The terminal, the comment, the reports, a probe and `explain` all show these sentences. Pure.
"""

from __future__ import annotations

from typing import Literal, assert_never

from megtrim.verdict.invocation import Invocation
from megtrim.verdict.statuses import CheckKind

ScenarioKind = Literal[
    CheckKind.TRAP,
    CheckKind.PARITY,
    CheckKind.ENGINE,
    CheckKind.TRACE,
    CheckKind.DEVICE,
    CheckKind.COVERAGE,
]
"""Kinds of check that decide how a scenario ends."""

WAIT_FOR_DEVICE = (
    "nothing is known about the product on this device: look at the device job, or wait for it"
)
PUSH_BRANCH = (
    "a maintainer who has read the change pushes its branch to this repository, "
    "and starts the workflow on it by hand"
)
START_RUNNER = "bring the runner of this class back, and run the device job again"
APPROVE_JOB = "approve the device job in its run"
BRING_DEVICE_BACK = "bring a device of this class back, and run the check again"
CHECK_CLOCK = "look at the clock of the machine that ran it, and run the device job again"
LOOK_AT_DEVICE = "nothing is known about the product: look at the device, then try again"


def accept(invocation: Invocation) -> str:
    """Say how to bring the committed keep set up to date."""
    return (
        f"trace it again and accept that with {invocation.accept()}, "
        f"then commit {invocation.keep_set}; the trace-refresh workflow proposes the same"
    )


def for_scenario(kind: ScenarioKind, invocation: Invocation) -> str:
    """Say what to do about a scenario that ended at a check of this kind."""
    match kind:
        case CheckKind.TRAP:
            return _after_trap(invocation)
        case CheckKind.PARITY:
            return (
                "compare the same scenario on plain and profile; "
                "verify.tolerance allows a difference that you accept"
            )
        case CheckKind.ENGINE:
            return (
                "no region is missing, so trimming is not at fault: "
                "look at the model, its input and the engine's message"
            )
        case CheckKind.TRACE if invocation.committed:
            return f"if the change is meant, {accept(invocation)}"
        case CheckKind.TRACE:
            return "the run that was to be traced failed: mend what its log shows, and trim again"
        case CheckKind.DEVICE:
            return LOOK_AT_DEVICE
        case CheckKind.COVERAGE:
            return "bring a device of its class back, and verify it there"
        case _:
            assert_never(kind)


def _after_trap(invocation: Invocation) -> str:
    if invocation.committed:
        return f"if it is meant to run these, {accept(invocation)}"
    # It was traced by this chain, so its runs differ from each other.
    return (
        "it was traced just now and ran otherwise here: name its CPU in classes, record its "
        "algo_cache, or name the functions in trim.keep"
    )


def for_probe(invocation: Invocation) -> str:
    """Say what to do about a run that traps and is not a scenario."""
    add = f"if people may run it so, add it to {invocation.config} as a scenario"
    return f"{add} and {accept(invocation)}"


def for_keep_set(invocation: Invocation) -> str:
    """Say what to do if regions that were traced are missing from the committed keep set."""
    return f"if the change is meant, {accept(invocation)}"


def for_list_of_elsewhere(invocation: Invocation) -> str:
    """Say what to do if an automatic toolchain makes another link than that of the keep set."""
    return (
        f"if the engine or a model changed, {accept(invocation)}; if not, the toolchain auto found "
        "another compiler here than where the list was made: install that one (zig: pip install "
        "ziglang, and qemu-user-static), or name one as toolchain.kind, for all machines"
    )


def for_budget(*, lapsed: bool, owner: str = "") -> str:
    """Say what to do about a budget that is exceeded; ``lapsed``: its waiver expired.

    ``owner`` decides about it.
    """
    leave = "have the owner of the waiver renew it" if lapsed else "add a waiver with a reason"
    asked = f"; {owner} owns this budget" if owner else ""
    return f"make it smaller, raise the budget, or {leave}{asked}"
