"""What a release holds and what it can run, as release.json says it. Pure.

It says nothing that differs where the same is done again: no time, no day, no folder. So equal
inputs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from megtrim.build_spec import EngineIdentity, Variant
from megtrim.strict_json import dump, load
from megtrim.verdict.model import (
    DeviceIdentity,
    OutputResult,
    ScenarioStatus,
    ToolchainIdentity,
    TrimChoice,
    Verdict,
    VerdictKind,
)

VERSION = 1
HINT = "another version of megtrim wrote it, or it was damaged: fetch the release again"

RELEASE_FILE = "release.json"
README_FILE = "README.md"
KEEP_SET_PATH = "share/keepset.json"
PROGRAMS = "bin"
LIBRARIES = "lib"
HEADERS = "include"
LICENCES = "licences"
SYMBOLS = "symbols"


class ArtifactKind(StrEnum):
    """What an artifact of a release is for."""

    PROGRAM = "program"
    SHARED = "shared library"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseArtifact:
    """A trimmed program or library."""

    name: str
    kind: ArtifactKind
    sha256: str
    size_bytes: int
    plain_bytes: int | None
    """Size before trimming; None: it was not measured."""

    @property
    def path(self) -> str:
        """Where it is in the release."""
        folder = PROGRAMS if self.kind is ArtifactKind.PROGRAM else LIBRARIES
        return f"{folder}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseScenario:
    """One scenario, and how it ended on the programs of the release."""

    id: str
    model: str
    model_sha256: str
    arguments: tuple[str, ...]
    status: ScenarioStatus
    device: str
    binding: str
    """The sha256 of all that its verification depends on except the device; empty: none."""
    outputs: tuple[OutputResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseContents:
    """Everything that release.json says."""

    version: int = VERSION
    verdict: VerdictKind
    engine: EngineIdentity
    toolchain: ToolchainIdentity
    trim: TrimChoice
    devices: tuple[DeviceIdentity, ...]
    keep_set_sha256: str
    configuration_sha256: str
    artifacts: tuple[ReleaseArtifact, ...]
    scenarios: tuple[ReleaseScenario, ...]

    @property
    def unproven(self) -> tuple[str, ...]:
        """Ids of the scenarios that did not pass."""
        return tuple(each.id for each in self.scenarios if each.status is not ScenarioStatus.PASS)

    @property
    def models(self) -> Mapping[str, str]:
        """The sha256 of each model, by its name."""
        return {each.model: each.model_sha256 for each in self.scenarios}


def make_contents(
    verdict: Verdict,
    *,
    artifacts: Iterable[ReleaseArtifact],
    models: Mapping[str, str],
    keep_set_sha256: str,
    configuration_sha256: str,
) -> ReleaseContents:
    """Return what the release of a trim says; ``models`` maps their names to their sha256."""
    return ReleaseContents(
        verdict=verdict.verdict,
        engine=verdict.engine,
        toolchain=verdict.toolchain,
        trim=verdict.trim,
        devices=verdict.devices,
        keep_set_sha256=keep_set_sha256,
        configuration_sha256=configuration_sha256,
        artifacts=tuple(sorted(artifacts, key=lambda each: each.path)),
        scenarios=tuple(
            ReleaseScenario(
                id=each.id,
                model=each.model,
                model_sha256=models[each.model],
                arguments=each.arguments,
                status=each.status,
                device=each.device,
                binding=each.binding,
                outputs=each.outputs,
            )
            for each in verdict.scenarios
        ),
    )


def find_plain_sizes(verdict: Verdict) -> dict[str, int]:
    """Return the size of each artifact before trimming, by its name."""
    return {
        each.name: size.size_bytes
        for each in verdict.artifacts
        for size in each.sizes
        if size.variant == Variant.PLAIN
    }


def dump_contents(contents: ReleaseContents) -> str:
    """Write release.json."""
    return dump(contents)


def parse_contents(text: str, *, source: str) -> ReleaseContents:
    """Read release.json. Anything but exactly its shape is an InputError naming ``source``."""
    return load(ReleaseContents, text, source=source, version=VERSION, hint=HINT)
