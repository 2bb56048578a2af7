"""A session whose programs are built: files with a few words, in the store where stages look."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from megtrim.core.chain.graph import HEADER, LINKED, PLAIN, PROFILE, REDUCED
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.config.load import load_config
from megtrim.core.trim.results import UnfoldedLinksResult
from megtrim.places.devices.device import Device
from unit.core.trim.stages.fake_device import GOOD, FakeDevice
from unit.core.trim.stages.fake_device import PROFILE as TRACES
from unit.core.trim.stages.results import sample, type_of
from unit.core.trim.stages.support import MARKS, changed, open_session

CONFIG = """\
version: 1
engine: {kind: sample}
classes: [{name: any}, {name: big, qemu_cpu: cortex-a76}]
devices:
- {name: board, kind: local, class: any, runner: true}
- {name: here, kind: local, class: any}
- {name: emulated, kind: qemu, class: big}
models:
- name: m
  file: m.mge
  scenarios:
  - {name: s, inputs: {data: d.npy}, threads: 2, timeout: 90 s}
  - {name: t, classes: [any]}
"""
PROGRAMS = {PLAIN: GOOD, PROFILE: TRACES, REDUCED: GOOD + "stderr reduced\n"}
KEEP = "keep set"
LINK = "7" * 64
OBSERVABLES = f"megtrim observables v1\nlink {LINK}\n_Z3foov\nlogged\nmain\none\nrun run2\ntwo\n"
OBSERVED = {"links/unfolded/load_and_run.observables": OBSERVABLES}
LINKS = {
    "links/unfolded/load_and_run": "unfolded",
    "links/probed/load_and_run": "probed",
    **OBSERVED,
}


def built(
    folder: Path,
    *,
    config: str = CONFIG,
    programs: Mapping[str, str] = PROGRAMS,
    keep: str = KEEP,
    devices: Mapping[str, FakeDevice] | None = None,
    **changes: Any,
) -> Session:
    folder.mkdir(parents=True, exist_ok=True)
    base, _ = open_session(folder)
    (folder / "d.npy").write_bytes(b"numbers")
    (folder / "megtrim.yaml").write_text(config, encoding="utf-8")
    given = devices or {"any": FakeDevice("here"), "big": FakeDevice("emulated")}
    identity = SimpleNamespace(generation=20220507)
    made = changed(
        base,
        loaded=load_config(folder / "megtrim.yaml"),
        engine=cast("Any", SimpleNamespace(identity=lambda: identity, kept=(), marks=MARKS)),
        toolchain=cast("Any", SimpleNamespace(machine="aarch64", sysroot=None)),
        devices=cast("Mapping[str, Device]", given),
        **changes,
    )
    for task, text in programs.items():
        finish(made, task, {"bin/load_and_run": text})
    finish(made, HEADER, {"keepset.json": keep})
    return made


def finish(
    made: Session,
    task: str,
    files: Mapping[str, str],
    named: Mapping[str, str] | None = None,
    **found: Any,
) -> StageFolder:
    """Let a task have left ``files``, name and text, and a result with these facts.

    ``named`` are its inputs, else the files. Bytes that are no text are surrogates.
    """
    stage, _, task_name = task.partition("/")

    def produce(folder: Path) -> StageResult:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return sample(kind, **found)

    kind = type_of(task)
    inputs = {name: ascii(text) for name, text in files.items()} if named is None else named
    made.results.done[task] = made.services.store.ensure(
        stage, task_name, dict(inputs), produce, kind
    )[0]
    return made.results.done[task]


def linked(
    folder: Path,
    *,
    config: str = CONFIG,
    trim: str = "level: function",
    links: Mapping[str, str] = LINKS,
) -> Session:
    made = built(folder, config=f"{config}trim: {{{trim}}}\n")
    left = finish(made, LINKED, links)
    made.results.done[LINKED] = replace(
        left, result=UnfoldedLinksResult(links={"load_and_run": LINK})
    )
    return made
