"""``megtrim devices run``: a local program on a device."""

import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from megtrim.core.cli.echo import show, show_json
from megtrim.lab.cli.inventory import InventoryRow
from megtrim.lab.pool.device_pool import Pool, PoolEntry
from megtrim.libs.programs.exit_status import ProgramRun, RunOutcome, ending, ending_signal
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import EXIT_PASS, InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.value import Value
from megtrim.places.devices.device import Device, Lease, Machine
from megtrim.places.devices.retry import run_with_retries


class RunRequest(Value):
    """What is run. The first word of ``argv`` is a file of this machine."""

    argv: tuple[str, ...]
    put: tuple[Path, ...]
    env: Mapping[str, str]
    timeout_s: int


def read_variables(given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    wrong = next((name for name, equals, _ in pairs if not (name and equals)), None)
    if wrong is not None:
        msg = f"--env: found {wrong!r}, expected NAME=VALUE"
        raise InputError(msg)
    return {name: value for name, _, value in pairs}


def _list_files(request: RunRequest) -> tuple[Path, ...]:
    if not request.argv:
        msg = "found no program, expected [NAME] -- PROGRAM [ARG]..."
        raise InputError(msg, hint="for example megtrim devices run pixel-6 -- ./benchmark")
    program = Path(request.argv[0])
    files = (program, *request.put)
    if not program.is_file():
        msg = f"there is no file {program} on this machine to copy to the device"
        hint = "to run a program that is on the device, give a script that calls it"
        raise InputError(msg, hint=hint)
    missing = next((file for file in request.put if not file.is_file()), None)
    if missing is not None:
        msg = f"--put {missing}: found no file of that name on this machine"
        raise InputError(msg, hint="a file that is on the device already needs no --put")
    names = sorted(file.name for file in files)
    if len(names) > len({*names}):
        msg = f"--put: found a name twice in {', '.join(names)}, expected different names"
        raise InputError(msg, hint="all files are copied to one folder")
    return files


def run(
    chosen: Sequence[InventoryRow], request: RunRequest, console: Console, *, as_json: bool
) -> int:
    files = _list_files(request)
    program = files[0]

    def work(lease: Lease) -> tuple[Lease, ProgramRun]:
        with lease.open() as directory:
            for file in files:
                directory.put(file, file.name)
            return lease, directory.run(
                (program.name, *request.argv[1:]),
                timeout_s=request.timeout_s,
                env=request.env,
                on_line=None if as_json else show,
            )

    lease, ran = run_with_retries(_one_of(chosen), work, say=console.say)
    ended = ending(ran)
    if as_json:
        show_json(
            {
                "device": lease.name,
                "status": ended,
                "rc": ran.rc,
                "signal": ending_signal(ran),
                "time_s": ran.wall_s,
                "stdout": ran.stdout,
                "stderr": ran.stderr,
                "crash": ran.crash,
            }
        )
    elif ended is not RunOutcome.PASSED:
        console.warn(f"{program.name} on {lease.name}: {_describe_ending(ran)}")
        if ran.crash:
            console.say(ran.crash)
    if ended is RunOutcome.KILLED:
        return InfrastructureFailure.exit_code
    return EXIT_PASS if ended is RunOutcome.PASSED else ProductFailure.exit_code


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
    first = next(iter(pools.values()))
    entries = (
        _only(entry, frozenset(keys[number]))
        for number, pool in pools.items()
        for entry in pool.entries
    )
    return Pool(tuple(entries), first.shared, cpu_class=first.cpu_class)


def _only(entry: PoolEntry, keys: frozenset[str]) -> PoolEntry:
    def find() -> Sequence[Machine]:
        return [machine for machine in entry.find() if machine.key in keys]

    return PoolEntry(name=entry.name, kind=entry.kind, find=find)


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
