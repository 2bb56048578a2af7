"""The bundle: what a hosted build gives to device jobs, so that they need nothing else.

``bundle.json`` is next to ``files/<sha256>``. Nothing in it is executed on the machine that reads
it, and command lines name only files of the run directory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from megtrim.core.build_spec import Link, Variant
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.config.commands import MOST_PATTERNS
from megtrim.core.config.device import HOSTED_RUNNER, KINDS_OF_KEY, DeviceSettings, is_on_runner
from megtrim.core.config.scenarios import Judgement
from megtrim.core.config.units import LARGEST_DURATION_S
from megtrim.core.config.value_types import HIGHEST_STATUS
from megtrim.core.evidence.evidence import JobPurpose
from megtrim.core.evidence.fields import (
    A_LINE,
    A_NAME,
    THREADS,
    VARIABLES,
    Digest,
    Environment,
    Items,
    Line,
    Name,
    Threads,
    are_variables,
    expecting,
    is_bounded,
    is_line,
    is_name,
    is_threads,
    require,
    require_contest,
    require_scenario,
    require_unique,
)
from megtrim.core.keep.keepset import GENERATIONS
from megtrim.core.own_program import find_program
from megtrim.core.timing.spec import Criterion, PerformanceStatus
from megtrim.libs.programs import varying
from megtrim.libs.programs.application_arguments import INPUT, MODEL, names_in
from megtrim.libs.programs.parity import Tolerance
from megtrim.libs.util import limits
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import decode
from megtrim.libs.util.json_text import LARGEST_DOCUMENT
from megtrim.libs.util.limits import MOST_ITEMS
from megtrim.libs.util.strict_json import load
from megtrim.libs.util.value import Value
from megtrim.times.experiments.commands import StepCommand, StepFiles
from megtrim.times.experiments.contest import MOST_RUNS, Contest, Side, name_files

VERSION = 6
BUNDLE_FILE = "bundle.json"

DROPPED = "dropped"
"""Among the programs: the list of names that the *named* link refers to by number."""

OBSERVABLES = "observables"
"""Among the programs: the list of functions that every recorder observes."""

REST = "rest"
"""Among the programs: the deferred functions of the trimmed one, or of its shared object."""

_HINT = "take the bundle of the build job again; `megtrim ci evidence pack` writes it"
_CPU = re.compile(r"[A-Za-z0-9][A-Za-z0-9._,=-]{0,199}")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}|")
_LONGEST_RUN_S = 86_400.0
_PROGRAMS = (*Variant, Link.UNFOLDED, Link.PROBED, Link.NAMED, DROPPED, OBSERVABLES, REST)

_Program = Annotated[str, expecting(f"one of {', '.join(_PROGRAMS)}", _PROGRAMS.__contains__)]
Programs = Mapping[_Program, Digest]
"""The sha256 by variant; also ``named`` and ``dropped`` if functions are trimmed, ``rest`` if they
are deferred, ``observables`` if they are recorded."""
MOST_TIMES = 1_000_000
_UNHELD = (PerformanceStatus.SKIPPED, PerformanceStatus.FAILED, PerformanceStatus.INFRASTRUCTURE)
_MOST_STEPS = 10
_MOST_FEATURES = 100
_MOST_ITERATIONS = 100_000
_MOST_WARMUPS = 1000
_GENERATIONS = " or ".join(map(str, GENERATIONS))


class BundleDevice(Value):
    """The settings end up on command lines, so the model of megtrim.yaml validates them again."""

    name: Name
    kind: Name
    cpu_class: Annotated[Name, Field(alias="class")]
    qemu_cpu: Annotated[str, expecting("a CPU's name", lambda text: bool(_CPU.fullmatch(text)))]
    runner: bool
    settings: DeviceSettings = field(default_factory=DeviceSettings)
    hosted: bool = False
    """Its runner is a machine of GitHub's own."""

    def __post_init__(self) -> None:
        where = f"device {self.name}"
        for key, path in self.settings.paths().items():
            fits = is_line(str(path)) and is_on_runner(str(path))
            require(fits, f"{where}: {key}", str(path), "a path of the runner: /... or ~/...")
        for label, value in self.settings.match.items():
            require(is_line(value), f"{where}: match: {label}", value, "one line")
        given = self.settings.list_given_keys()
        for key in given:
            fits = self.kind in KINDS_OF_KEY[key]
            require(fits, f"{where}: {key}", self.kind, "a kind that has it")
        if self.kind == "adb":
            named = [key for key in ("serial", "match") if key in given]
            require(len(named) == 1, where, named, "serial or match")
        if self.kind == "ssh":
            require("host" in given, where, "no host", "one")

    def is_machine(self, cpu_class: str, machine: DeviceIdentity) -> bool:
        """An emulator is one as well, with the CPU that is asked for."""
        named = machine.name == self.name or machine.name.startswith(f"{self.name}.")
        kinds = ("local", "qemu") if self.kind == "auto" else (self.kind,)
        cpu = machine.facts.get("cpu", self.qemu_cpu) if machine.kind == "qemu" else self.qemu_cpu
        fits = named and machine.kind in kinds and cpu == self.qemu_cpu
        return fits and cpu_class == self.cpu_class


def _is_input_name(text: str) -> bool:
    return bool(text) and is_line(text) and not re.search(r"[\s:;]", text)


class BundleInput(Value):
    name: Annotated[str, expecting("a name without ':', ';' and spaces", _is_input_name)]
    file: Digest
    suffix: Annotated[
        str, expecting("one such as .npy", lambda text: bool(_SUFFIX.fullmatch(text)))
    ]
    """Of the file's name: the program reads the format from it."""


class BundleScenario(Value):
    id: str
    cpu_class: Annotated[Name, Field(alias="class")]
    model: Digest | None
    """None: it is a command, and ``arguments`` its whole command line."""
    arguments: Items[Line]
    inputs: Items[BundleInput]
    threads: Threads
    tolerance: Annotated[Tolerance, expecting("one that a difference exceeds", is_bounded)]
    timeout_s: Annotated[
        float, expecting("up to a day of seconds", lambda time_s: 0 < time_s <= _LONGEST_RUN_S)
    ]
    cache: Digest | None
    search: bool
    """Let the engine search for algorithms first, and trace with what it found."""
    binding: Digest
    application: Annotated[str, expecting(A_NAME, lambda text: not text or is_name(text))] = ""
    """Name of the application that runs; empty: the engine's own program."""
    environment: Environment = ()
    link: Digest | None = None
    stdin: Digest | None = None
    judgement: Judgement = Judgement()

    @property
    def is_command(self) -> bool:
        return self.model is None or bool(self.application)

    def __post_init__(self) -> None:
        require_scenario("scenario", self.id, cpu_class=self.cpu_class)
        require_unique(f"{self.id}: inputs", [input_.name for input_ in self.inputs])
        fits = self.cache is None or not self.search
        require(fits, f"{self.id}: search", self.search, "none, since a cache is recorded")
        self._check_judgement()
        if not self.is_command:
            # For example, a flag that reads further flags from a file must be refused here, too.
            find_program().check_reserved(self.arguments, source=f"scenario {self.id}")
            return
        given = {f"{INPUT}{input_.name}" for input_ in self.inputs}
        named = names_in(self.arguments)
        wanted = {name for name in named if name.startswith(INPUT)}
        require(wanted <= given, f"{self.id}: arguments", sorted(wanted), "its inputs")
        fits = self.model is not None or MODEL not in named
        require(fits, f"{self.id}: arguments", MODEL, "no model, since it has none")

    def _check_judgement(self) -> None:
        judgement = self.judgement
        usual = judgement == Judgement() and self.stdin is None
        where = f"{self.id}: judgement"
        require(usual or self.model is None, where, "one", "none, since it has a model")
        fits = (self.model is None) is ("/" not in self.id)
        require(fits, f"{self.id}: model", self.model, "one, unless the id has no slash")
        fits = 0 <= judgement.status <= HIGHEST_STATUS
        require(fits, where, judgement.status, f"an exit status up to {HIGHEST_STATUS}")
        fits = len(judgement.vary) <= MOST_PATTERNS
        require(fits, where, len(judgement.vary), f"at most {MOST_PATTERNS} patterns")
        for pattern in judgement.vary:
            fits = len(pattern) <= varying.LONGEST_PATTERN and varying.is_pattern(pattern)
            require(fits, where, pattern, varying.EXPECTED)


class BundleApplication(Value):
    name: Name
    programs: Programs
    companions: Mapping[str, Mapping[Name, Digest]]
    """The sha256 of each file that must be in its folder, by variant and name."""

    def __post_init__(self) -> None:
        where = f"application {self.name}"
        _expect_list_of_named(where, self.programs)
        for variant, files in self.companions.items():
            fits = variant in self.programs and self.name not in files
            require(fits, f"{where}: companions", sorted(files), "files of their own")


class ProvenScenario(Value):
    id: str
    cpu_class: Annotated[Name, Field(alias="class")]
    binding: Digest

    def __post_init__(self) -> None:
        require_scenario("proven scenario", self.id, cpu_class=self.cpu_class)


class Bundle(Value):
    version: int = VERSION
    config: Line
    purpose: JobPurpose
    target: Name
    machine: Name
    """Architecture of the programs, as ``uname -m`` prints it."""
    sysroot: Annotated[
        Line, expecting("an absolute path, or nothing", lambda text: text[:1] in ("", "/"))
    ]
    """Where an emulator finds the loader of the programs; empty if they are static."""
    generation: Annotated[int, expecting(_GENERATIONS, GENERATIONS.__contains__)]
    max_age_s: Annotated[float, Field(le=LARGEST_DURATION_S)]
    programs: Programs
    """None at all: the build failed, and there is nothing to run."""
    keep_set: Digest | None
    devices: Items[BundleDevice]
    scenarios: Items[BundleScenario]
    proven: Items[ProvenScenario]
    applications: Items[BundleApplication] = ()
    speaks: bool = False
    """If functions are recorded: keep those that print error messages."""
    times: BundleTimes | None = None

    def __post_init__(self) -> None:
        _expect_list_of_named("programs", self.programs)
        require_unique("applications", [application.name for application in self.applications])
        require_unique("devices", [device.name for device in self.devices])
        ids = [each.id for each in self.scenarios] + [each.id for each in self.proven]
        require_unique("scenarios", ids)
        for scenario in self.scenarios:
            names = self._programs(scenario.application).keys()
            needed = _NEEDED[self.purpose]
            where = f"application {scenario.application}" if scenario.application else "programs"
            require(needed <= names, where, sorted(names), " and ".join(sorted(needed)))
            fits = self.purpose is not JobPurpose.RECORD or scenario.link is not None
            require(fits, f"{scenario.id}: link", None, "one, because it is recorded")
        if self.purpose is JobPurpose.VERIFY:
            fits = not self.scenarios or self.keep_set is not None
            require(fits, "keep_set", None, "one, because devices are to verify")
        if self.purpose in (JobPurpose.VERIFY, JobPurpose.TIME):
            self._check_runners()
        self._check_contests()

    def _check_contests(self) -> None:
        fits = (self.times is not None) is (self.purpose is JobPurpose.TIME)
        require(fits, "times", str(self.purpose), "contests if it is to time, else none")
        known = {each.id for each in self.scenarios}
        for contest in self.contests:
            where = contest.id
            require(contest.scenario in known, where, contest.scenario, "a scenario of the bundle")
            scenario = self.scenario(contest.scenario)
            fits = contest.whole is scenario.is_command
            require(fits, where, contest.whole, "whole runs of a command, and of no other scenario")
            contest.check_commands({input_.name: input_.suffix for input_ in scenario.inputs})
            for variant in contest.variants.values():
                found = self.program(variant, scenario.application)
                require(found is not None, where, str(variant), "a program of the bundle")

    def _check_runners(self) -> None:
        # A result of any other class would be ignored.
        known = self.runner_classes()
        classes = {each.id: each.cpu_class for each in self.scenarios}
        for id_, cpu_class in (classes | {each.id: each.cpu_class for each in self.proven}).items():
            expected = "a device on a runner that stands for its class"
            require(cpu_class in known, f"{id_}: devices", "none", expected)

    def program(self, name: str, application: str = "") -> str | None:
        """Return the sha256 of a variant's program, or None if it is not in the bundle.

        Also that of the list :data:`DROPPED` or :data:`OBSERVABLES`.
        """
        return self._programs(application).get(name)

    def companion_files(self, variant: str, application: str) -> Mapping[str, str]:
        of_it = (each.companions for each in self.applications if each.name == application)
        return next(of_it, {}).get(variant, {})

    def _programs(self, application: str) -> Mapping[str, str]:
        if not application:
            return self.programs
        return next((each.programs for each in self.applications if each.name == application), {})

    def labels_of(self, cpu_class: str) -> str:
        hosted = any(each.hosted for each in self.devices if each.cpu_class == cpu_class)
        return HOSTED_RUNNER if hosted else f"self-hosted, megtrim, {cpu_class}"

    def runner_classes(self) -> frozenset[str]:
        return frozenset(device.cpu_class for device in self.devices if device.runner)

    @property
    def contests(self) -> tuple[BundleContest, ...]:
        every = self.times.contests if self.times else ()
        return tuple(each for each in every if each.contest is not None)

    def scenario(self, id_: str) -> BundleScenario:
        return next(each for each in self.scenarios if each.id == id_)

    def of_class(self, cpu_class: str) -> tuple[BundleScenario | BundleContest, ...]:
        every = self.contests if self.purpose is JobPurpose.TIME else self.scenarios
        return tuple(each for each in every if each.cpu_class == cpu_class)


def find_device(
    devices: Iterable[BundleDevice], cpu_class: str, machine: DeviceIdentity
) -> BundleDevice | None:
    """Return the device on a runner that a machine is; None: it was not asked."""
    fitting = (each for each in devices if each.runner and each.is_machine(cpu_class, machine))
    return next(fitting, None)


def _expect_list_of_named(where: str, programs: Programs) -> None:
    fits = (Link.NAMED in programs) is (DROPPED in programs)
    require(fits, where, sorted(programs), f"{Link.NAMED} and {DROPPED}, or neither")


_NEEDED: Mapping[JobPurpose, set[str]] = {
    JobPurpose.VERIFY: {Variant.PLAIN, Variant.REDUCED},
    JobPurpose.TRACE: {Variant.PLAIN, Variant.PROFILE},
    JobPurpose.RECORD: {OBSERVABLES},
    JobPurpose.TIME: {Variant.PLAIN},
}


def parse_bundle(text: str, *, source: str) -> Bundle:
    return load(Bundle, text, source=source, version=VERSION, hint=_HINT)


def read_bundle(folder: Path, *, sha256: str | None = None) -> Bundle:
    path = folder / BUNDLE_FILE
    data = limits.read_bytes(path, most=LARGEST_DOCUMENT, hint=_HINT)
    found = hashlib.sha256(data).hexdigest()
    if sha256 is not None and found != sha256:
        msg = f"{path}: its sha256 is {found}, expected {sha256[:80]}"
        raise InputError(msg, hint="it is not the bundle that the build job made: rerun both")
    return parse_bundle(decode(data, shown=str(path), hint=_HINT), source=str(path))


class BundleContest(Value):
    id: str
    """``MODEL/SCENARIO@CLASS#SUBJECT``."""
    scenario: str
    cpu_class: Annotated[Name, Field(alias="class")]
    binding: Digest
    contest: Contest | None
    unheld: PerformanceStatus | None = None
    """How it ended without any device: skipped, or failed with its build; None: it is held."""
    reason: Line = ""
    artifact: Name
    reference: Variant = Variant.PLAIN
    rival: Variant = Variant.PLAIN
    """Whose program each side runs."""
    whole: bool = False
    """Of a command, whose whole runs are timed."""
    cpu_features: Annotated[tuple[Name, ...], Field(max_length=_MOST_FEATURES)] = ()
    """What the device's CPU must have, which the job that packs does not know."""
    sizes: tuple[tuple[Variant, int], ...] = ()

    def __post_init__(self) -> None:
        scenario = require_contest("contest", self.id, cpu_class=self.cpu_class)
        require(scenario == self.scenario, f"{self.id}: scenario", self.scenario, scenario)
        held = self.contest is not None
        fits = self.unheld in ((None,) if held else _UNHELD) and bool(self.reason) is not held
        require(fits, f"{self.id}: reason", self.reason, "a contest, or why there is none")
        require_unique(f"{self.id}: sizes", [str(variant) for variant, _ in self.sizes])
        if self.contest is not None:
            _expect_bounded(self.contest, self.id)
            expected = "steps, unless it is of a command"
            require(self.contest.whole is self.whole, f"{self.id}: commands", self.whole, expected)

    @property
    def held(self) -> Contest:
        if self.contest is None:
            msg = f"{self.id} is not held"
            raise TypeError(msg)
        return self.contest

    @property
    def subject(self) -> str:
        return self.id.removeprefix(f"{self.scenario}#")

    @property
    def variants(self) -> dict[Side, Variant]:
        every = {Side.REFERENCE: self.reference, Side.RIVAL: self.rival}
        return {side: every[side] for side, _ in self.contest.sides} if self.contest else {}

    def check_commands(self, inputs: dict[str, str]) -> None:
        """Expect command lines that name no other files; ``inputs``: suffix by input name."""
        for side, contestant in self.contest.sides if self.contest else ():
            files = name_files(side, inputs=inputs)
            for command in contestant.commands:
                _check_command(f"{self.id}: {contestant.name}", command, files)


class BundleTimes(Value):
    engine: Digest
    criterion: Criterion
    inconclusive: Literal["fail", "warn"]
    base: Line = ""
    """Name of the earlier program that times are compared with; empty: with none."""
    contests: Items[BundleContest]

    def __post_init__(self) -> None:
        require_unique("contests", [contest.id for contest in self.contests])


def _expect_bounded(contest: Contest, where: str) -> None:
    require(is_threads(contest.threads), f"{where}: threads", contest.threads, THREADS)
    for what, time_s in (("timeout_s", contest.timeout_s), ("limit_s", contest.budget.limit_s)):
        fits = time_s is None or 0 < time_s <= LARGEST_DURATION_S
        require(fits, f"{where}: {what}", time_s, "a time that megtrim.yaml can allow")
    require(
        are_variables(contest.environment), f"{where}: environment", contest.environment, VARIABLES
    )
    found = str(contest.tolerance)
    expected = "one that a difference exceeds"
    require(is_bounded(contest.tolerance), f"{where}: tolerance", found, expected)
    times = 0
    for _, contestant in contest.sides:
        commands = contestant.commands
        require(is_name(contestant.name), f"{where}: contestant", contestant.name, A_NAME)
        fits = len(commands) <= _MOST_STEPS
        require(fits, f"{where}: commands", len(commands), f"at most {_MOST_STEPS}")
        for command in commands:
            fits = 1 <= command.iterations <= _MOST_ITERATIONS
            expected = f"1 to {_MOST_ITERATIONS}"
            require(fits, f"{where}: iterations", command.iterations, expected)
            fits = command.step.warmups <= _MOST_WARMUPS
            require(fits, f"{where}: warmups", command.step.warmups, f"at most {_MOST_WARMUPS}")
        of_each = MOST_RUNS
        for last in commands[-1:]:  # which alone is measured
            of_each = last.iterations + last.step.warmups + 1
        times += contest.budget.rounds * of_each
    require(times <= MOST_TIMES, f"{where}: times", times, f"at most {MOST_TIMES}")


def _check_command(where: str, command: StepCommand, files: StepFiles) -> None:
    fits = len(command.argv) <= MOST_ITEMS
    require(fits, f"{where}: arguments", len(command.argv), f"at most {MOST_ITEMS}")
    for argument in command.argv:
        require(is_line(argument), f"{where}: arguments", argument, A_LINE)
    program = command.argv[0] if command.argv else ""
    model = command.argv[1] if len(command.argv) > 1 else ""
    arguments = list(command.argv[2:])
    require(program == files.program, f"{where}: program", program, files.program)
    fits = model in (files.model, files.dumped_model)
    require(fits, f"{where}: model", model, f"{files.model} or {files.dumped_model}")
    # For example, a flag that reads further flags from a file must be refused here, too.
    find_program().check_reserved(_list_others(arguments, files), source=where)


def _list_others(arguments: list[str], files: StepFiles) -> Iterator[str]:
    own = {
        "--fast-run-algo-policy": files.algo_cache,
        "--layout-transform-dump": files.dumped_model,
        "--input": ";".join(f"{name}:{path}" for name, path in files.inputs),
    }
    rest = list(reversed(arguments))
    while rest:
        argument = rest.pop()
        if argument in own and rest and rest[-1] == own[argument]:
            rest.pop()
        elif argument != "--fast-run":  # an experiment, where a search is what is measured
            yield argument
