"""``megtrim devices run``: a local program on a device, once or several times."""

from __future__ import annotations

import json
import signal
import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from megtrim.cli.devices.inventory import InventoryRow
from megtrim.cli.echo import show
from megtrim.devices import Device, Lease
from megtrim.devices.pool.device_pool import Pool, PoolEntry
from megtrim.devices.pool.machine import Machine
from megtrim.devices.retry import run_with_retries
from megtrim.load_and_run.exit_status import ProgramRun, RunOutcome, ending, ending_signal
from megtrim.util.console import Console
from megtrim.util.errors import EXIT_PASS, InfrastructureFailure, InputError, ProductFailure
from megtrim.util.value import Value

PROGRAM = "megtrim.devices.program"
"""Where a click context keeps what stood behind ``--``."""

_LONGEST_S = 7 * 86_400


class RunRequest(Value):
    """What is run, and how often. The first word of ``argv`` is a file of this machine."""

    argv: tuple[str, ...]
    put: tuple[Path, ...]
    env: Mapping[str, str]
    timeout_s: float
    repeat: int


class _Samples(Value):
    device: str
    facts: Mapping[str, str]
    runs: tuple[ProgramRun, ...]


class WithProgram(click.Command):
    """A command whose line ends with ``-- PROGRAM [ARG]...``, none of which are options."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        here = args.index("--") if "--" in args else len(args)
        context.meta[PROGRAM] = tuple(args[here + 1 :])
        return super().parse_args(context, args[:here])


def variables(given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    wrong = next((name for name, equals, _ in pairs if not (name and equals)), None)
    if wrong is not None:
        msg = f"--env: found {wrong!r}, expected NAME=VALUE"
        raise InputError(msg)
    return {name: value for name, _, value in pairs}


def run(
    chosen: Sequence[InventoryRow], request: RunRequest, console: Console, *, as_json: bool
) -> int:
    if not request.argv:
        msg = "found no program, expected [NAME] -- PROGRAM [ARG]..."
        raise InputError(msg, hint="for example megtrim devices run pixel-6 -- ./benchmark")
    if not 0 < request.timeout_s <= _LONGEST_S:
        msg = f"--timeout: found {request.timeout_s:g} s, expected at most {_LONGEST_S:,} s: a week"
        raise InputError(msg)
    program = Path(request.argv[0])
    if not program.is_file():
        msg = f"there is no file {program} on this machine to copy to the device"
        hint = "to run a program that is on the device, give a script that calls it"
        raise InputError(msg, hint=hint)
    _expect_files(request.put)
    _expect_different_names((program, *request.put))
    device = _one_of(chosen)
    found = run_with_retries(
        device, lambda lease: _work(lease, request, as_json=as_json), say=console.say
    )
    if as_json:
        show(json.dumps(_document(found), indent=1, ensure_ascii=False))
    elif request.repeat > 1:
        show(_summary(found))
    bad = [each for each in found.runs if ending(each) is not RunOutcome.PASSED]
    if bad and not as_json:
        console.warn(f"{program.name} on {found.device}: {_describe_ending(bad[0])}")
        if bad[0].crash:
            console.say(bad[0].crash)
    if bad and all(ending(each) is RunOutcome.KILLED for each in bad):
        return InfrastructureFailure.exit_code
    return ProductFailure.exit_code if bad else EXIT_PASS


def _expect_files(files: Sequence[Path]) -> None:
    missing = next((each for each in files if not each.is_file()), None)
    if missing is not None:
        msg = f"--put {missing}: found no file of that name on this machine"
        raise InputError(msg, hint="a file that is on the device already needs no --put")


def _expect_different_names(files: Sequence[Path]) -> None:
    names = [each.name for each in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        msg = f"--put: found two files of the name {twice}, expected different names"
        raise InputError(msg, hint="all files are copied to one folder")


def _one_of(chosen: Sequence[InventoryRow]) -> Device:
    pools: dict[int, Pool] = {}
    keys: dict[int, set[str]] = {}
    for each in chosen:
        if each.pool is not None:
            pools[id(each.pool)] = each.pool
            keys.setdefault(id(each.pool), set()).add(each.standing.key)
    if not pools:
        device = next((each.device for each in chosen if each.device is not None), None)
        if device is None:
            raise InputError(chosen[0].standing.detail)
        return device
    entries = tuple(
        _only(entry, frozenset(keys[number]))
        for number, pool in pools.items()
        for entry in pool.entries
    )
    first = next(iter(pools.values()))
    return Pool(entries, first.shared, cpu_class=first.cpu_class)


def _only(entry: PoolEntry, keys: frozenset[str]) -> PoolEntry:
    def find() -> Sequence[Machine]:
        return [machine for machine in entry.find() if machine.key in keys]

    return PoolEntry(name=entry.name, kind=entry.kind, find=find)


def _work(lease: Lease, request: RunRequest, *, as_json: bool) -> _Samples:
    program = Path(request.argv[0])
    argv = (program.name, *request.argv[1:])
    facts = lease.facts()
    runs = []
    with lease.open() as directory:
        for file in (program, *request.put):
            directory.put(file, file.name)
        for number in range(1, request.repeat + 1):
            run = directory.run(
                argv,
                timeout_s=request.timeout_s,
                env=request.env,
                on_line=None if as_json else show,
            )
            runs.append(run)
            if not as_json and request.repeat > 1:
                show(f"sample {number}: {_sample(run)}")
    return _Samples(device=lease.name, facts=facts, runs=tuple(runs))


def _sample(run: ProgramRun) -> str:
    ended = "" if ending(run) is RunOutcome.PASSED else f"{_describe_ending(run)}, "
    measured = ", ".join(run.conditions.lines()) if run.conditions else ""
    invalid = _invalid(run)
    parts = [f"{ended}{run.wall_s:.3f} s", measured, f"not valid: {invalid}" if invalid else ""]
    return "; ".join(part for part in parts if part)


def _invalid(run: ProgramRun) -> str:
    """Return why the time of a run does not count; empty if it does."""
    if ending(run) is not RunOutcome.PASSED:
        return "the program failed"
    return run.conditions.invalid if run.conditions else ""


def _describe_ending(run: ProgramRun) -> str:
    if run.timed_out:
        return "it did not end in time and was killed"
    number = ending_signal(run)
    if number is None:
        return f"it ended with status {run.rc}"
    name = f"signal {number}"
    with suppress(ValueError):
        name += f" ({signal.Signals(number).name})"
    return f"it was ended by {name}"


def _median(runs: Sequence[ProgramRun]) -> float | None:
    valid = [each.wall_s for each in runs if not _invalid(each)]
    return statistics.median(valid) if valid else None


def _summary(found: _Samples) -> str:
    valid = sum(not _invalid(each) for each in found.runs)
    median = _median(found.runs)
    of = f"{valid} of {len(found.runs)} samples valid on {found.device}"
    return f"no median: {of}" if median is None else f"median {median:.3f} s: {of}"


def _document(found: _Samples) -> dict[str, Any]:
    return {
        "device": found.device,
        "facts": dict(found.facts),
        "samples": [
            {
                "status": str(ending(each)),
                "rc": each.rc,
                "signal": ending_signal(each),
                "time_s": each.wall_s,
                "valid": not _invalid(each),
                "invalid": _invalid(each),
                "conditions": list(each.conditions.lines()) if each.conditions else [],
                "stdout": each.stdout,
                "stderr": each.stderr,
                "crash": each.crash,
            }
            for each in found.runs
        ],
        "median_s": _median(found.runs),
    }
