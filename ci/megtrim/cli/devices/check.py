"""``megtrim devices check`` and ``recover``: check devices, and recover those that fail."""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from megtrim.cli.devices.inventory import Inventory, InventoryRow, sought
from megtrim.cli.echo import show
from megtrim.devices import Lease
from megtrim.devices.pool.device_pool import MachineState, PoolState, quarantine_machine
from megtrim.devices.pool.machine import ConnectionState, MachineBusy
from megtrim.devices.pool.recovery import UNAUTHORIZED, Author
from megtrim.util.errors import EXIT_PASS, InfrastructureFailure, InputError

_SHELLS = {"adb": "/system/bin/sh", "virtual-phone": "/system/bin/sh"}
_STATUS = 7
_TIMEOUT_S = 30.0
_EMULATED = "qemu"


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
        word = "skipped" if self.skipped else "ok" if self.passed else "failed"
        restored = f"; restored from quarantine ({self.restored})" if self.restored else ""
        return f"{word}  {self.name}: {'; '.join(self.steps)}{restored}"


def check(chosen: Sequence[InventoryRow], stock: Inventory, *, wait: bool, as_json: bool) -> int:
    return _print([_check_machine(each, stock.room, wait=wait) for each in chosen], as_json=as_json)


def recover(chosen: Sequence[InventoryRow], stock: Inventory, *, every: bool, as_json: bool) -> int:
    machines = [each for each in chosen if each.pool is not None]
    if every and not machines:
        names = ", ".join(each.standing.name for each in chosen)
        msg = f"{names}: found no phone and no board, expected one to recover"
        raise InputError(msg, hint="`megtrim devices list` shows what there is")
    fine = (MachineState.FREE, MachineState.HELD)
    wanted = [each for each in machines if every or each.standing.state not in fine]
    return _print([_recover_machine(each, stock.room) for each in wanted], as_json=as_json)


def _print(reports: Sequence[CheckReport], *, as_json: bool) -> int:
    if as_json:
        rows = [asdict(each) | {"text": each.text} for each in reports]
        show(json.dumps({"devices": rows}, indent=1, ensure_ascii=False))
    else:
        for each in reports:
            show(each.text)
            for label, value in sorted(each.facts.items()):
                show(f"    {label}: {value}")
        if not reports:
            show("nothing to do: every device is free or running a job")
    failed = any(not each.passed and not each.skipped for each in reports)
    return InfrastructureFailure.exit_code if failed else EXIT_PASS


def _check_machine(listed: InventoryRow, room: PoolState, *, wait: bool) -> CheckReport:
    report = CheckReport(name=listed.standing.name, kind=listed.standing.kind)
    room.say(f"  check {report.name}")
    try:
        with _lease(listed, room, wait=wait) as lease:
            _try_out(lease, report)
            _restore(listed, room, report)
    except MachineBusy as busy:
        report.skipped = True
        report.steps.append(busy.message)
    except (InfrastructureFailure, InputError) as failure:
        report.steps.append(failure.message)
    return report


def _recover_machine(listed: InventoryRow, room: PoolState) -> CheckReport:
    report = CheckReport(name=listed.standing.name, kind=listed.standing.kind)
    pool = listed.pool
    if pool is None:
        return report
    try:
        with pool.hold(listed.standing) as machine:
            result = pool.recover(machine, "")
            report.steps += result.steps
            if not result.healthy:
                report.steps.append(result.verdict)
                return report
            _try_out(machine, report)
            _restore(listed, room, report)
    except (InfrastructureFailure, InputError) as failure:
        report.steps.append(failure.message)
    return report


@contextmanager
def _lease(listed: InventoryRow, room: PoolState, *, wait: bool) -> Iterator[Lease]:
    """Hold the device; one that is out of reach is not waited for."""
    standing = listed.standing
    if listed.device is None:
        raise InfrastructureFailure(standing.detail)
    if listed.pool is None:
        with listed.device.reserve() as lease:
            yield lease
        return
    if standing.machine is not None and standing.presence is ConnectionState.UNAUTHORIZED:
        reason = standing.machine.trouble or UNAUTHORIZED
        quarantine_machine(room, standing.machine, reason)
        raise InfrastructureFailure(reason)
    if standing.presence is not ConnectionState.READY:
        if wanted := sought(listed):
            room.say(f"  {wanted}")
        why = standing.detail or (standing.machine.trouble if standing.machine else "")
        detail = f": {why}" if why else ""
        msg = f"it is {standing.presence}{detail}"
        raise InfrastructureFailure(msg)
    with listed.pool.hold(standing, wait=wait) as machine:
        if not machine.alive():
            why = machine.trouble or "`megtrim devices recover` tries to recover it"
            msg = f"it is attached and does not answer: {why}"
            raise InfrastructureFailure(msg)
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


def _restore(listed: InventoryRow, room: PoolState, report: CheckReport) -> None:
    if listed.pool is None:
        return
    for key in listed.standing.keys:
        lifted = room.records.restore(key, Author.MACHINE)
        if lifted is not None:
            report.restored = lifted.reason
        elif (still := room.records.read(key).quarantine) is not None:
            report.steps.append(
                f"stays in quarantine, where a person put it because {still.reason}: "
                f"`megtrim devices restore {report.name}` lifts that"
            )
            return
