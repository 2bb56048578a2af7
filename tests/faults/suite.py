"""Runs cases in lanes that work side by side, each a process of its own.

A case is real programs, through the product's own path, on phones of which one goes wrong.
"""

import faulthandler
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faults.matrix import (
    SOFT,
    Case,
    Fault,
    Judged,
    Moment,
    Purpose,
    Seen,
    Verdict,
    full,
    judge,
    short,
)
from faults.record import decode, encode
from faults.world import (
    Files,
    Lane,
    compile_program,
    happened,
    keep_set,
    lane,
    trace_bytes,
    write_files,
)
from megtrim.core.build_spec import Variant
from megtrim.core.keep.trace import TraceFailure
from megtrim.core.parts import hand_in
from megtrim.core.proof.results import VerificationOutcome
from megtrim.core.proof.trap_diagnosis import ProfileProgram
from megtrim.core.proof.verification import VerificationCase, prove
from megtrim.core.trim.runs import tracing
from megtrim.core.trim.runs.execution import RunResult, RunSpec
from megtrim.engines.midout.marks import MidoutTraces
from megtrim.libs.programs.parity import EXACT
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.parts import PARTS
from megtrim.places.devices.device import Lease, Timeouts
from megtrim.places.devices.retry import run_with_retries
from support.haste import scale
from virtual_phone.faults.request import UNDONE_BY
from virtual_phone.faults.request import Fault as PhoneFault

TESTS = Path(__file__).resolve().parents[1]
CASES = "--cases"
_LANE_S = 3 * 3600.0
_TRIES = 3


def _until_hit(case: Case, phones: Lane, compiled: bytes) -> Judged:
    for last in (*([False] * (_TRIES - 1)), True):
        # A job that hangs ends the lane, with a look at where it stood.
        faulthandler.dump_traceback_later(4 * bound_s(SHORT, 3), exit=True)
        judged = judge(case, attempt(case, phones, compiled))
        faulthandler.cancel_dump_traceback_later()
        if last or judged.wrong or not judged.void:
            return judged
    raise AssertionError


def child(numbers: Sequence[int], *, in_short: bool) -> None:
    hand_in(PARTS)
    processes = ProcessRunner(os.environ)
    with tempfile.TemporaryDirectory(prefix="megtrim-faults-") as scratch:
        compiled = compile_program(processes, Path(scratch)).read_bytes()
        with lane(processes, os.getpid(), Path(scratch)) as phones:
            for case in short() if in_short else full():
                if case.number in numbers:
                    judged = _until_hit(case, phones, compiled)
                    sys.stdout.write(json.dumps(encode(judged)) + "\n")
                    sys.stdout.flush()


def run(
    cases: Sequence[Case], *, lanes: int, in_short: bool, tell: Callable[[Judged], None]
) -> tuple[list[Judged], float]:
    found: dict[int, Judged] = {}
    lock = threading.Lock()
    start = time.monotonic()

    def heard(line: str) -> None:
        judged = decode(json.loads(line))
        with lock:
            found[judged.case.number] = judged
            tell(judged)

    def work(share: Sequence[Case]) -> str:
        numbers = ",".join(str(case.number) for case in share)
        argv: tuple[str, ...] = (sys.executable, "-m", "faults", CASES, numbers)
        if in_short:
            argv = (*argv, "--short")
        env = {"PYTHONPATH": os.pathsep.join((str(TESTS), str(TESTS.parent / "ci")))}
        command = Command(argv=argv, env=env, timeout_s=_LANE_S, on_line=heard)
        done = ProcessRunner(os.environ).run(command)
        return "" if done.ok else f"its lane ended with {done.rc}: {done.stderr[-3000:]}"

    shares = [share for share in (cases[first::lanes] for first in range(lanes)) if share]
    with ThreadPoolExecutor(len(shares)) as pool:
        ends = list(pool.map(work, shares))
    for share, end in zip(shares, ends, strict=True):
        for case in share:
            if case.number not in found:
                text = end or "its lane said nothing of it"
                seen = Seen(verdict=Verdict.BUG, text=text, fired=False, wall_s=0.0, bound_s=0.0)
                found[case.number] = judge(case, seen)
                tell(found[case.number])
    return [found[number] for number in sorted(found)], time.monotonic() - start


SHORT = replace(scale(0.1), call_s=4.0, probe_s=2.0, heartbeat_s=1.0, push_base_s=6.0, poll_s=0.2)
"""Waiting times of the suite: a tenth, but for those that a busy machine needs itself."""

_TENTHS = 8
_MODEL_BYTES = 300_000
_MENDED_AFTER_S = 2.5
_STEPS = 7
"""Faults come earlier or later in what they interrupt, one of so many steps, case by case."""
_STEP_BYTES = 16384
_STEP_S = 0.1
_TIMEOUT_S = 30.0
_VALUES = {Fault.SLOW: 4_000_000.0, Fault.BATTERY: 2.0}


def bound_s(timeouts: Timeouts, attempts: int) -> float:
    calls = 12 * timeouts.call_s + 4 * timeouts.transfer_s(_MODEL_BYTES)
    return attempts * (calls + timeouts.reconnect_s + 2 * timeouts.boot_s + _TENTHS)


@dataclass(slots=True, kw_only=True)
class _Work:
    case: Case
    lane: Lane
    files: Files
    runs: int = 0
    armed: bool = False
    outcome: VerificationOutcome | None = None
    trace: bytes | None = None

    def __call__(self, lease: Lease) -> Verdict:
        self._maybe_arm(1)
        spec = RunSpec(
            program=self.files.plain,
            model=self.files.model,
            arguments=(),
            inputs={},
            threads=1,
            timeout_s=_TIMEOUT_S,
        )
        if self.case.way.purpose is Purpose.TRACE:
            spec = spec.with_program(self.files.profile)
            _, self.trace, _ = tracing.trace(
                "model/default@any", spec, MidoutTraces(), lease, lambda _seen: None
            )
            return Verdict.PASS
        trial = VerificationCase(
            spec=spec,
            reduced=self.files.reduced,
            profile=ProfileProgram(program=self.files.profile, traces=MidoutTraces()),
            keep=keep_set(self.case.way.plant),
            tolerance=EXACT,
        )
        self.outcome = prove(trial, lease, self._after_run)
        return Verdict(self.outcome.status)

    def _after_run(self, variant: str, _seen: RunResult) -> None:
        if variant == Variant.PLAIN:
            self._maybe_arm(2)

    def _maybe_arm(self, turn: int) -> None:
        case = self.case
        if self.armed or case.fault is Fault.NONE or turn != case.way.turn:
            return
        self.armed = True
        step = 1 + case.number % _STEPS
        moment: dict[str, Any] = {}
        if case.moment is not Moment.BETWEEN:
            moment["moment"] = case.moment.value
        if case.moment in (Moment.PUSH, Moment.PULL):
            moment["after_bytes"] = step * _STEP_BYTES
        if case.moment is Moment.RUN:
            moment["delay_s"] = step * _STEP_S
        if not case.way.lasting and PhoneFault(case.fault) in UNDONE_BY:
            moment["for_s"] = _MENDED_AFTER_S
        self.lane.first.fault(case.fault, _VALUES.get(case.fault), **moment)


def attempt(case: Case, lane: Lane, compiled: bytes, timeouts: Timeouts = SHORT) -> Seen:
    folder = lane.scratch / f"case-{case.number}"
    shutil.rmtree(folder, ignore_errors=True)
    files = write_files(
        folder, compiled, case.way.plant, case.number, tenths=_TENTHS, size_bytes=_MODEL_BYTES
    )
    work = _Work(case=case, lane=lane, files=files)
    device = lane.device(folder / "state", timeouts, spare=case.way.spare)
    said: list[str] = []
    start = time.monotonic()
    verdict, text, attempts = _verdict(lambda: run_with_retries(device, work, say=said.append))
    wall_s = time.monotonic() - start
    fired = case.fault is Fault.NONE or happened(lane.first, case.fault)
    # Without a fault a job cleans up by itself; after one the next entry does.
    lane.mend(timeouts, enter=case.fault not in SOFT)
    left = lane.left()
    shutil.rmtree(folder, ignore_errors=True)
    outcome = work.outcome
    rows = outcome.outputs if outcome else ()
    return Seen(
        verdict=verdict,
        text=text or (outcome.text if outcome else ""),
        fired=fired,
        wall_s=wall_s,
        bound_s=bound_s(timeouts, device.retries + 1),
        attempts=attempts,
        left=left,
        missing_regions=outcome.missing_regions if outcome else (),
        outputs_equal=bool(rows) and all(row.equal for row in rows),
        trace_whole=work.trace == trace_bytes(),
    )


def _verdict(job: Callable[[], Verdict]) -> tuple[Verdict, str, tuple[str, ...]]:
    try:
        return job(), "", ()
    except InfrastructureFailure as failure:
        return Verdict.INFRASTRUCTURE, failure.message, failure.attempts
    except TraceFailure as failure:
        return Verdict.TRACE, failure.message, ()
    except ProductFailure as failure:
        return Verdict.ENGINE_ERROR, failure.message, ()
    except InputError as failure:
        return Verdict.INPUT_ERROR, failure.message, ()
    except Exception as error:
        return Verdict.BUG, f"{type(error).__name__}: {error}", ()
