"""What a release holds and what it can run, as release.json says it. Pure.

It holds no time, no day and no folder: equal inputs give equal bytes.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import field, replace
from enum import StrEnum

from megtrim.core.build_spec import PACKAGE, REST_SUFFIX, EngineIdentity
from megtrim.core.checks.check import (
    MACHINE_FACTS,
    DeviceIdentity,
    ScenarioOutcome,
    ToolchainIdentity,
)
from megtrim.core.checks.statuses import (
    CheckStatus,
    Contradiction,
    ScenarioStatus,
    VerdictKind,
    decide,
    expect_consistent,
)
from megtrim.core.config.config_id import NAME_PATTERN
from megtrim.core.trim.results import FunctionsUse, TrimChoice
from megtrim.core.verdict.model import Verdict
from megtrim.libs.programs.parity import OutputResult
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.json_text import read
from megtrim.libs.util.strict_json import encode, load
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import make_printable

VERSION = 2
_OLDER_VERSION = 1
HINT = "another version of megtrim wrote it, or it was damaged: fetch the release again"

AAR_PATH = f"android/{PACKAGE}.aar"
FEATURE = "android/megtrim_deferred"
"""The folder of a feature module, called as its last part."""
RELEASE_FILE = "release.json"
README_FILE = "README.md"
KEEP_SET_PATH = "share/keepset.json"
PROOFS_PATH = "share/proofs.json"
SHARED_SUFFIX = ".so"
PROGRAMS = "bin"
LIBRARIES = "lib"
SYMBOLS = "symbols"
CONFIGURATION = "share/configuration"
SIZES_PATH = "share/sizes.json"
RUNTIME_PATH = "share/rest.c"
"""The source of what takes deferred functions in."""
REST_PROPERTY = "MEGTRIM_REST"
"""Of a target of the CMake package: the path of its deferred functions."""
LEFT_OUT_SUFFIX = ".left-out.json"
"""The list of what was left out of a program, which lies next to its symbols."""


class ArtifactKind(StrEnum):
    PROGRAM = "program"
    SHARED = "shared library"
    REST = "deferred functions"


def kind_of(artifact: str) -> ArtifactKind:
    if artifact.endswith(REST_SUFFIX):
        return ArtifactKind.REST
    shared = artifact.endswith(SHARED_SUFFIX)
    return ArtifactKind.SHARED if shared else ArtifactKind.PROGRAM


class ReleaseArtifact(Value):
    name: str
    kind: ArtifactKind
    sha256: str
    size_bytes: int
    plain_bytes: int | None

    @property
    def path(self) -> str:
        shared = self.name.removesuffix(REST_SUFFIX).endswith(SHARED_SUFFIX)
        folder = LIBRARIES if shared else PROGRAMS
        return f"{folder}/{self.name}"


class ThirdParty(Value):
    path: str
    commit: str
    is_used: bool
    """Whether its files were there; those that no build needs are not fetched."""


class ReleaseScenario(Value):
    id: str
    model: str
    """Empty: it is a command, without one."""
    model_sha256: str
    graph_sha256: str = ""
    """Of the model without the values of its weights; empty: not known."""
    arguments: tuple[str, ...]
    status: ScenarioStatus
    on_devices: CheckStatus | None
    """On devices elsewhere; None: none had to run it."""
    device: str
    binding: str
    """The sha256 of all that its verification depends on except the device; empty: none."""
    outputs: tuple[OutputResult, ...]

    @property
    def is_proven(self) -> bool:
        passed = self.status is ScenarioStatus.PASS
        if self.on_devices is None:
            return passed
        left_to_devices = self.status is ScenarioStatus.UNVERIFIED
        return self.on_devices is CheckStatus.PASS and (passed or left_to_devices)

    def list_objections(self) -> Iterator[str]:
        if self.id.count("/") != (1 if self.model else 0):
            yield f"{self.id} is not a scenario of {self.model or 'a command'}"
        elif self.model and not self.id.startswith(f"{self.model}/"):
            yield f"{self.id} is not a scenario of {self.model}"
        try:
            said = ScenarioOutcome(status=self.status, text="", time_s=0.0, outputs=self.outputs)
            expect_consistent(self.id, said)
        except Contradiction as error:
            yield error.message


_FIT_NAME = re.compile(NAME_PATTERN)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_BUILD_ID = re.compile(r"[0-9a-f]{8,64}")


class ReleasePatch(Value):
    """Why a release keeps functions that its configuration does not name: a crash."""

    of: str
    """The sha256 of the SHA256SUMS of the release that crashed."""
    program: str
    build_id: str
    report_sha256: str
    added: tuple[str, ...]
    """Functions, by their names in the source, sorted."""
    kept: tuple[str, ...]
    """These, and those of earlier patches."""

    def list_objections(self) -> Iterator[str]:
        for name in ("of", "report_sha256"):
            if _SHA256.fullmatch(getattr(self, name)) is None:
                yield f"patch.{name} is not a sha256"
        if _BUILD_ID.fullmatch(self.build_id) is None:
            yield "patch.build_id is not a build id"
        if not self.added or not {*self.added} <= {*self.kept}:
            yield "patch.added is empty, or not among patch.kept"
        for names in (self.added, self.kept):
            if list(names) != sorted({*names}):
                yield "patch has a function out of order, or twice"


_OPEN = (CheckStatus.UNVERIFIED, CheckStatus.INFRASTRUCTURE)
SETTLED = (VerdictKind.PASS, VerdictKind.INCONCLUSIVE)
"""Verdicts of what is released: everything that had to run did. Times may have shown nothing."""


class ReleaseContents(Value):
    version: int = VERSION
    draft: bool
    """Whether devices elsewhere have still to prove it."""
    verdict: VerdictKind
    engine: EngineIdentity
    third_parties: tuple[ThirdParty, ...]
    toolchain: ToolchainIdentity
    trim: TrimChoice
    regions_held: int
    regions_kept: int
    functions: tuple[FunctionsUse, ...]
    devices: tuple[DeviceIdentity, ...]
    keep_set_sha256: str
    configuration_sha256: str
    artifacts: tuple[ReleaseArtifact, ...]
    scenarios: tuple[ReleaseScenario, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    """The sha256 of all that is released with the artifacts, by its path."""
    patch: ReleasePatch | None = None

    @property
    def unproven(self) -> tuple[str, ...]:
        return tuple(scenario.id for scenario in self.scenarios if not scenario.is_proven)

    def list_objections(self) -> Iterator[str]:
        if unshown := list(list_unshown(self)):
            yield f"{unshown[0]!a:.100} is not one line that can be seen"
            return
        lists = {
            "artifact": [each.name.casefold() for each in self.artifacts],
            "scenario": [each.id for each in self.scenarios],
            "device": [device.name for device in self.devices],
        }
        for what, names in lists.items():
            if not names and what != "device":
                yield f"it lists no {what}"
            for name in sorted({each for each in names if names.count(each) > 1}):
                yield f"it lists the {what} {name} twice"
        yield from self._list_patch_objections()
        for artifact in self.artifacts:
            if _FIT_NAME.fullmatch(artifact.name) is None:
                yield f"no artifact is called {artifact.name!r}"
        for scenario in self.scenarios:
            passed = scenario.status is ScenarioStatus.PASS
            if passed and scenario.device not in lists["device"]:
                yield f"{scenario.id} ran on a device that it does not list"
            yield from scenario.list_objections()

    def _list_patch_objections(self) -> Iterator[str]:
        if self.patch is None:
            return
        yield from self.patch.list_objections()
        if self.patch.program not in {each.name for each in self.artifacts}:
            yield f"the patch is of {self.patch.program}, which it does not list"

    def list_unproven(self) -> Iterator[str]:
        if self.draft:
            yield "it is a draft, which devices have still to prove"
        if self.verdict not in SETTLED:
            yield f"the verdict is {self.verdict}"
        yield from (f"{each} is not proven" for each in self.unproven)

    @property
    def bindings(self) -> Mapping[str, str]:
        return {scenario.id: scenario.binding for scenario in self.scenarios}

    @property
    def models(self) -> Mapping[str, str]:
        return {each.model: each.model_sha256 for each in self.scenarios if each.model}


def make_contents(
    verdict: Verdict,
    *,
    artifacts: Iterable[ReleaseArtifact],
    models: Mapping[str, str],
    graphs: Mapping[str, str],
    third_parties: Iterable[ThirdParty],
    keep_set_sha256: str,
    configuration_sha256: str,
    elsewhere: Container[str] = (),
    draft: bool = False,
) -> ReleaseContents:
    """``models`` and ``graphs`` hold digests, by name.

    ``elsewhere``: classes whose devices have still to prove the draft; its verdict says nothing of
    what is left to them.
    """
    left = {scenario.id for scenario in verdict.scenarios if scenario.cpu_class in elsewhere}
    built = (
        check for check in verdict.checks if check.subject not in left or check.status not in _OPEN
    )
    decided = decide(check.status for check in built) if left else verdict.verdict
    scenarios = []
    for scenario in verdict.scenarios:
        on_devices = CheckStatus.UNVERIFIED if scenario.cpu_class in elsewhere else None
        described = ReleaseScenario(
            id=scenario.id,
            model=scenario.model,
            model_sha256=models.get(scenario.model, ""),
            graph_sha256=graphs.get(scenario.model, ""),
            arguments=scenario.arguments,
            status=scenario.status,
            on_devices=on_devices,
            device=scenario.device,
            binding=scenario.binding,
            outputs=scenario.outputs,
        )
        scenarios.append(described)
    return ReleaseContents(
        draft=draft,
        verdict=decided,
        engine=verdict.engine,
        third_parties=tuple(sorted(third_parties, key=lambda each: each.path)),
        toolchain=verdict.toolchain,
        trim=verdict.trim,
        regions_held=verdict.regions.held,
        regions_kept=verdict.regions.kept,
        functions=verdict.functions,
        devices=tuple(map(hide_machine, verdict.devices)),
        keep_set_sha256=keep_set_sha256,
        configuration_sha256=configuration_sha256,
        artifacts=tuple(sorted(artifacts, key=lambda each: each.path)),
        scenarios=tuple(scenarios),
    )


def name_files(contents: ReleaseContents, payload: Mapping[str, str]) -> ReleaseContents:
    """Return ``contents`` with the digests of the files of ``payload`` that it does not name yet.

    Proofs come later.
    """
    named = {KEEP_SET_PATH, PROOFS_PATH, *(each.path for each in contents.artifacts)}
    files = {path: sha256 for path, sha256 in payload.items() if path not in named}
    return replace(contents, files=files)


def list_unshown(document: object) -> Iterator[str]:
    match encode(document):
        case str(text):
            yield from [text] if "\n" in text or make_printable(text) != text else []
        case dict(rows):
            for part in (*rows, *rows.values()):
                yield from list_unshown(part)
        case list(parts):
            for part in parts:
                yield from list_unshown(part)
        case _:
            pass


def hide_machine(device: DeviceIdentity) -> DeviceIdentity:
    facts = {name: value for name, value in device.facts.items() if name not in MACHINE_FACTS}
    return replace(device, facts=facts)


def locate_cache(scenario: str) -> str:
    return f"share/algorithm-caches/{scenario}.cache"


def locate_left_out(name: str) -> str:
    return f"{SYMBOLS}/{name}{LEFT_OUT_SUFFIX}"


def is_of_older_form(text: str) -> bool:
    try:
        return read(text, lambda value: "version" in value, RELEASE_FILE, _OLDER_VERSION, HINT)
    except (InputError, TypeError):
        return False


def parse_contents(text: str, *, source: str) -> ReleaseContents:
    return load(ReleaseContents, text, source=source, version=VERSION, hint=HINT)
