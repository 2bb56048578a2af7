"""What a stage works with: what was asked, what it may use, and the results of earlier tasks."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from megtrim.core.build_spec import Origin, Toolchain
from megtrim.core.chain.graph import Task, tasks
from megtrim.core.chain.made_of import MadeOf
from megtrim.core.chain.result_store import StageFolder, Store
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.checks.invocation import Invocation, Options
from megtrim.core.config.load import LoadedConfig
from megtrim.core.config.model import Config
from megtrim.core.config.scenarios import Scenario
from megtrim.core.evidence.binding import DEVICE_LABEL
from megtrim.core.keep.marks import RegionMarks
from megtrim.core.project import Project
from megtrim.libs.util.console import Console, show_time
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError
from megtrim.libs.util.files import sha256_file, write_atomically
from megtrim.libs.util.input_files import read_text
from megtrim.libs.util.state_folder import state_folder
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects.builder import Builder
from megtrim.places.compile.projects.checkout import Checkout
from megtrim.places.devices.counting import CountingEmulator
from megtrim.places.devices.device import Device

_FILE = "durations.json"
_MOST = 500
"""Tasks that are kept: the last ones."""
_LARGEST_BYTES = 2**20
_LONGEST_S = 1e9


class DurationLog:
    """The last durations of tasks in one setting: engine, toolchain and compilers at once."""

    def __init__(self, file: Path, setting: str) -> None:
        self._file = file
        self._setting = setting

    def add(self, task: str, time_s: float) -> None:
        name = f"{self._setting} {task}"
        former = self._read()
        former.pop(name, None)
        rows = [*former.items(), (name, time_s)]
        with suppress(InfrastructureFailure):
            write_atomically(self._file, json.dumps(dict(rows[-_MOST:]), indent=1))

    def describe(self, tasks: Sequence[str]) -> str:
        """Say what tasks took last time; empty if there are none, or one was never done here."""
        former = self._read()
        took = [former.get(f"{self._setting} {task}") for task in tasks]
        known = [each for each in took if each is not None]
        if not known or len(known) < len(took):
            return ""
        return f"{show_time(sum(known))} when these tasks were last done on this machine"

    def _read(self) -> dict[str, float]:
        try:
            text = read_text(self._file, most_bytes=_LARGEST_BYTES, expected="durations")
            rows = json.loads(text).items()
        except (InputError, ValueError, AttributeError, RecursionError):
            return {}
        return {k: v for k, v in rows if isinstance(v, int | float) and 0 <= v <= _LONGEST_S}


def open_durations(env: Mapping[str, str], setting: str) -> DurationLog | None:
    try:
        return DurationLog(state_folder(env) / _FILE, setting)
    except InputError:
        return None


if TYPE_CHECKING:
    from megtrim.core.evidence.evidence import DeviceResult


class TimesSource(Protocol):
    """Times that devices elsewhere took."""

    def choose(self, asked: Any) -> Any:
        """Return the result of a contest. Raises InfrastructureFailure where none counts."""


class TrimRequest(Value):
    loaded: LoadedConfig
    today: date
    """The day that waivers are judged against."""
    options: Options = field(default_factory=Options)
    origin: Origin = field(default_factory=Origin)
    remembers: bool = False
    """Whether it is compared with the last pass in its folder of results."""
    made_of: MadeOf | None = None
    """The files that it is made of, as they were at first; None: that is not known."""
    private: bool = False
    """What programs print about the sources is not for those who read the reports."""
    invocation: Invocation = field(default_factory=Invocation)
    final: str = ""
    """Where a person finds what `megtrim trim` leaves; empty: a job of GitHub Actions has it."""
    committed_keep_set: str | None = None
    """Digest of the one that is in git as it is; empty: none is; None: there is no repository."""
    uncommitted: tuple[str, ...] = ()
    """Files that the configuration names, relative to it, which git does not know yet."""
    traced: Mapping[str, DeviceResult] = field(default_factory=dict)
    """By scenario: traces that were taken elsewhere and are used as they are."""
    recorded: Mapping[str, DeviceResult] = field(default_factory=dict)
    base: str = ""
    """Name of the earlier program that times are compared with; empty: with none."""
    timed: TimesSource | None = None
    """Times that were taken elsewhere; None: they are taken here."""

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def tasks(self) -> tuple[Task, ...]:
        options = self.options
        return tasks(self.config, committed=options.committed, neighbours=options.neighbours)

    def path(self, relative: Path) -> Path:
        return self.loaded.resolve(relative)


class Services(Value):
    engine: Project
    toolchain: Toolchain
    builder: Builder
    devices: Mapping[str, Device]
    """By CPU class."""
    store: Store
    console: Console
    applications: Mapping[str, Checkout] = field(default_factory=dict)
    """By name: the sources of applications that have a folder of their own."""
    durations: DurationLog | None = None
    emulators: Mapping[str, CountingEmulator] = field(default_factory=dict)
    """By CPU class, where work is counted."""

    @property
    def marks(self) -> RegionMarks:
        """Only what regions alone reach asks for them."""
        marks = self.engine.marks
        if marks is None:
            msg = f"the engine {self.engine.identity().kind} marks no regions"
            raise TypeError(msg)
        return marks

    def device(self, scenario: Scenario) -> Device:
        device = self.devices.get(scenario.cpu_class.name)
        if device is None:
            msg = f"no device represents CPU class {scenario.cpu_class.name}"
            raise InputError(msg, hint="add one under `devices`")
        return device


class TaskResults(Value):
    """What was found so far, by task id: ``done`` and ``failed`` grow as tasks end."""

    done: dict[str, StageFolder] = field(default_factory=dict)
    failed: dict[str, MegtrimError] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    make: Callable[[str], StageFolder | None] | None = None
    """Makes a task that no other depends on when it is asked for; the runner's."""

    def obtain(self, task_id: str) -> StageFolder | None:
        if task_id in self.done or self.make is None:
            return self.done.get(task_id)
        return self.make(task_id)

    def expect(self, task_id: str) -> StageFolder:
        made = self.obtain(task_id)
        if made is None:
            raise self.failed.get(task_id) or InfrastructureFailure(
                f"{task_id} could not be made", hint="the messages above show why"
            )
        return made


class Session(Value):
    request: TrimRequest
    services: Services
    results: TaskResults = field(default_factory=TaskResults)

    @property
    def config(self) -> Config:
        return self.request.config

    @property
    def console(self) -> Console:
        return self.services.console

    @property
    def done(self) -> dict[str, StageFolder]:
        return self.results.done


class StageModule(Protocol):
    def inputs(self, task: Task, session: Session) -> dict[str, str]:
        """Name everything that the result depends on."""

    def work(self, task: Task, session: Session, folder: Path) -> StageResult:
        """Do it, leave files in ``folder``, return the result."""


def binary(folder: StageFolder, name: str) -> Path:
    return folder.file(f"bin/{name}")


def binary_digest(folder: StageFolder, name: str) -> str:
    return folder.files[f"bin/{name}"]


def scenario_inputs(scenario: Scenario, session: Session) -> dict[str, str]:
    settings = scenario.settings
    named = {}
    if scenario.model is not None:
        named["model"] = sha256_file(session.request.path(scenario.model.file))
    named["arguments"] = shlex.join(settings.command)
    named["threads"] = str(settings.threads)
    named["timeout"] = str(settings.timeout_s)
    named |= scenario.judgement.describe()
    for name, path in sorted(scenario.files.items()):
        # A program sees by its name of what kind a file is.
        named[f"input {name}"] = f"{sha256_file(session.request.path(path))} {path.suffix}".rstrip()
    named |= {f"environment {name}": value for name, value in settings.variables}
    if settings.algo_cache is not None:
        named["algorithm cache"] = sha256_file(session.request.path(settings.algo_cache))
    device = session.services.device(scenario).identity()
    return named | {f"{DEVICE_LABEL}{label}": value for label, value in device.items()}
