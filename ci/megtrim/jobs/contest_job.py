"""A contest of a bundle on a lease: the files that it names, and the record of what came.

It is measured by the same function as in the stage, on copies whose digests were taken. How a
program ends is in the record; a failure of the machine is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from megtrim.devices import Lease
from megtrim.devices.cpu import read_device_features
from megtrim.devices.relocation_support import UnsupportedRelocations
from megtrim.evidence import limits
from megtrim.evidence.bundle import Bundle
from megtrim.evidence.bundle_contest import BundleContest
from megtrim.evidence.contest_record import ContestRecord, RecordOrigin
from megtrim.experiments.contest import ContestResult, PerformanceStatus
from megtrim.experiments.situation import describe_lacking
from megtrim.jobs.verified_copy import take, take_program
from megtrim.perf.measuring.timing import measure
from megtrim.perf.measuring.timing_runs import ContestFiles
from megtrim.util.errors import ProductFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestJob:
    """A contest, and where its bundle is."""

    asked: BundleContest
    bundle: Bundle
    folder: Path
    """Of the bundle."""
    work: Path
    """For copies of its files."""
    origin: RecordOrigin

    def find_lacking(self) -> str | None:
        """Return what its CPU must have and does not; None if nothing is known to be missing."""
        machine = self.origin.device
        found = read_device_features(machine.kind, self.bundle.machine, machine.facts)
        return describe_lacking(self.asked.cpu_features, found)

    def measure(self, lease: Lease, say: Callable[[str], None]) -> ContestRecord:
        """Measure it. Raises InfrastructureFailure where nothing is known of it."""
        files = self._take_files()
        try:
            result = measure(self.asked.held, files, lease, say=say)
        except (ProductFailure, UnsupportedRelocations) as failure:
            result = ContestResult(status=PerformanceStatus.FAILED, reason=failure.message)
        clean = replace(
            result,
            reason=limits.clean_line(result.reason),
            outputs=limits.clean_line(result.outputs),
            conditions=tuple(map(limits.clean_line, result.conditions)),
        )
        return ContestRecord(
            contest=self.asked.id, binding=self.asked.binding, origin=self.origin, result=clean
        )

    def _take_files(self) -> ContestFiles:
        scenario = self.bundle.scenario(self.asked.scenario)
        return ContestFiles(
            programs={
                side: take_program(
                    self.bundle, self.folder, self.work, variant, scenario.application
                )
                for side, variant in self.asked.variants.items()
            },
            model=self._take(scenario.model, "model"),
            inputs={
                each.name: self._take(each.file, f"input{each.suffix}") for each in scenario.inputs
            },
            cache=None if scenario.cache is None else self._take(scenario.cache, "cache"),
        )

    def _take(self, digest: str, name: str) -> Path:
        return take(self.folder, digest, self.work / digest / name)
