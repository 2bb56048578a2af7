"""The bundle: what a hosted build gives to device jobs, so that they need nothing else.

``bundle.json`` next to ``files/<sha256>``: programs, models, inputs, algorithm caches and the keep
set; if functions are trimmed, also the *named* link of each program. The runs and contests that it
requests are values of a fixed shape; nothing in it is executed on the machine that reads it. Pure:
text in, values out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from megtrim.build_spec import Link, Variant
from megtrim.checks.check import DeviceIdentity
from megtrim.config.units import LARGEST_DURATION_S
from megtrim.evidence import limits
from megtrim.evidence.bundle_contest import BundleContest, BundleTimes
from megtrim.evidence.device import BundleDevice
from megtrim.load_and_run import application as command
from megtrim.load_and_run.arguments import check_reserved
from megtrim.load_and_run.parity import Tolerance
from megtrim.regions.keepset import GENERATIONS
from megtrim.util.environment import Variables
from megtrim.util.errors import InputError
from megtrim.util.input_files import decode
from megtrim.util.json_text import LARGEST_DOCUMENT
from megtrim.util.strict_json import dump, load

VERSION = 6
BUNDLE_FILE = "bundle.json"

DEVICE_LABEL = "device "
"""Prefix of the names of a task's inputs that say which device runs it."""

DROPPED = "dropped"
"""Among the programs: the list of names that the *named* link refers to by number."""

OBSERVABLES = "observables"
"""Among the programs: the list of functions that every recorder observes."""

_HINT = "take the bundle of the build job again; `megtrim ci evidence pack` writes it"
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}|")
_LONGEST_RUN_S = 86_400.0
_MOST_THREADS = 256
_LARGEST_TOLERANCE = 2.0**62


class JobPurpose(StrEnum):
    """What device jobs are requested to do."""

    VERIFY = "verify"
    TRACE = "trace"
    RECORD = "record"
    """Which functions run."""
    TIME = "time"
    """How long contestants take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleInput:
    """One input of a run: its name in the model, and its file."""

    name: str
    file: str
    """The sha256."""
    suffix: str
    """Of the file's name, as ``.npy``: the program reads the format from it."""

    def __post_init__(self) -> None:
        limits.check_line("input", self.name)
        fits = bool(self.name) and not any(each.isspace() or each in ":;" for each in self.name)
        limits.require(fits, "input", self.name, "a name without ':', ';' and spaces")
        limits.check_digest(f"input {self.name}: file", self.file)
        fits = _SUFFIX.fullmatch(self.suffix) is not None
        limits.require(fits, f"input {self.name}: suffix", self.suffix, "one such as .npy")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleScenario:
    """One scenario and all that a run of it needs; files are given by sha256."""

    id: str
    cpu_class: Annotated[str, Field(alias="class")]
    model: str
    arguments: tuple[str, ...]
    inputs: tuple[BundleInput, ...]
    threads: int
    tolerance: Tolerance
    timeout_s: float
    cache: str | None
    """Recorded algorithm cache that it runs with."""
    search: bool
    """Let the engine search for algorithms first, and trace with what it found."""
    binding: str
    """What a proof or a trace of it is bound to, see :func:`binding`."""
    application: str = ""
    """Name of the application that runs; empty: the engine's own program."""
    environment: Variables = ()
    """Variables that it sets for its program."""
    link: str | None = None
    """Identity of the link whose functions are recorded, None where none are."""

    def __post_init__(self) -> None:
        limits.check_name("scenario: class", self.cpu_class)
        limits.check_scenario("scenario", self.id, cpu_class=self.cpu_class)
        limits.check_digest(f"{self.id}: model", self.model)
        limits.check_count(f"{self.id}: arguments", self.arguments, limits.MOST_ITEMS)
        for argument in self.arguments:
            limits.check_line(f"{self.id}: arguments", argument)
        limits.check_count(f"{self.id}: inputs", self.inputs, limits.MOST_ITEMS)
        limits.check_unique(f"{self.id}: inputs", [each.name for each in self.inputs])
        fits = 1 <= self.threads <= _MOST_THREADS
        limits.require(fits, f"{self.id}: threads", self.threads, f"1 to {_MOST_THREADS}")
        fits = 0 < self.timeout_s <= _LONGEST_RUN_S
        limits.require(fits, f"{self.id}: timeout_s", self.timeout_s, "up to a day of seconds")
        allowed = self.tolerance
        fits = allowed.absolute <= _LARGEST_TOLERANCE and allowed.relative < 1
        limits.require(fits, f"{self.id}: tolerance", str(allowed), "one that a difference exceeds")
        limits.check_variables(f"{self.id}: environment", self.environment)
        if self.cache is not None:
            limits.check_digest(f"{self.id}: cache", self.cache)
            expected = "none, since a cache is recorded"
            limits.require(not self.search, f"{self.id}: search", self.search, expected)
        limits.check_digest(f"{self.id}: binding", self.binding)
        if self.link is not None:
            limits.check_digest(f"{self.id}: link", self.link)
        self._check_command()

    def _check_command(self) -> None:
        source = f"scenario {self.id}"
        if not self.application:
            # For example, a flag that reads further flags from a file must be refused here, too.
            check_reserved(self.arguments, source=source)
            return
        limits.check_name(f"{self.id}: application", self.application)
        given = {f"{command.INPUT}{each.name}" for each in self.inputs}
        named = command.names_in(self.arguments)
        wanted = {name for name in named if name.startswith(command.INPUT)}
        limits.require(wanted <= given, f"{self.id}: arguments", sorted(wanted), "its inputs")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleApplication:
    """A program of the team's own, in each variant."""

    name: str
    programs: tuple[tuple[str, str], ...]
    """Variant and sha256, as for :class:`Bundle`."""
    companions: tuple[tuple[str, str, str], ...]
    """Variant, name and sha256 of the files that must be in its folder."""

    def __post_init__(self) -> None:
        limits.check_name("application", self.name)
        _check_variants(f"application {self.name}", self.programs)
        limits.check_count(
            f"application {self.name}: companions", self.companions, limits.MOST_ITEMS
        )
        for variant, name, digest in self.companions:
            limits.check_name(f"application {self.name}: companions", name)
            fits = name != self.name and variant in dict(self.programs)
            limits.require(fits, f"application {self.name}: companions", name, "a file of its own")
            limits.check_digest(f"application {self.name}: {name}", digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenScenario:
    """A scenario that no device needs to run, because its proof is recent enough."""

    id: str
    cpu_class: Annotated[str, Field(alias="class")]
    binding: str

    def __post_init__(self) -> None:
        limits.check_name("proven scenario: class", self.cpu_class)
        limits.check_scenario("proven scenario", self.id, cpu_class=self.cpu_class)
        limits.check_digest(f"{self.id}: binding", self.binding)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Everything that device jobs are requested to do."""

    version: int = VERSION
    config: str
    """The configuration, as the build job was given it."""
    purpose: JobPurpose
    target: str
    """Name of the program."""
    machine: str
    """Architecture of the programs, as ``uname -m`` prints it."""
    sysroot: str
    """Where an emulator finds the loader of the programs; empty if they are static."""
    generation: int
    max_age_s: float
    """How old a proof may be."""
    programs: tuple[tuple[str, str], ...]
    """Variant and sha256; also ``named`` and ``dropped`` if functions are trimmed, ``observables``
    if they are recorded. None at all: the build failed, and there is nothing to run."""
    keep_set: str | None
    devices: tuple[BundleDevice, ...]
    scenarios: tuple[BundleScenario, ...]
    """Scenarios to run."""
    proven: tuple[ProvenScenario, ...]
    """Scenarios that would be run if they had no proof."""
    applications: tuple[BundleApplication, ...] = ()
    """Programs that scenarios run, besides the engine's own."""
    speaks: bool = False
    """If functions are recorded: keep those that print error messages."""
    times: BundleTimes | None = None
    """If times are taken: of what; None for any other purpose."""

    def __post_init__(self) -> None:
        limits.check_line("config", self.config)
        limits.check_name("target", self.target)
        limits.check_name("machine", self.machine)
        limits.check_line("sysroot", self.sysroot)
        fits = not self.sysroot or self.sysroot.startswith("/")
        limits.require(fits, "sysroot", self.sysroot, "an absolute path, or nothing")
        fits = self.generation in GENERATIONS
        limits.require(fits, "generation", self.generation, "one of midout's header")
        if self.keep_set is not None:
            limits.check_digest("keep_set", self.keep_set)
        fits = 0 <= self.max_age_s <= LARGEST_DURATION_S
        limits.require(fits, "max_age_s", self.max_age_s, "an age that megtrim.yaml can allow")
        self._check_programs()
        limits.check_count("devices", self.devices, limits.MOST_ITEMS)
        ids = [each.id for each in self.scenarios] + [each.id for each in self.proven]
        limits.check_count("scenarios", ids, limits.MOST_ITEMS)
        limits.check_unique("devices", [device.name for device in self.devices])
        limits.check_unique("scenarios", ids)
        self._check_contests()

    def _check_programs(self) -> None:
        _check_variants("programs", self.programs)
        limits.check_unique("applications", [each.name for each in self.applications])
        for scenario in self.scenarios:
            names = sorted(self._programs(scenario.application))
            needed = _NEEDED[self.purpose]
            where = f"application {scenario.application}" if scenario.application else "programs"
            limits.require(needed <= set(names), where, names, " and ".join(sorted(needed)))
            fits = self.purpose is not JobPurpose.RECORD or scenario.link is not None
            limits.require(fits, f"{scenario.id}: link", None, "one, because it is recorded")
        if self.purpose is JobPurpose.VERIFY:
            fits = not self.scenarios or self.keep_set is not None
            limits.require(fits, "keep_set", None, "one, because devices are to verify")
        if self.purpose in (JobPurpose.VERIFY, JobPurpose.TIME):
            self._check_runners()

    def _check_contests(self) -> None:
        fits = (self.times is not None) is (self.purpose is JobPurpose.TIME)
        limits.require(fits, "times", str(self.purpose), "contests if it is to time, else none")
        scenarios = {each.id: each for each in self.scenarios}
        for contest in self.contests:
            where, scenario = contest.id, scenarios.get(contest.scenario)
            if scenario is None:
                raise limits.wrong(where, contest.scenario, "a scenario of the bundle")
            contest.check_commands({each.name: each.suffix for each in scenario.inputs})
            for variant in contest.variants.values():
                found = self.program(variant, scenario.application)
                limits.require(found is not None, where, str(variant), "a program of the bundle")

    def _check_runners(self) -> None:
        # A result of any other class would be ignored.
        known = self.runner_classes()
        classes = [(each.id, each.cpu_class) for each in self.scenarios]
        for id_, cpu_class in (*classes, *((each.id, each.cpu_class) for each in self.proven)):
            expected = "a device on a runner that stands for its class"
            limits.require(cpu_class in known, f"{id_}: devices", "none", expected)

    def program(self, variant: Variant | Link, application: str = "") -> str | None:
        """Return the sha256 of a variant's program, or None if it is not in the bundle."""
        return self._programs(application).get(variant)

    def find_dropped_list(self, application: str = "") -> str | None:
        """Return the sha256 of the list of a program's named link, or None if there is none."""
        return self._programs(application).get(DROPPED)

    def observables(self, application: str = "") -> str | None:
        """Return the sha256 of the list of what can be observed of a program."""
        return self._programs(application).get(OBSERVABLES)

    def companion_files(self, variant: Variant | Link, application: str) -> dict[str, str]:
        """Return name and sha256 of the files that must be in an application's folder."""
        every = (each.companions for each in self.applications if each.name == application)
        return {name: digest for files in every for of, name, digest in files if of == variant}

    def _programs(self, application: str) -> dict[str, str]:
        if not application:
            return dict(self.programs)
        every = {each.name: dict(each.programs) for each in self.applications}
        return every.get(application, {})

    def runner_classes(self) -> frozenset[str]:
        """Return the CPU classes that have a device on a runner."""
        return frozenset(device.cpu_class for device in self.devices if device.runner)

    def has_runner(self, cpu_class: str, machine: DeviceIdentity) -> bool:
        """Tell whether a machine is a device on a runner, and of that class."""
        runners = (device for device in self.devices if device.runner)
        return any(each.is_machine(cpu_class, machine) for each in runners)

    @property
    def contests(self) -> tuple[BundleContest, ...]:
        """Those that devices are asked for."""
        every = self.times.contests if self.times else ()
        return tuple(each for each in every if each.contest is not None)

    def scenario(self, id_: str) -> BundleScenario:
        """Return the scenario of an id that a contest names."""
        return next(each for each in self.scenarios if each.id == id_)

    def of_class(self, cpu_class: str) -> tuple[BundleScenario | BundleContest, ...]:
        """Return what to run for a CPU class: its scenarios, or its contests if times are taken."""
        every = self.contests if self.purpose is JobPurpose.TIME else self.scenarios
        return tuple(each for each in every if each.cpu_class == cpu_class)


def _check_variants(where: str, programs: tuple[tuple[str, str], ...]) -> None:
    names = [variant for variant, _ in programs]
    limits.check_unique(where, names)
    known = (*Variant, Link.UNFOLDED, Link.PROBED, Link.NAMED, DROPPED, OBSERVABLES)
    for variant, digest in programs:
        limits.require(variant in known, where, variant, f"one of {', '.join(known)}")
        limits.check_digest(f"{where}: {variant}", digest)
    fits = (Link.NAMED in names) is (DROPPED in names)
    limits.require(fits, where, names, f"{Link.NAMED} and {DROPPED}, or neither")


_NEEDED: Mapping[JobPurpose, set[str]] = {
    JobPurpose.VERIFY: {Variant.PLAIN, Variant.REDUCED},
    JobPurpose.TRACE: {Variant.PLAIN, Variant.PROFILE},
    JobPurpose.RECORD: {Link.UNFOLDED, OBSERVABLES},
    JobPurpose.TIME: {Variant.PLAIN},
}


def binding(inputs: Mapping[str, str]) -> str:
    """Return the sha256 over a task's inputs without those that say which device ran it.

    Two runs with the same binding have the same programs, model, arguments, inputs, keep set and
    tolerance.
    """
    return hashlib.sha256(json.dumps(sorted(deviceless(inputs).items())).encode()).hexdigest()


def deviceless(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return a task's inputs without those that say which device runs it."""
    return {name: value for name, value in inputs.items() if not name.startswith(DEVICE_LABEL)}


def dump_bundle(bundle: Bundle) -> str:
    """Write bundle.json; equal bundles are equal bytes."""
    return dump(bundle)


def parse_bundle(text: str, *, source: str) -> Bundle:
    """Read bundle.json. Anything but exactly its shape is an InputError naming ``source``."""
    return load(Bundle, text, source=source, version=VERSION, hint=_HINT)


def read_bundle(folder: Path, *, sha256: str | None = None) -> Bundle:
    """Read a bundle's folder; ``sha256`` is that of bundle.json, if it is known."""
    path = folder / BUNDLE_FILE
    data = limits.read_bytes(path, most=LARGEST_DOCUMENT, hint=_HINT)
    found = hashlib.sha256(data).hexdigest()
    if sha256 is not None and found != sha256:
        msg = f"{path}: its sha256 is {found}, expected {sha256[:80]}"
        raise InputError(msg, hint="it is not the bundle that the build job made: rerun both")
    return parse_bundle(decode(data, shown=str(path), hint=_HINT), source=str(path))
