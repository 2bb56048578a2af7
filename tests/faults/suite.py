"""Runs cases in lanes that work side by side, each a process of its own."""

import faulthandler
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faults.judge import Judged, Seen, judge
from faults.matrix import Case, Verdict, full, short
from faults.programs import compile_program
from faults.record import decode, encode
from faults.trial import SHORT, attempt, bound_s
from faults.world import Lane, lane
from megtrim.util.process import Command, ProcessRunner

TESTS = Path(__file__).resolve().parents[1]
CASES = "--cases"
_LANE_S = 3 * 3600.0
_TRIES = 3


def chosen(numbers: Sequence[int], *, in_short: bool) -> tuple[Case, ...]:
    cases = short() if in_short else full()
    return tuple(case for case in cases if case.number in numbers)


def run_lane(cases: Sequence[Case], number: int, processes: ProcessRunner) -> Iterator[Judged]:
    with tempfile.TemporaryDirectory(prefix="megtrim-faults-") as scratch:
        compiled = compile_program(processes, Path(scratch)).read_bytes()
        with lane(processes, number, Path(scratch)) as phones:
            for case in cases:
                yield _until_hit(case, phones, compiled)


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
    cases = chosen(numbers, in_short=in_short)
    for judged in run_lane(cases, os.getpid(), ProcessRunner(os.environ)):
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
        words = (CASES, numbers, *(("--short",) if in_short else ()))
        argv = (sys.executable, "-m", "faults", *words)
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
                found[case.number] = judge(case, _lost(end))
                tell(found[case.number])
    return [found[number] for number in sorted(found)], time.monotonic() - start


def _lost(end: str) -> Seen:
    text = end or "its lane said nothing of it"
    return Seen(verdict=Verdict.BUG, text=text, fired=False, wall_s=0.0, bound_s=0.0)
