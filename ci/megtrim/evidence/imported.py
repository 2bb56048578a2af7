"""What device jobs brought back: traces and lists of functions, used instead of running here.

Pure: reads folders of evidence into values; whether one fits what is built now is decided by the
stage that uses it, by its binding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from megtrim.checks.check import DeviceIdentity
from megtrim.checks.statuses import ScenarioStatus
from megtrim.evidence import limits
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.configuration import expect_evidence_of
from megtrim.evidence.evidence import (
    LARGEST_CACHE,
    LARGEST_LIST,
    LARGEST_TRACE,
    Evidence,
    EvidenceResult,
    load_file,
    read_evidence,
    read_folders,
)
from megtrim.util.errors import InputError

_HINT = "give the folders of one run of the device jobs"
_WHAT = {JobPurpose.TRACE: "traces of it", JobPurpose.RECORD: "lists of its functions"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedEvidence:
    """What a device job brought back for one scenario: a trace, a list of functions, or why not."""

    scenario: str
    binding: str
    status: ScenarioStatus
    """PASS if there is one."""
    text: str
    device: DeviceIdentity
    time_s: float
    folder: Path
    """Of the evidence."""
    trace_sha256: str | None
    cache_sha256: str | None
    functions_sha256: str | None = None

    @property
    def trace(self) -> Path | None:
        """Path of the trace's file."""
        return self._file(self.trace_sha256)

    @property
    def cache(self) -> Path | None:
        """Path of the algorithm cache that a search left, None if nothing was searched."""
        return self._file(self.cache_sha256)

    @property
    def functions(self) -> Path | None:
        """Path of the list of functions."""
        return self._file(self.functions_sha256)

    def load_trace(self) -> bytes | None:
        """Return the trace's bytes, after checking digest and size. Raises InputError."""
        return self._load(self.trace_sha256, LARGEST_TRACE)

    def load_cache(self) -> bytes | None:
        """Return the cache's bytes, after checking digest and size. Raises InputError."""
        return self._load(self.cache_sha256, LARGEST_CACHE)

    def load_functions(self) -> bytes | None:
        """Return the list's bytes, after checking digest and size. Raises InputError."""
        return self._load(self.functions_sha256, LARGEST_LIST)

    def _load(self, digest: str | None, most: int) -> bytes | None:
        return None if digest is None else load_file(self.folder, digest, most=most)

    def _file(self, digest: str | None) -> Path | None:
        return None if digest is None else self.folder / limits.FILES / digest


def read_brought(
    folders: Sequence[Path], *, config: str
) -> dict[JobPurpose, Mapping[str, ImportedEvidence]]:
    """Return what device jobs brought, by what they were for and by scenario id, sorted.

    A scenario that was brought twice is refused unless both are equal: chance would decide which
    one counts. So is what was brought for another configuration than ``config``.
    """
    found: dict[JobPurpose, dict[str, ImportedEvidence]] = {purpose: {} for purpose in _WHAT}
    places = read_folders(folders)
    if not places:
        named = ", ".join(str(folder) for folder in folders)
        msg = f"{named}: found no evidence.json there or one folder below"
        raise InputError(msg, hint=_HINT)
    for folder in places:
        for purpose, given in _in_folder(folder, config):
            before = found[purpose].setdefault(given.scenario, given)
            if _fingerprint_evidence(before) != _fingerprint_evidence(given):
                differing = f"{before.folder} and {folder} bring different {_WHAT[purpose]}"
                msg = f"{given.scenario}: {differing}"
                raise InputError(msg, hint=_HINT)
    return {purpose: dict(sorted(every.items())) for purpose, every in found.items()}


def _in_folder(folder: Path, config: str) -> Iterator[tuple[JobPurpose, ImportedEvidence]]:
    entries = read_evidence(folder)
    expect_evidence_of(config, f"{folder}: the evidence", entries)
    for evidence in entries:
        if evidence.purpose not in _WHAT:
            msg = f"{folder}: found evidence of a verification, expected traces or functions"
            raise InputError(msg, hint=_HINT)
        for result in evidence.results:
            yield evidence.purpose, _import_result(evidence, result, folder)


def _import_result(evidence: Evidence, result: EvidenceResult, folder: Path) -> ImportedEvidence:
    return ImportedEvidence(
        scenario=result.scenario,
        binding=result.binding,
        status=result.status,
        text=result.text,
        device=evidence.device,
        time_s=result.time_s,
        folder=folder,
        trace_sha256=result.trace,
        cache_sha256=result.cache,
        functions_sha256=result.functions,
    )


def _fingerprint_evidence(given: ImportedEvidence) -> tuple[object, ...]:
    digests = given.trace_sha256, given.cache_sha256, given.functions_sha256
    return (given.binding, given.status, *digests)
