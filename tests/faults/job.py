"""A job in a process of its own, so that it can be interrupted and killed.

    python -m faults.job '{"serials": {...}, "state": "...", "program": "...", ...}'

It writes OUT.got when it has its machine, and OUT.done when its program has ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from faults.world import pool_of
from megtrim.devices.device import Timeouts
from megtrim.trim.runs.execution import RunSpec, run_on
from megtrim.util.process import Background, ProcessRunner

GOT, DONE = ".got", ".done"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOrder:
    serials: dict[str, str]
    state: str
    program: str
    model: str
    out: str

    def argv(self) -> tuple[str, ...]:
        return (sys.executable, "-m", "faults.job", json.dumps(asdict(self)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    process: Background
    out: str

    def done(self) -> dict[str, Any]:
        """Return its last report, or zeros if it ended before."""
        path = Path(self.out + DONE)
        if not path.exists():
            return {"lease": "none", "got_s": 0.0, "done_s": 0.0, "outputs": []}
        reported: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return reported


def crossed(reported: Sequence[Mapping[str, Any]]) -> list[str]:
    problems = [
        f"job {n} did not end well" for n, each in enumerate(reported) if not each["done_s"]
    ]
    for lease in sorted({str(each["lease"]) for each in reported}):
        turns = sorted(
            (each for each in reported if each["lease"] == lease), key=lambda each: each["got_s"]
        )
        problems += [
            f"two jobs at once on {lease}"
            for before, after in pairwise(turns)
            if after["got_s"] < before["done_s"]
        ]
    outputs = [tuple(each["outputs"]) for each in reported if each["done_s"]]
    if len(set(outputs)) != len(reported) or not all(len(each) == 1 for each in outputs):
        problems.append("outputs are missing or were mixed up")
    return problems


def main() -> None:
    request = JobOrder(**json.loads(sys.argv[1]))
    processes = ProcessRunner({**os.environ, "MEGTRIM_STATE": request.state})
    device = pool_of(request.serials, processes, Path(request.state), Timeouts())
    work = RunSpec(
        program=Path(request.program),
        model=Path(request.model),
        arguments=(),
        inputs={},
        threads=1,
        timeout_s=60.0,
    )
    with device.reserve() as lease:
        got_s = time.time()
        _tell(request.out + GOT, {"lease": lease.name, "got_s": got_s})
        found = run_on(lease, work)
        digests = [hashlib.sha256(data).hexdigest() for data in found.outputs.values()]
        reported = {"lease": lease.name, "got_s": got_s, "done_s": time.time(), "outputs": digests}
    _tell(request.out + DONE, reported)


def _tell(path: str, value: object) -> None:
    new = Path(path + ".new")
    new.write_text(json.dumps(value), encoding="utf-8")
    new.rename(path)


if __name__ == "__main__":
    main()
