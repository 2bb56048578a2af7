"""What a scenario costs on a phone over the bare ``adb push``, ``adb shell``, ``adb pull``.

    PYTHONPATH=tests python benchmarks/device_overhead.py
    PYTHONPATH=tests python benchmarks/device_overhead.py SERIAL

A payload of 10 MB that the phone has never seen and a static arm64 program of one second; both
ways bring back its dumped output and its trace. Ours waits for its turn in the pool, as each
scenario of a trim does, and checks, measures and cleans the phone. Both ways take turns, and the
figure to quote is the ratio of the medians. Without a serial a virtual phone is started.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from faults.matrix import Plant
from faults.world import compile_program, model, pool_of, trace_bytes, with_role
from megtrim.core.build_spec import Variant
from megtrim.core.parts import hand_in
from megtrim.core.trim.runs.execution import RunSpec, run_on
from megtrim.core.trim.runs.tracing import leave_trace
from megtrim.engines.midout.marks import MidoutTraces
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.parts import PARTS
from megtrim.places.devices.device import Device, Timeouts
from virtual_phone.adb_server import connect, private_server
from virtual_phone.manager import run_phone
from virtual_phone.spec import PhoneSpec
from virtual_phone.system import rootfs

PAYLOAD_BYTES = 10_000_000
TENTHS = 10
RUNS = 9
TARGET = 1.15
FOLDER = "/data/local/tmp/megtrim-benchmark"
_CALL_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    processes: ProcessRunner
    serial: str
    scratch: Path
    program: Path
    pool: Device

    def payload(self, seed: int) -> Path:
        """Write a model that no phone has seen."""
        path = self.scratch / "model.mge"
        path.write_bytes(model(seed, tenths=TENTHS, size_bytes=PAYLOAD_BYTES))
        return path

    def bare(self, payload: Path) -> float:
        """Do it as one would by hand, in the fewest calls; return the seconds."""
        target = self.scratch / "pulled"
        target.mkdir(exist_ok=True)
        run = f"MIDOUT_OUTPUT=trace.txt ./{self.program.name} model.mge --bin-out-dump ."
        start = time.perf_counter()
        self._adb("push", str(self.program), str(payload), FOLDER)
        self._adb("shell", f"cd {FOLDER} && {run}")
        self._adb("pull", f"{FOLDER}/run0-var1", f"{FOLDER}/trace.txt", str(target))
        seconds = time.perf_counter() - start
        assert (target / "trace.txt").read_bytes() == trace_bytes()
        return seconds

    def ours(self, payload: Path) -> float:
        """Do it as every stage does; return the seconds."""
        spec = RunSpec(
            program=self.program,
            model=payload,
            arguments=(),
            inputs={},
            threads=1,
            timeout_s=_CALL_S,
        )
        start = time.perf_counter()
        with self.pool.reserve() as lease:
            found = run_on(lease, leave_trace(spec, MidoutTraces()))
        seconds = time.perf_counter() - start
        assert found.recorded == trace_bytes()
        assert len(found.outputs) == 1
        return seconds

    def prepare(self) -> None:
        self._adb("shell", f"rm -rf {FOLDER} && mkdir -p {FOLDER}")
        self.ours(self.payload(0))
        self.bare(self.payload(0))

    def clean(self) -> None:
        self._adb("shell", f"rm -rf {FOLDER}")

    def _adb(self, *words: str) -> None:
        argv = ("adb", "-s", self.serial, *words)
        done = self.processes.run(Command(argv=argv, timeout_s=_CALL_S))
        if not done.ok:
            msg = f"{done.stdout}{done.stderr}"
            raise SystemExit(msg)


@contextmanager
def phone(processes: ProcessRunner, serial: str) -> Iterator[tuple[ProcessRunner, str]]:
    if serial:
        yield processes, serial
        return
    files = rootfs.provide(processes)
    wish = PhoneSpec(name=f"benchmark-{os.getpid()}")
    with run_phone(processes, files, wish) as made, private_server(processes) as server:
        connect(processes, server, made.serial)
        yield ProcessRunner({**processes.env, **server.env}), made.serial


def main(serial: str = "") -> None:
    hand_in(PARTS)
    own = ProcessRunner(os.environ)
    with tempfile.TemporaryDirectory() as name, phone(own, serial) as (processes, found):
        scratch = Path(name)
        env = {**processes.env, "MEGTRIM_STATE": str(scratch / "state")}
        program = scratch / "load_and_run"
        compiled = compile_program(own, scratch).read_bytes()
        program.write_bytes(with_role(compiled, Variant.PROFILE, Plant.SOUND, os.getpid()))
        program.chmod(0o755)
        bench = Bench(
            processes=ProcessRunner(env),
            serial=found,
            scratch=scratch,
            program=program,
            pool=pool_of({"phone": found}, ProcessRunner(env), scratch, Timeouts()),
        )
        bench.prepare()
        pairs = []
        for seed in range(1, RUNS + 1):
            ways = (bench.bare, bench.ours)
            # Neither way is always the one that comes second.
            turn = ways if seed % 2 else ways[::-1]
            seconds = {way.__name__: way(bench.payload(2 * seed + n)) for n, way in enumerate(turn)}
            pairs.append((seconds["bare"], seconds["ours"]))
        bench.clean()
    bare_s, ours_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = ours_s / bare_s
    sys.stdout.write(
        f"bare adb push, shell, pull: {bare_s:.2f} s; ours: {ours_s:.2f} s (medians of {RUNS})\n"
        f"ratio: {ratio:.2f} (target: at most {TARGET})\n"
    )
    raise SystemExit(0 if ratio <= TARGET else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
