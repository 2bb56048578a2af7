"""Traces that device jobs brought back, used instead of running the profile build here.

Pure: reads folders of evidence into values; whether a trace fits what is built now is judged
by the stage that uses it, by its binding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from megtrim.errors import InputError
from megtrim.evidence import bounds
from megtrim.evidence.bundle import Purpose
from megtrim.evidence.evidence import (
    LARGEST_CACHE,
    LARGEST_TRACE,
    Evidence,
    EvidenceResult,
    load_file,
    read_evidence,
    read_folders,
)
from megtrim.verdict.model import DeviceIdentity, ScenarioStatus

_HINT = "give the folders of one run of the device jobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedElsewhere:
    """What a device job brought for one scenario: its trace, or why there is none."""

    scenario: str
    binding: str
    status: ScenarioStatus
    """PASS where there is a trace."""
    text: str
    device: DeviceIdentity
    time_s: float
    folder: Path
    """Of the evidence."""
    trace_sha256: str | None
    cache_sha256: str | None

    @property
    def trace(self) -> Path | None:
        """Path of the trace's file."""
        return self._file(self.trace_sha256)

    @property
    def cache(self) -> Path | None:
        """Path of the algorithm cache that a search left, None where nothing was searched."""
        return self._file(self.cache_sha256)

    def load_trace(self) -> bytes | None:
        """Return the trace's bytes, held to their digest and size. Raises InputError."""
        if self.trace_sha256 is None:
            return None
        return load_file(self.folder, self.trace_sha256, most=LARGEST_TRACE)

    def load_cache(self) -> bytes | None:
        """Return the cache's bytes, held to their digest and size. Raises InputError."""
        if self.cache_sha256 is None:
            return None
        return load_file(self.folder, self.cache_sha256, most=LARGEST_CACHE)

    def _file(self, digest: str | None) -> Path | None:
        return None if digest is None else self.folder / bounds.FILES / digest


def read_traces(folders: Sequence[Path]) -> dict[str, TracedElsewhere]:
    """Return what device jobs brought, by scenario id, sorted.

    A scenario that came twice is refused unless both say the same: which one counts would
    depend on chance.
    """
    found: dict[str, TracedElsewhere] = {}
    places = read_folders(folders)
    if not places:
        named = ", ".join(str(folder) for folder in folders)
        msg = f"--traces {named}: found no evidence.json there or one folder below"
        raise InputError(msg, hint=_HINT)
    for folder in places:
        for given in _in_folder(folder):
            before = found.setdefault(given.scenario, given)
            if _said(before) != _said(given):
                msg = f"{given.scenario}: {before.folder} and {folder} bring different traces of it"
                raise InputError(msg, hint=_HINT)
    return dict(sorted(found.items()))


def _in_folder(folder: Path) -> Iterator[TracedElsewhere]:
    for evidence in read_evidence(folder):
        if evidence.purpose is not Purpose.TRACE:
            msg = f"{folder}: found evidence of a verification, expected traces"
            raise InputError(msg, hint=_HINT)
        for result in evidence.results:
            yield _given(evidence, result, folder)


def _given(evidence: Evidence, result: EvidenceResult, folder: Path) -> TracedElsewhere:
    return TracedElsewhere(
        scenario=result.scenario,
        binding=result.binding,
        status=result.status,
        text=result.text,
        device=evidence.device,
        time_s=result.time_s,
        folder=folder,
        trace_sha256=result.trace,
        cache_sha256=result.cache,
    )


def _said(given: TracedElsewhere) -> tuple[object, ...]:
    digests = given.trace_sha256, given.cache_sha256
    return (given.binding, given.status, *digests)
