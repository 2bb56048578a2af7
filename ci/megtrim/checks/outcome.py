"""How a scenario ended: one value from the run to the release. Pure."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from megtrim.checks.statuses import ScenarioStatus
from megtrim.load_and_run.parity import OutputResult
from megtrim.load_and_run.telemetry import Conditions
from megtrim.util.value import Value


class ScenarioOutcome(Value):
    """How a scenario ended on the reduced build, on one machine."""

    status: ScenarioStatus
    text: str
    """One line: what was seen."""
    time_s: float
    outputs: tuple[OutputResult, ...] = ()
    missing_regions: tuple[str, ...] = ()
    log_tail: str = ""
    conditions: Conditions | None = None
    """Conditions under which the time was measured; None: the device does not measure them."""
    crash: str = ""
    """What the device knows about a run that a signal ended: lines, or empty."""
    attempts: tuple[str, ...] = ()
    """One line for each machine that failed, if there is no result in the end."""

    def list_fields(self) -> dict[str, Any]:
        """Return what it says, by field, for a value that says more."""
        return {each.name: getattr(self, each.name) for each in fields(ScenarioOutcome)}
