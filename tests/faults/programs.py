"""The arm64 programs and models of a case: one compilation, roles written into the file."""

import random
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from faults.matrix import Plant
from megtrim.build_spec import Variant
from megtrim.regions.keepset import KeepSet, build_keep_set
from megtrim.regions.region import Region
from megtrim.regions.trace import MAGIC, parse_trace
from megtrim.util.process import Command, ProcessRunner
from support.scenario_records import make_record

SOURCE = Path(__file__).with_name("program.cpp")
COMPILER = "aarch64-linux-gnu-g++"
REGIONS = 60
MISSING = 41
"""The region that a planted trap needs, and that is missing in its keep set."""

_ROLE = b"megtrim-role:plain:sound:------------------"


def compile_program(processes: ProcessRunner, folder: Path) -> Path:
    """Compile it, static: a phone has no C library of ours."""
    target = folder / "program"
    flags = ("-std=c++17", "-O1", "-static", "-s")
    command = Command(argv=(COMPILER, *flags, str(SOURCE), "-o", str(target)), timeout_s=120)
    done = processes.run(command)
    if not done.ok:
        raise AssertionError(done.stderr)
    return target


def with_role(compiled: bytes, variant: Variant, plant: Plant, seed: int) -> bytes:
    role = f"megtrim-role:{variant}:{plant}:".encode()
    if compiled.count(_ROLE) != 1:
        msg = f"{SOURCE} holds no role of the expected spelling"
        raise AssertionError(msg)
    return compiled.replace(_ROLE, role.ljust(len(_ROLE), b"-")) + struct.pack("<Q", seed)


def model(seed: int, *, tenths: int, size_bytes: int) -> bytes:
    body, state = _body(tenths, size_bytes)
    number = struct.pack("<Q", seed)
    return body + number + struct.pack("<Q", _digest(number, state))


@lru_cache
def _body(tenths: int, size_bytes: int) -> tuple[bytes, int]:
    # Cases are repeatable; nothing here is a secret.
    body = bytes((tenths,)) + random.Random(0).randbytes(size_bytes - 17)
    return body, _digest(body, 1469598103934665603)


def _digest(data: bytes, value: int) -> int:
    for byte in data:
        value = ((value ^ byte) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return value


def trace_bytes() -> bytes:
    names = (
        f"N6midout6RegionIJNS_4tags11fault_suiteESt17integral_constantIiLi{number}EEEEE"
        for number in range(REGIONS)
    )
    return "".join(f"{line}\n" for line in (MAGIC, *names)).encode()


@lru_cache
def keep_set(plant: Plant) -> KeepSet:
    """Return a keep set of all regions, or without the one that a planted trap needs."""
    trace = parse_trace(trace_bytes(), source="expected trace")
    lost = {Region("fault_suite", (MISSING,))} if plant is Plant.TRAP else set()
    regions = (region for region in trace.regions if region not in lost)
    record = make_record(regions, trace_sha256=trace.sha256)
    return build_keep_set(20220507, [record], None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    plain: Path
    profile: Path
    reduced: Path
    model: Path


def write_files(
    folder: Path, compiled: bytes, plant: Plant, seed: int, *, tenths: int, size_bytes: int
) -> Files:
    paths = {}
    for variant in (Variant.PLAIN, Variant.PROFILE, Variant.REDUCED):
        path = folder / variant / "load_and_run"
        path.parent.mkdir(parents=True)
        path.write_bytes(with_role(compiled, variant, plant, seed))
        paths[variant] = path
    target = folder / "model"
    target.write_bytes(model(seed, tenths=tenths, size_bytes=size_bytes))
    return Files(
        plain=paths[Variant.PLAIN],
        profile=paths[Variant.PROFILE],
        reduced=paths[Variant.REDUCED],
        model=target,
    )
