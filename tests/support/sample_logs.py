"""The recorded data, and keep sets made of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from megtrim.models.operators import merge, parse_operator_json
from megtrim.regions.keepset import KeepSet, ScenarioRecord, build_keep_set
from megtrim.regions.trace import read_trace
from support.scenario_records import make_record

DATA = Path(__file__).resolve().parents[1] / "data"
TRACES = tuple(
    f"{folder}/{path.name}"
    for folder in ("traces", "traces-android")
    for path in sorted((DATA / folder).glob("*.trace"))
)
"""Every recorded trace, relative to the data folder."""
JSONS = tuple(f"strip-info/{path.name}" for path in sorted((DATA / "strip-info").glob("*.json")))
"""Every recorded operator JSON, relative to the data folder."""


def record(trace: str) -> ScenarioRecord:
    """Return what a scenario brings whose trace is the recorded one of this name."""
    read = read_trace(DATA / trace)
    return make_record(read.regions, scenario=trace, trace_sha256=read.sha256)


def keep_set(generation: int, names: Sequence[str]) -> KeepSet:
    """Return the keep set of traces and operator JSON in one list, as the engine takes them."""
    infos = [
        (name, info)
        for name in names
        if name.endswith(".json")
        for info in parse_operator_json((DATA / name).read_bytes(), source=name)
    ]
    return build_keep_set(
        generation=generation,
        scenarios=tuple(record(name) for name in names if name.endswith(".trace")),
        operators=merge(infos) if infos else None,
    )


def _cases() -> dict[str, tuple[str, ...]]:
    linux = tuple(name for name in TRACES if name.startswith("traces/"))
    android = tuple(name for name in TRACES if name.startswith("traces-android/"))
    own = {trace: next(name for name in JSONS if _model(name) == _model(trace)) for trace in TRACES}
    return {
        **{f"trace {trace}": (trace,) for trace in TRACES},
        **{f"json {name}": (name,) for name in JSONS},
        **{f"both {trace}": (trace, name) for trace, name in own.items()},
        "merged linux": linux,
        "merged android": android,
        "merged json": JSONS,
        "merged resnet18-s": tuple(n for n in (*TRACES, *JSONS) if _model(n) == "resnet18-s"),
        "merged mobilenet-s": tuple(n for n in (*TRACES, *JSONS) if _model(n) == "mobilenet-s"),
        "merged all": (*TRACES, *JSONS),
    }


def _model(name: str) -> str:
    return name.rpartition("/")[2].partition(".")[0]


CASES = _cases()
"""Header inputs by name: each trace and JSON alone, each trace with its model's JSON, merged."""
