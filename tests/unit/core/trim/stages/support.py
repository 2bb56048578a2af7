import io
import struct
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from megtrim.core.chain.graph import Stage, Task
from megtrim.core.chain.result_store import StageFolder, Store
from megtrim.core.chain.session import Services, Session, TrimRequest
from megtrim.core.checks.invocation import Options
from megtrim.core.config.load import load_config
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.keep.keepset import KeepSet, ScenarioRecord
from megtrim.core.keep.region import Region
from megtrim.core.trim.committed_keepset import write_committed
from megtrim.core.trim.results import HeaderResult
from megtrim.core.trim.runs.execution import RunResult
from megtrim.core.trim.stages import header
from megtrim.engines.midout.header import Scopes
from megtrim.engines.midout.marks import Midout
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.console import Console
from megtrim.libs.util.process import ProcessRunner

CONFIG = """\
version: 1
engine: {kind: sample}
models:
- {name: m, file: m.mge, scenarios: [{name: s}]}
"""
NOTHING = cast(Any, None)
MARKS = Midout(modes=tuple, scopes=Scopes, texts=tuple)
MARKED = cast(Any, SimpleNamespace(marks=MARKS))
"""An engine without sources."""
PARTS = ("request", "services", "results")
HEADER_TASK = Task(stage=Stage.HEADER, name="keepset", needs=())


def open_session(folder: Path, *, accept: bool = False) -> tuple[Session, io.StringIO]:
    (folder / "m.mge").write_bytes(b"model")
    (folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    stream = io.StringIO()
    request = TrimRequest(
        loaded=load_config(folder / "megtrim.yaml"),
        options=Options(accept=accept, records=True),
        today=date(2027, 1, 31),
    )
    services = Services(
        engine=MARKED,
        toolchain=NOTHING,
        builder=NOTHING,
        devices={},
        store=Store(folder / "out"),
        console=Console(stream),
    )
    return Session(request=request, services=services), stream


def changed(session: Session, **changes: Any) -> Session:
    parts = {}
    of_parts = {field.name for name in PARTS for field in fields(getattr(session, name))}
    asked = {field.name for field in fields(Options)} & changes.keys() - of_parts
    if asked:
        given = {name: changes.pop(name) for name in asked}
        changes["options"] = replace(session.request.options, **given)
    for name in PARTS:
        part = getattr(session, name)
        own = {field.name for field in fields(part)} & changes.keys()
        parts[name] = replace(part, **{each: changes.pop(each) for each in own})
    return replace(session, **parts, **changes)


def only_scenario(session: Session) -> Scenario:
    [scenario] = all_scenarios(session.config)
    return scenario


def run(rc: int = 0, *, stderr: str = "", timed_out: bool = False) -> ProgramRun:
    return ProgramRun(
        argv=("load_and_run",), rc=rc, stdout="", stderr=stderr, wall_s=2.0, timed_out=timed_out
    )


def evidence(
    ended: ProgramRun | None = None,
    *,
    trace: bytes | None = None,
    outputs: Mapping[str, bytes] | None = None,
) -> RunResult:
    return RunResult(run=ended or run(), cache=None, outputs=outputs or {}, recorded=trace)


def trace(*numbers: int) -> bytes:
    """Return the trace of a run that executed ``kern<N>`` for each number."""
    lines = [
        f"N6midout6RegionIJNS_4tags4kernESt17integral_constantIiLi{number}EEEEE"
        for number in numbers
    ]
    return "".join(f"{line}\n" for line in ("midout_trace v1", *lines)).encode()


def keep_set(*numbers: int) -> KeepSet:
    """Return the keep set of one scenario that ran ``kern<N>`` for each number."""
    record = ScenarioRecord(
        id="m/s@any",
        model_sha256="a" * 64,
        arguments=("--cpu",),
        inputs=(),
        algo_cache_sha256=None,
        threads=1,
        trace_sha256="b" * 64,
        regions=tuple(sorted(Region("kern", (number,)) for number in numbers)),
    )
    return KeepSet(generation=20220507, scenarios=(record,), operators=None)


def floats(*values: float, shape: tuple[int, ...] | None = None, text: str = "dtype") -> bytes:
    dimensions = shape or (len(values),)
    places = (*dimensions, *([0] * (7 - len(dimensions))))
    head = struct.pack("<III7I", len(text), 0, 7, *places)
    return head + text.encode() + struct.pack(f"<{len(values)}f", *values)


def open_committed(tmp_path: Path, processes: ProcessRunner) -> tuple[Session, io.StringIO]:
    opened, console = open_session(tmp_path)
    engine = SampleEngine(find_embedded_source(), processes)
    return changed(opened, committed=True, engine=engine), console


def commit(session: Session, keep: KeepSet) -> Path:
    path = session.request.path(session.config.keep_set)
    write_committed(path, keep)
    return path


def make_header(session: Session) -> StageFolder:
    named = header.inputs(HEADER_TASK, session)
    return session.services.store.ensure(
        "header",
        "keepset",
        named,
        lambda folder: header.work(HEADER_TASK, session, folder),
        HeaderResult,
    )[0]
