"""``megtrim devices``: list devices, check and use them, and look after them."""

import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click

from megtrim.core.cli.echo import open_console, show, show_json
from megtrim.lab.cli import run as devices_run
from megtrim.lab.cli.inventory import (
    DeviceSelector,
    Inventory,
    InventoryRow,
    facts,
    reserve,
    sought,
)
from megtrim.lab.cli.verbs import PROGRAM
from megtrim.lab.pool.device_pool import MachineState, Pool, PoolState, age, quarantine_machine
from megtrim.lab.pool.recovery import UNAUTHORIZED, Author
from megtrim.libs.util.errors import EXIT_PASS, InfrastructureFailure, InputError
from megtrim.libs.util.strict_json import encode
from megtrim.places.devices.device import ConnectionState, Lease, MachineBusy

_SHELLS = {"adb": "/system/bin/sh", "virtual-phone": "/system/bin/sh"}
_STATUS = 7
_TIMEOUT_S = 30.0
_EMULATED = "qemu"


def list_devices(asked: DeviceSelector, with_facts: bool, as_json: bool) -> None:
    stock = asked.stock()
    listed = asked.select(stock) if asked.narrowed else stock.listed
    known = [facts(row) if with_facts else {} for row in listed]
    if as_json:
        pairs = zip(listed, known, strict=True)
        rows = [_describe(row, stock.room) | {"facts": found} for row, found in pairs]
        show_json({"devices": rows, "note": stock.note})
        return
    show("\n".join(_draw_table(listed, stock, known)) or "no devices")
    if stock.note:
        open_console(quiet=asked.quiet).say(f"phones outside the configuration: {stock.note}")


def _describe(row: InventoryRow, room: PoolState) -> dict[str, Any]:
    standing = row.standing
    now = room.now()
    put = standing.quarantine
    holder = standing.holder
    shown_holder = None
    if holder:
        shown_holder = {"name": holder.name, "pid": holder.pid, "since": holder.since}
    shown_quarantine = None
    if put:
        shown_quarantine = {**encode(put), "since": put.since, "age": age(now - put.since)}
    return {
        "name": standing.name,
        "entry": standing.entry,
        "kind": standing.kind,
        "class": row.entry.cpu_class,
        "key": standing.key,
        "configured": row.entry.configured,
        "state": standing.state,
        "text": standing.text(now),
        "attached": standing.presence,
        "holder": shown_holder,
        "quarantine": shown_quarantine,
    }


def _draw_table(
    listed: Sequence[InventoryRow], stock: Inventory, known: Sequence[dict[str, str]]
) -> Iterator[str]:
    cells = [(row.standing.name, row.standing.kind, row.entry.cpu_class or "-") for row in listed]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row, texts, found in zip(listed, cells, known, strict=True):
        padded = (text.ljust(width) for text, width in zip(texts, widths, strict=True))
        yield "  ".join((*padded, row.standing.text(stock.room.now())))
        if not stock.note and (wanted := sought(row)):
            yield f"    {wanted}"
        yield from (f"    {label}: {value}" for label, value in sorted(found.items()))


def check(asked: DeviceSelector, no_wait: bool, as_json: bool) -> int:
    stock = asked.stock()
    reports = [
        _check_machine(row, stock.room, partial(reserve, row, stock.room, not no_wait))
        for row in asked.select(stock)
    ]
    return _print(reports, as_json)


def recover(asked: DeviceSelector, as_json: bool) -> int:
    stock = asked.stock()
    chosen = asked.select(stock)
    machines = [(row, row.pool) for row in chosen if row.pool is not None]
    if asked.names and not machines:
        names = ", ".join(row.standing.name for row in chosen)
        msg = f"{names}: found no phone and no board, expected one to recover"
        raise InputError(msg, hint="`megtrim devices list` shows all devices")
    fine = () if asked.names else (MachineState.FREE, MachineState.HELD)
    reports = [
        _check_machine(row, stock.room, partial(_recover_machine, row, pool))
        for row, pool in machines
        if row.standing.state not in fine
    ]
    for report in reports:
        report.skipped = False  # what a job held for too long was not recovered
    return _print(reports, as_json)


def run(
    context: click.Context,
    /,
    asked: DeviceSelector,
    put: tuple[Path, ...],
    env: tuple[str, ...],
    timeout_s: int,
    as_json: bool,
) -> int:
    request = devices_run.RunRequest(
        argv=context.meta[PROGRAM],
        put=put,
        env=devices_run.read_variables(env),
        timeout_s=timeout_s,
    )
    stock = asked.stock()
    chosen = asked.select(stock)
    if not asked.narrowed and len({row.entry.name for row in chosen}) > 1:
        known = ", ".join(sorted({row.standing.name for row in chosen}))
        msg = "found no name of a device, expected one: there are several devices"
        raise InputError(msg, hint=f"one of {known}; or --class")
    return devices_run.run(chosen, request, open_console(quiet=asked.quiet), as_json=as_json)


@dataclass(slots=True, kw_only=True)
class CheckReport:
    name: str
    kind: str
    passed: bool = False
    skipped: bool = False
    steps: list[str] = field(default_factory=list)
    """What it did, or was done to it, in order; if it failed, the last one says how."""
    restored: str = ""
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        word = "ok" if self.passed else "failed"
        if self.skipped:
            word = "skipped"
        restored = f"; restored from quarantine ({self.restored})" if self.restored else ""
        return f"{word}  {self.name}: {'; '.join(self.steps)}{restored}"


def _print(reports: Sequence[CheckReport], as_json: bool) -> int:
    if as_json:
        show_json({"devices": [encode(report) | {"text": report.text} for report in reports]})
    else:
        for report in reports:
            show(report.text)
            for label, value in sorted(report.facts.items()):
                show(f"    {label}: {value}")
        if not reports:
            show("nothing to do: every device is free or running a job")
    failed = any(not report.passed and not report.skipped for report in reports)
    return InfrastructureFailure.exit_code if failed else EXIT_PASS


def _check_machine(
    row: InventoryRow, room: PoolState, hold: Callable[[list[str]], AbstractContextManager[Lease]]
) -> CheckReport:
    report = CheckReport(name=row.standing.name, kind=row.standing.kind)
    room.say(f"  check {report.name}")
    try:
        with hold(report.steps) as lease:
            _try_out(lease, report)
            _restore(row, room, report)
    except MachineBusy as busy:
        report.skipped = True
        report.steps.append(busy.message)
    except (InfrastructureFailure, InputError) as failure:
        report.steps.append(failure.message)
    return report


@contextmanager
def _recover_machine(row: InventoryRow, pool: Pool, steps: list[str]) -> Iterator[Lease]:
    with pool.hold(row.standing) as machine:
        result = pool.recover(machine, "")
        steps += result.steps
        if not result.healthy:
            raise InfrastructureFailure(result.verdict)
        yield machine


def _try_out(lease: Lease, report: CheckReport) -> None:
    report.facts = lease.facts()
    report.steps.append("answers")
    with tempfile.TemporaryDirectory() as folder, lease.open() as directory:
        token = secrets.token_hex(32)
        data = Path(folder) / "data"
        data.write_text(token, encoding="utf-8")
        directory.put(data, data.name)
        if directory.get(data.name) != token.encode():
            msg = "a file that was copied there and back differs"
            raise InfrastructureFailure(msg)
        report.steps.append("stores a file")
        if lease.kind != _EMULATED:  # it runs programs of another architecture, and no scripts
            script = Path(folder) / "program"
            shell = _SHELLS.get(lease.kind, "/bin/sh")
            script.write_text(f"#!{shell}\necho {token}\nexit {_STATUS}\n", encoding="utf-8")
            directory.put(script, script.name)
            run = directory.run((script.name,), timeout_s=_TIMEOUT_S)
            if (run.rc, run.stdout.strip()) != (_STATUS, token):
                msg = f"a program that ends with {_STATUS} ended with {run.rc}: {run.stderr[-200:]}"
                raise InfrastructureFailure(msg)
            report.steps.append("runs a program and returns its exact exit status")
    report.passed = True


def _restore(row: InventoryRow, room: PoolState, report: CheckReport) -> None:
    if row.pool is None:
        return
    for key in row.standing.keys:
        lifted = room.records.restore(key, Author.MACHINE)
        if lifted is not None:
            report.restored = lifted.reason
        elif (still := room.records.read(key).quarantine) is not None:
            report.steps.append(
                f"stays in quarantine, where a person put it because {still.reason}: "
                f"`megtrim devices restore {report.name}` lifts that"
            )
            return


def clean(asked: DeviceSelector, attached: bool, as_json: bool) -> int:
    stock = asked.stock(configured=not attached)
    rows = []
    for row in asked.select(stock) if asked.narrowed else stock.listed:
        if row.device is None:
            text = row.standing.text(stock.room.now())
            rows.append({"name": row.standing.name, "state": "failed", "text": text})
        elif row.pool is not None:  # emulators and this machine keep nothing between jobs
            state, text = _clean_machine(row, row.pool, stock.room)
            rows.append({"name": row.standing.name, "state": state, "text": text})
    if as_json:
        show_json({"devices": rows, "note": stock.note})
    else:
        none = f"no phones and no boards: {stock.note}" if stock.note else "no phones and no boards"
        show("\n".join("{state}  {name}: {text}".format_map(row) for row in rows) or none)
    served = any(row["state"] in ("cleaned", "held") for row in rows)
    return EXIT_PASS if served else InfrastructureFailure.exit_code


def _clean_machine(row: InventoryRow, pool: Pool, room: PoolState) -> tuple[str, str]:
    """Return ``cleaned``, ``held`` or ``failed``, and why."""
    standing = row.standing
    if standing.machine is None or standing.presence is ConnectionState.ABSENT:
        return "failed", standing.text(room.now())
    if standing.state is MachineState.UNAUTHORIZED:
        reason = standing.machine.trouble or UNAUTHORIZED
        quarantine_machine(room, standing.machine, reason)
        return "failed", reason
    try:
        with pool.hold(standing, wait=False) as machine:
            try:
                machine.clean()
            except InfrastructureFailure as failure:
                quarantine_machine(room, machine, f"it cannot be cleaned: {failure.message}")
                return "failed", failure.message
    except MachineBusy as busy:
        return "held", busy.message
    return "cleaned", "no programs and no files of megtrim are left"
