"""The jobs of a matrix: the scenarios of each CPU class, split into shards. Pure.

GitHub accepts at most 256 jobs in one matrix. If more would be needed, all jobs grow evenly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from megtrim.core.config.config_id import DEFAULT_CONFIG, NAME_PATTERN, id_of, infix_of
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

MOST_JOBS = 256
PER_JOB = 20

_NAME = re.compile(NAME_PATTERN.strip("^$"))
_SHARD = re.compile(r"([1-9][0-9]{0,2})/([1-9][0-9]{0,2})")

T = TypeVar("T")


class Shard(Value):
    """The ``index``-th (from 1) of ``count`` parts."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        match = _SHARD.fullmatch(text)
        numbers = (int(match[1]), int(match[2])) if match else (1, 0)
        if not numbers[0] <= numbers[1] <= MOST_JOBS:
            msg = f"--shard: found {text[:60]!r}, expected I/N such as 1/3, of at most {MOST_JOBS}"
            raise InputError(msg, hint="use the one that `megtrim ci evidence pack` wrote")
        return cls(index=numbers[0], count=numbers[1])

    def of(self, items: Sequence[T]) -> tuple[T, ...]:
        return tuple(items[self.index - 1 :: self.count])


class MatrixEntry(Value):
    cpu_class: str
    shard: Shard
    artifact: str
    config_id: str = ""

    def as_json(self) -> dict[str, str]:
        return {
            "name": " ".join(filter(None, (self.config_id, self.cpu_class, str(self.shard)))),
            "class": self.cpu_class,
            "shard": str(self.shard),
            "artifact": self.artifact,
        }


def entries(
    counts: Mapping[str, int], *, per_job: int, artifact: str, config: str = DEFAULT_CONFIG
) -> tuple[MatrixEntry, ...]:
    for name in counts:
        if len(name) > 200 or _NAME.fullmatch(name) is None:
            msg = f"CPU class {name[:60]!r} cannot be part of a job's name"
            raise InputError(msg, hint="use letters, digits, '.', '_' and '-'")
    wanted = {name: count for name, count in sorted(counts.items()) if count}
    if len(wanted) > MOST_JOBS:
        msg = f"found {len(wanted)} CPU classes, expected at most {MOST_JOBS}: one job for each"
        raise InputError(msg, hint="let similar CPUs share a class")
    size = per_job
    while sum(_jobs(count, size) for count in wanted.values()) > MOST_JOBS:
        size += 1
    config_id = id_of(config)
    prefix = f"{artifact}{infix_of(config)}"
    found = []
    for name, count in wanted.items():
        jobs = _jobs(count, size)
        for index in range(1, jobs + 1):
            shard = Shard(index=index, count=jobs)
            artifact_name = f"{prefix}{name}-{index}"
            entry = MatrixEntry(
                cpu_class=name, shard=shard, artifact=artifact_name, config_id=config_id
            )
            found.append(entry)
    return tuple(found)


def _jobs(count: int, size: int) -> int:
    return -(-count // size)
