"""``megtrim devices``: list devices, check and use them, and look after them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from megtrim.cli.devices import check as devices_check
from megtrim.cli.devices import run as devices_run
from megtrim.cli.devices.inventory import (
    DeviceSelector,
    Inventory,
    InventoryRow,
    asking,
    facts,
    sought,
)
from megtrim.cli.echo import open_console, show
from megtrim.devices.pool.device_pool import MachineState, PoolState, age, quarantine_machine
from megtrim.devices.pool.machine import ConnectionState, MachineBusy
from megtrim.devices.pool.recovery import UNAUTHORIZED, Author, Record
from megtrim.util.errors import EXIT_PASS, InfrastructureFailure, InputError
from megtrim.util.value import Value


class _Cleaned(Value):
    name: str
    state: str
    """cleaned, held, or failed."""
    text: str


@click.command(
    epilog="""\b
Examples:
  megtrim devices clean --attached
  megtrim devices clean pixel-6
"""
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--attached", is_flag=True, help="Clean every phone that adb shows, configured or not."
)
@asking
def clean(asked: DeviceSelector, names: tuple[str, ...], attached: bool, as_json: bool) -> int:
    """End stray programs on phones, and remove all files that megtrim copied there.

    Phones that a job holds are skipped. A phone that cannot be cleaned is put in quarantine. Exits
    with 3 if no phone was cleaned and none is held.
    """
    stock = asked.stock(configured=not attached)
    chosen = asked.select_rows(stock, names) if names or asked.narrowed else stock.listed
    # Emulators and this machine keep nothing between jobs.
    phones = [each for each in chosen if each.pool is not None]
    rows = [_clean_machine(each, stock.room) for each in phones]
    if as_json:
        document = {"devices": [asdict(row) for row in rows], "note": stock.note}
        show(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        none = f"no phones: {stock.note}" if stock.note else "no phones"
        show("\n".join(f"{row.state}  {row.name}: {row.text}" for row in rows) or none)
    served = any(row.state in ("cleaned", "held") for row in rows)
    return EXIT_PASS if served else InfrastructureFailure.exit_code


def _clean_machine(listed: InventoryRow, room: PoolState) -> _Cleaned:
    standing, pool = listed.standing, listed.pool
    name = standing.name
    if pool is None or standing.machine is None or standing.presence is ConnectionState.ABSENT:
        return _Cleaned(name=name, state="failed", text=standing.text(room.now()))
    if standing.state is MachineState.UNAUTHORIZED:
        reason = standing.machine.trouble or UNAUTHORIZED
        quarantine_machine(room, standing.machine, reason)
        return _Cleaned(name=name, state="failed", text=reason)
    try:
        with pool.hold(standing, wait=False) as machine:
            try:
                machine.clean()
            except InfrastructureFailure as failure:
                quarantine_machine(room, machine, f"it cannot be cleaned: {failure.message}")
                return _Cleaned(name=name, state="failed", text=failure.message)
    except MachineBusy as busy:
        return _Cleaned(name=name, state="held", text=busy.message)
    return _Cleaned(name=name, state="cleaned", text="no programs and no files of megtrim are left")


@click.command(
    epilog="""\b
Example:
  megtrim devices quarantine pixel-6 --reason "battery is swollen"
"""
)
@click.argument("names", nargs=-1, metavar="NAME...", required=True)
@click.option("--reason", required=True, help="Reason, which `devices list` shows.")
@asking
def quarantine(asked: DeviceSelector, names: tuple[str, ...], reason: str, as_json: bool) -> int:
    """Give devices no more jobs until a person restores them. A running job is not interrupted."""
    if not reason.strip():
        msg = "--reason: found nothing, expected the reason why the device gets no jobs"
        raise InputError(msg)
    stock = asked.stock()
    rows = []
    for each in asked.select_rows(stock, names):
        name, records = each.standing.name, stock.room.records
        put = [records.quarantine(key, name, reason, Author.PERSON) for key in _known_keys(each)]
        rows.append({"name": name, "key": each.standing.key, "reason": put[0].reason})
    _tell(rows, as_json, lambda row: f"{row['name']}: quarantined because {row['reason']}")
    return EXIT_PASS


@click.command(
    epilog="""\b
Example:
  megtrim devices restore pixel-6
"""
)
@click.argument("names", nargs=-1, metavar="NAME...", required=True)
@asking
def restore(asked: DeviceSelector, names: tuple[str, ...], as_json: bool) -> int:
    """Lift a quarantine, whoever set it.

    If the record of a device is damaged, it is moved aside, and a new one is begun.
    """
    stock = asked.stock()
    remembered = stock.room.records.list_records()
    rows = []
    for name in names:
        keys = {each.key: each.name for each in remembered if _means(each, name)}
        attached = {
            key
            for each in stock.listed
            if not keys.keys().isdisjoint(each.standing.keys)
            for key in each.standing.keys
        }
        keys |= {each.key: each.name for each in remembered if each.key in attached}
        if not keys:
            chosen = asked.select_rows(stock, (name,))
            keys = {key: each.standing.name for each in chosen for key in _known_keys(each)}
        rows += [
            _lift_quarantine(stock, key, called or name) for key, called in sorted(keys.items())
        ]
    _tell(rows, as_json, lambda row: f"{row['name']}: {row['text']}")
    return EXIT_PASS


def _lift_quarantine(stock: Inventory, key: str, name: str) -> dict[str, Any]:
    records = stock.room.records
    moved = records.mend(key)
    lifted = records.restore(key, Author.PERSON)
    text = "was in no quarantine"
    if lifted is not None:
        lasted = age(records.now() - lifted.since)
        text = f"restored after {lasted}; it was put aside because {lifted.reason}"
    elif moved is not None:
        text = f"its record was damaged and is now {moved}; a new one begins"
    return {"name": name, "key": key, "lifted": lifted is not None, "text": text}


def _means(record: Record, name: str) -> bool:
    return name in (record.name, record.key, record.key.partition(":")[2])


def _known_keys(listed: InventoryRow) -> tuple[str, ...]:
    standing = listed.standing
    if standing.key:
        return standing.keys
    if listed.pool is None:
        msg = f"{standing.name} is of kind {standing.kind}, which takes any number of jobs"
        raise InputError(msg, hint="quarantine is for phones and boards")
    msg = f"{standing.name}: no matching machine is attached, so it is not known which is meant"
    raise InputError(msg, hint="attach it, or name it by its serial in the configuration")


def _tell(
    rows: Sequence[dict[str, Any]], as_json: bool, line: Callable[[dict[str, Any]], str]
) -> None:
    if as_json:
        show(json.dumps({"devices": list(rows)}, indent=1, ensure_ascii=False))
    else:
        show("\n".join(line(row) for row in rows))


_NAMES = click.argument("names", nargs=-1, metavar="[NAME]...")


@click.group()
def devices() -> None:
    """List devices, check them, run programs on them, and look after them."""


@devices.command(
    "list",
    epilog="""\b
Examples:
  megtrim devices list
  megtrim devices list --facts --class armv82-dotprod
  megtrim devices list --match "ro.product.model=Pixel 6" --json
""",
)
@_NAMES
@click.option(
    "--facts",
    "with_facts",
    is_flag=True,
    help="Also ask each machine for its facts, such as model and temperature.",
)
@asking
def list_devices(
    asked: DeviceSelector, names: tuple[str, ...], with_facts: bool, as_json: bool
) -> int:
    """Print every device with its state, and the reason for it.

    Devices are those of the configuration and all phones that adb shows. A phone under several
    addresses is one device. `free` means that no job holds it; `megtrim devices check` shows
    whether it works.
    """
    stock = asked.stock()
    listed = stock.listed
    if names or asked.narrowed:
        listed = asked.select_rows(stock, names)
    known = {id(each): facts(each) for each in listed} if with_facts else {}
    if as_json:
        rows = [_row(each, stock) | {"facts": known.get(id(each), {})} for each in listed]
        show(json.dumps({"devices": rows, "note": stock.note}, indent=1, ensure_ascii=False))
        return EXIT_PASS
    show("\n".join(_table(listed, stock, known)) or "no devices")
    if stock.note:
        open_console(quiet=asked.quiet).say(f"phones outside the configuration: {stock.note}")
    return EXIT_PASS


def _row(listed: InventoryRow, stock: Inventory) -> dict[str, Any]:
    standing, now = listed.standing, stock.room.now()
    put, holder = standing.quarantine, standing.holder
    return {
        "name": standing.name,
        "entry": standing.entry,
        "kind": standing.kind,
        "class": listed.entry.cpu_class,
        "key": standing.key,
        "configured": listed.entry.configured,
        "state": str(standing.state),
        "text": standing.text(now),
        "attached": str(standing.presence),
        "holder": holder
        and {"name": holder.name, "pid": holder.pid, "since": holder.since.isoformat()},
        "quarantine": put
        and {
            "reason": put.reason,
            "since": put.since.isoformat(),
            "by": str(put.by),
            "age": age(now - put.since),
        },
    }


def _table(
    listed: Sequence[InventoryRow], stock: Inventory, known: dict[int, dict[str, str]]
) -> list[str]:
    now = stock.room.now()
    cells = [
        (each.standing.name, each.standing.kind, each.entry.cpu_class or "-") for each in listed
    ]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(3)]
    lines = []
    for each, row in zip(listed, cells, strict=True):
        padded = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        lines.append(f"{padded}  {each.standing.text(now)}")
        if not stock.note and (wanted := sought(each)):
            lines.append(f"    {wanted}")
        lines += [
            f"    {label}: {value}" for label, value in sorted(known.get(id(each), {}).items())
        ]
    return lines


@devices.command(
    epilog="""\b
Examples:
  megtrim devices check
  megtrim devices check pixel-6 --json
"""
)
@_NAMES
@click.option("--no-wait", is_flag=True, help="Skip devices that a job holds.")
@asking
def check(asked: DeviceSelector, names: tuple[str, ...], no_wait: bool, as_json: bool) -> int:
    """Check that devices answer, store files, and run programs with the exact exit status.

    A device that passes is restored if megtrim itself put it in quarantine; if a person did, a
    person restores it. Exits with 3 if a device fails.
    """
    stock = asked.stock()
    return devices_check.check(
        asked.select_rows(stock, names), stock, wait=not no_wait, as_json=as_json
    )


@devices.command(
    epilog="""\b
Examples:
  megtrim devices recover pixel-6
  megtrim devices recover --class armv82-dotprod
"""
)
@_NAMES
@asking
def recover(asked: DeviceSelector, names: tuple[str, ...], as_json: bool) -> int:
    """Recover devices: reconnect, wait, switch power, reboot; then check them.

    Power is switched if `power` is configured. A device is rebooted once, and at most three times
    a day. Without names: all devices that are not free. Exits with 3 if a device stays offline.
    """
    stock = asked.stock()
    chosen = asked.select_rows(stock, names)
    return devices_check.recover(chosen, stock, every=bool(names), as_json=as_json)


@devices.command(
    cls=devices_run.WithProgram,
    options_metavar="[OPTIONS]",
    epilog="""\b
Examples:
  megtrim devices run pixel-6 -- ./benchmark --threads 4
  megtrim devices run --class armv82-dotprod --repeat 5 --put model.mge -- load_and_run model.mge
""",
)
@click.argument("names", nargs=-1, metavar="[NAME]... -- PROGRAM [ARG]...")
@click.option(
    "--put",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A file to copy next to the program, under its own name; repeatable.",
)
@click.option(
    "--env",
    multiple=True,
    metavar="NAME=VALUE",
    help="Environment variable for the program; repeatable.",
)
@click.option(
    "--timeout",
    "timeout_s",
    metavar="SECONDS",
    type=click.FloatRange(min=0.1),
    default=600.0,
    show_default=True,
    help="Longest that a run may take.",
)
@click.option("--repeat", type=click.IntRange(1, 10_000), default=1, help="Number of runs.")
@asking
@click.pass_context
def run(
    context: click.Context,
    /,
    asked: DeviceSelector,
    names: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> int:
    """Copy a local program to a device, run it there, and print its output.

    The first matching device that is free runs it. Exits with 1 if the program fails, and prints
    its exit status or signal; exits with 3 if the device fails. With --repeat, prints each sample
    with its time and the conditions of the run, and the median of the valid ones. Phones and
    boards measure with their own clock, in steps of 0.01 s.
    """
    request = devices_run.RunRequest(
        argv=context.meta[devices_run.PROGRAM],
        put=given["put"],
        env=devices_run.variables(given["env"]),
        timeout_s=given["timeout_s"],
        repeat=given["repeat"],
    )
    stock = asked.stock()
    console = open_console(quiet=asked.quiet)
    chosen = asked.select_rows(stock, names)
    if not names and not asked.narrowed and len({each.entry.name for each in chosen}) > 1:
        known = ", ".join(sorted({each.standing.name for each in chosen}))
        msg = "found no name of a device, expected one: there are several devices"
        raise InputError(msg, hint=f"one of {known}; or --class, or --match")
    return devices_run.run(chosen, request, console, as_json=as_json)


devices.add_command(clean)
devices.add_command(quarantine)
devices.add_command(restore)
