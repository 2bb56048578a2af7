"""Whole runs for the contract of the stages: everything is done, and nothing had to be run.

A world is a session in which every task has left files of a few words. What a stage names of it
can then be asked for without a compiler or a device, and compared with what it names after one
fact was changed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import yaml

from megtrim.core import stages
from megtrim.core.build_spec import BuildSpec, EngineIdentity
from megtrim.core.chain.graph import Stage, Task, on_demand, tasks
from megtrim.core.chain.result_store import StageFolder, Store
from megtrim.core.chain.session import Session
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.config.load import load_config
from megtrim.core.config.model import Config
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.proof.results import VerifyResult
from megtrim.core.trim.committed_keepset import write_committed
from megtrim.engines.load_and_run.program import LoadAndRun
from megtrim.engines.midout.header import Scopes
from megtrim.engines.midout.marks import Midout
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.engines.source_texts import SourceTexts
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects.checkout import Checkout
from megtrim.times.plan import perf_tasks
from unit.core.trim.stages import results
from unit.core.trim.stages.fake_device import FakeDevice
from unit.core.trim.stages.support import changed, keep_set, open_session
from unit.lab.evidence.support import brought
from unit.places.compile.projects.support import TOOLCHAIN

CONFIG = """\
version: 1
engine: {kind: sample, cmake: {MGE_WITH_EXAMPLE: true}}
toolchain: {kind: host}
trim: {level: region}
classes: [{name: any}, {name: big, qemu_cpu: cortex-a76}]
devices: [{name: here, kind: local, class: any}, {name: emulated, kind: qemu, class: big}]
applications:
- {name: classify, source: app}
- {name: viewer, source: app, library: shared}
models:
- name: m
  file: m.mge
  strip_info: [m.json, other/m.json]
  also: m.v2.mge
  scenarios:
  - {name: s, inputs: {data: d.npy}, threads: 2, timeout: 90 s}
  - {name: cached, algo_cache: a.cache, classes: [any]}
  - {name: app, application: classify, args: ["{model}"], classes: [any]}
  - {name: view, application: viewer, args: ["{model}"], classes: [any]}
  - {name: tuned, fast_run: true, classes: [any]}
- {name: n, file: n.mge, scenarios: [{name: s, classes: [any]}]}
artifacts: [load_and_run, classify]
budgets:
- {artifact: load_and_run, max: 1 MiB, growth: 16 KiB}
- {artifact: classify, variant: profile, max: 2 MiB}
waivers:
- {budget: load_and_run, bytes: 1 KiB, reason: new model, owner: us, expires: 2027-02-01}
baseline: sizes.json
work: {growth: 1%}
memory: {max: 64 MiB, growth: 5%}
"""
PROGRAMS = ("load_and_run", "classify", "viewer", "other", "libsample_engine.so")
LINKED = ("load_and_run", "classify", "other", "libsample_engine.so")
TODAY = date(2027, 1, 31)
CLANG = replace(
    TOOLCHAIN,
    kind="clang-linux-arm64",
    version="clang 14.0.6",
    settings=(("A", "1"),),
    fp16=True,
    files="f",
    image="i",
)
"""It can do with every means but relocations of its own."""
UNVERIFIED = "verify/m/s@any"
BASES: Mapping[str, Mapping[str, Any]] = {
    "region": {},
    "function": {"level": "function", "optimize": "size"},
    "plain": {"level": "function", "base": "plain"},
    "committed": {},
    "committed functions": {"level": "function"},
    "quick": {"level": "function", "base": "plain"},
    "brought": {},
    "brought functions": {"level": "function"},
    "unverified": {"minimum_size": False},
    "times": {},
}
ENGINES: Mapping[str, Mapping[str, Any]] = {"unverified": {"scopes": Scopes()}}
"""Facts of the engine in some of them: this one has no headers to put regions in."""


class StandIn:
    def __init__(self, real: Real, **facts: Any) -> None:
        self.real = real
        self.facts = facts
        self.kept = facts.get("kept", real.engine.kept)
        self.refusals = real.engine.refusals
        self.kernels = facts.get("kernels", ("src/kern",))
        self.checkout = real.engine.checkout
        self.marks = Midout(
            modes=lambda: facts.get("elemwise_modes", real.modes),
            scopes=lambda: facts.get("scopes", real.scopes),
            texts=real.engine.texts,
        )
        self.models = real.engine.models

    def identity(self) -> EngineIdentity:
        changes = {name: self.facts[name] for name in _IDENTITY if name in self.facts}
        return replace(self.real.identity, **changes)

    @property
    def flags(self) -> LoadAndRun:
        return LoadAndRun(dialect=self.facts.get("dialect", self.real.dialect))

    def library(self, *asked: Any) -> Any:
        return replace(self.real.engine.library(*asked), **self.facts.get("library", {}))

    def make_spec(self, *asked: Any, **more: Any) -> Any:
        return replace(self.real.make_spec(*asked, **more), **self.facts.get("spec", {}))


class Real:
    def __init__(self) -> None:
        self.engine = SampleEngine(find_embedded_source(), ProcessRunner({}))
        self.identity = self.engine.identity()
        self.modes = self.engine.elemwise_modes()
        self.scopes = SourceTexts(self.engine.checkout).scopes
        self.dialect = self.engine.dialect()
        self._specs: dict[str, BuildSpec] = {}

    def make_spec(self, *asked: Any, **more: Any) -> BuildSpec:
        wanted = repr((asked, more))
        if wanted not in self._specs:
            self._specs[wanted] = self.engine.make_spec(*asked, **more)
        return self._specs[wanted]


_IDENTITY = ("kind", "generation", "digest", "commit", "dirty")


@dataclass(frozen=True)
class World:
    name: str
    session: Session
    patches: Mapping[str, str | Callable[..., Any]] = field(default_factory=dict)
    tasks: tuple[Task, ...] = field(init=False)

    def __post_init__(self) -> None:
        config = self.session.config
        now = self.session
        planned = (
            perf_tasks(config)
            if self.name == "times"
            else tasks(
                config,
                committed=now.request.options.committed,
                neighbours=now.request.options.neighbours,
            )
        )
        planned = tuple(
            task
            for task in planned
            if task.stage is not Stage.NEIGHBOURS
            or not (task.scenario and task.scenario.settings.application)
        )
        ids = {task.id for task in planned}
        more = (task for task in on_demand(config) if ids.issuperset(task.needs))
        object.__setattr__(self, "tasks", (*planned, *more))

    def having(self, **changes: Any) -> World:
        fields: dict[str, Any] = {
            "done": self.session.done,
            "failed": self.session.results.failed,
        } | changes
        made = replace(self, session=changed(self.session, **fields))
        ids = {task.id for task in made.tasks}
        done = {id_: folder for id_, folder in fields["done"].items() if id_ in ids}
        made = replace(self, session=changed(made.session, done=done))
        fill(made)
        return made

    def configured(self, path: str, value: Any) -> World:
        config = _changed(self.session.config, path.split("."), value)
        loaded = self.session.request.loaded
        document = replace(loaded.document, sha256="another")
        loaded = replace(loaded, config=config, document=document)
        return self.having(loaded=loaded)

    def edited(self, file: str) -> World:
        folder = self.session.request.loaded.folder
        other = folder.parent / f"edited {file.replace('/', ' ')}" / folder.name
        if not other.exists():
            shutil.copytree(folder, other, ignore=shutil.ignore_patterns("out"))
            (other / file).write_bytes(_edited((other / file).read_bytes()))
        return self.having(loaded=replace(self.session.request.loaded, folder=other))

    def patched(self, **patches: str | Callable[..., Any]) -> World:
        return replace(self, patches={**self.patches, **patches})

    def engine(self, **facts: Any) -> World:
        engine = cast("StandIn", self.session.services.engine)
        return self.having(engine=StandIn(engine.real, **(engine.facts | facts)))

    def found(self, task: str, **facts: Any) -> World:
        folder = self.session.done[task]
        return self._with(task, replace(folder, result=replace(folder.result, **facts)))

    def left(self, task: str, file: str) -> World:
        folder = self.session.done[task]
        if not (folder.path / file).exists():
            return self._with(task, replace(folder, files={**folder.files, file: "f" * 64}))
        path = folder.path.with_name(f"another-{file.replace('/', '-')}")
        shutil.copytree(folder.path, path, dirs_exist_ok=True)
        files = {**folder.files, file: _wrote(path / file, "another text")}
        return self._with(task, replace(folder, path=path, files=files))

    def made_again(self, task: str) -> World:
        """Return it with the same found again: in a folder of another key, and as a log reports."""
        folder = self.session.done[task]
        result = results.measured_again(folder.result)
        logs = {name: "f" * 64 for name in folder.files if name.endswith(".log")}
        files = {**folder.files, **logs}
        return self._with(task, replace(folder, key="another", result=result, files=files))

    def _with(self, task: str, folder: StageFolder) -> World:
        return self.having(done={**self.session.done, task: folder})

    def labels(self) -> dict[str, dict[str, str]]:
        with ExitStack() as patched:
            for name, value in self.patches.items():
                patched.enter_context(patch(name, value))
            return {
                task.id: stages.find_module(task.stage).inputs(task, self.session)
                for task in self.tasks
            }


def worlds(folder: Path) -> Iterator[World]:
    real = Real()
    for name, trim in BASES.items():
        yield _world(folder / name, name, trim, real)


def fill(world: World) -> None:
    done = world.session.done
    for task in world.tasks:
        if task.id not in done and task.id not in world.session.results.failed:
            done[task.id] = _folder(task, world.session.services.store.root / "made")


def _world(folder: Path, name: str, trim: Mapping[str, Any], real: Real) -> World:
    folder.mkdir(parents=True)
    base, _ = open_session(folder)
    _write(folder)
    data = yaml.safe_load(CONFIG) | {"trim": dict(trim)}
    if name.startswith("committed"):
        # What is searched for cannot be repeated.
        del data["models"][0]["scenarios"][-1]
    if name == "unverified":
        data["waivers"] = []  # nothing but the age of a proof depends on the day
    if name == "times":
        # One that can be measured, and one whose flag the program does not know.
        data["perf"] = {"experiments": ["record-1", "nchw4"], "trimming": True}
    (folder / "megtrim.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    loaded = load_config(folder / "megtrim.yaml")
    checkout = Checkout(root=folder, files={"a.cpp": "a"}, commit="", dirty=())
    made = changed(
        base,
        loaded=loaded,
        engine=cast("Any", StandIn(real, **ENGINES.get(name, {}))),
        toolchain=CLANG,
        devices=cast("Any", {"any": FakeDevice("here"), "big": FakeDevice("emulated")}),
        emulators=cast("Any", {"any": FakeDevice(), "big": FakeDevice()}),
        today=TODAY,
        applications={each.name: checkout for each in loaded.config.applications},
        committed=name.startswith("committed"),
        quick=name == "quick",
        neighbours=name != "times",
        baseline=folder / "sizes.json" if name == "quick" else None,
        store=Store(folder / "out"),
    )
    made = changed(made, **_brought(name, loaded.config))
    if name != "quick":  # which is for those who have committed nothing yet
        _commit(made)
    world = World(name, made)
    if name == "committed functions":  # where none is near, a neighbour's run has its labels alone
        world = world.patched(**{"megtrim.times.neighbours.requests.near": lambda *_: ()})
    fill(world)
    return _unverified(world) if name == "unverified" else world


def _write(folder: Path) -> None:
    for name in ("m.mge", "n.mge", "m.v2.mge", "m.json", "other/m.json", "a.cache"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(f"bytes of {name}".encode())
    _wrote(folder / "app/CMakeLists.txt", "")
    (folder / "sizes.json").write_text("{}", encoding="utf-8")
    np.save(folder / "d.npy", np.arange(6, dtype="<f4"))
    shutil.copy(folder / "d.npy", folder / "d.raw")
    shutil.copy(folder / "sizes.json", folder / "copy-of-sizes.json")
    for name in ("m.mge", "d.npy", "a.cache", "sizes.json", "m.v2.mge", "m.json"):
        (folder / f"another-{name}").write_bytes(_edited((folder / name).read_bytes()))


def _commit(made: Session) -> None:
    record = replace(keep_set(1).scenarios[0], functions=("f",), link_sha256="7" * 64)
    for name, ids in (("megtrim/keepset", "s"), ("another-keepset", "st")):
        records = tuple(replace(record, id=f"m/{each}@any") for each in ids)
        keep = KeepSet(
            generation=made.services.engine.identity().generation, scenarios=records, operators=None
        )
        write_committed(made.request.path(Path(name)), keep)


def _brought(name: str, config: Config) -> dict[str, Any]:
    if not name.startswith("brought"):
        return {}
    given = {
        each.id: brought(
            Path("evidence"),
            DeviceIdentity(name="board", kind="adb", facts={}),
            scenario=each.id,
            trace="1" * 64,
            cache="2" * 64,
            functions="3" * 64,
        )
        for each in all_scenarios(config)
    }
    return {"traced" if name == "brought" else "recorded": given}


def _unverified(world: World) -> World:
    """Let a scenario have no result but an earlier one, and a device that is gone."""
    made = world.session
    del made.results.done[UNVERIFIED]
    made.results.failed[UNVERIFIED] = InfrastructureFailure("no phone", attempts=("link lost",))
    earlier = results.sample(VerifyResult)
    name = UNVERIFIED.partition("/")[2]
    made.services.store.ensure(Stage.VERIFY, name, {}, lambda _folder: earlier, VerifyResult)
    return world


def _folder(task: Task, root: Path) -> StageFolder:
    names = _FILES[task.stage]
    left = names(task) if callable(names) else names
    path = root / task.stage / task.name
    files = {name: f"digest of {name} of {task.id}" for name in left}
    if task.stage in (Stage.HEADER, Stage.PROFILE):  # which are read to tell what depends on them
        files = {name: _wrote(path / name, f"text of {name}") for name in left}
    return StageFolder(
        path=path,
        stage=task.stage,
        name=task.name,
        key=f"key of {task.id}",
        inputs={},
        result=results.SAMPLES[results.type_of(task.id)],
        files=files,
    )


def _wrote(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return sha256_file(path)


_BIN = tuple(f"bin/{name}" for name in PROGRAMS)
_FILES: Mapping[Stage, Any] = {
    Stage.BUILD: (*_BIN, "unstripped/load_and_run", "regions.txt", "build.log"),
    Stage.PROFILE: lambda task: ("algo.cache" if "#" in task.name else "trace.txt", "run.log"),
    Stage.HEADER: ("keepset.json", "include/bin_reduce.h", "include/midout.h"),
    Stage.REDUCE: (*_BIN, "build.log"),
    Stage.FUNCTIONS: lambda task: {
        "linked": (
            "links/probed/viewer",
            *(
                f"links/{label}/{name}{end}"
                for label, end in (("unfolded", ""), ("unfolded", ".observables"), ("probed", ""))
                for name in LINKED
            ),
        ),
        "keepset": ("keepset.json",),
    }.get(task.name, ("functions.txt",)),
    Stage.VERIFY: ("plain.log", "reduced.log", "plain/out", "reduced/out"),
    Stage.NEIGHBOURS: (),
    Stage.COUNT: (),
    Stage.SIZE: ("sizes.json",),
    Stage.PERF: (),
    Stage.VERDICT: ("verdict.json",),
    Stage.REPORT: ("junit.xml",),
    Stage.REFERENCES: ("links/referenced/load_and_run",),
}


def _edited(data: bytes) -> bytes:
    """Return other bytes of the same kind: of a keep set another keep set."""
    other = data.replace(b'"threads": 1', b'"threads": 3')
    if data.startswith(b"\x93NUMPY"):
        return data[:-1] + b"\x01"
    return data + b" " if other == data else other


def _changed(section: Any, path: list[str], value: Any) -> Any:
    name, *rest = path
    if isinstance(section, tuple):
        at = int(name)
        new = _changed(section[at], rest, value) if rest else value
        return (*section[:at], new, *section[at + 1 :])
    if isinstance(section, dict):
        return section | {name: value}
    new = _changed(getattr(section, name), rest, value) if rest else value
    return section.model_copy(update={name: new})
