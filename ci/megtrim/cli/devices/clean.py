"""``megtrim devices clean``: remove what earlier jobs left on phones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click

from megtrim.cli.devices.inventory import InventoryRow
from megtrim.cli.devices.options import DeviceSelector, asking
from megtrim.cli.echo import show
from megtrim.devices.pool.device_pool import MachineState, PoolState, quarantine_machine
from megtrim.devices.pool.machine import ConnectionState, MachineBusy, SupportsCleanup
from megtrim.devices.pool.recovery import UNAUTHORIZED, trouble
from megtrim.util.errors import EXIT_PASS, InfrastructureFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cleaned:
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
    _tell(rows, stock.note, as_json=as_json)
    served = any(row.state in ("cleaned", "held") for row in rows)
    return EXIT_PASS if served else InfrastructureFailure.exit_code


def _tell(rows: Sequence[_Cleaned], note: str, *, as_json: bool) -> None:
    if as_json:
        document = {"devices": [asdict(row) for row in rows], "note": note}
        show(json.dumps(document, indent=1, ensure_ascii=False))
        return
    none = f"no phones: {note}" if note else "no phones"
    show("\n".join(f"{row.state}  {row.name}: {row.text}" for row in rows) or none)


def _clean_machine(listed: InventoryRow, room: PoolState) -> _Cleaned:
    standing, pool = listed.standing, listed.pool
    name = standing.name
    if pool is None or standing.machine is None or standing.presence is ConnectionState.ABSENT:
        return _Cleaned(name=name, state="failed", text=standing.text(room.now()))
    if standing.state is MachineState.UNAUTHORIZED:
        reason = trouble(standing.machine) or UNAUTHORIZED
        quarantine_machine(room, standing.machine, reason)
        return _Cleaned(name=name, state="failed", text=reason)
    try:
        with pool.hold(standing, wait=False) as machine:
            if not isinstance(machine, SupportsCleanup):
                return _Cleaned(name=name, state="failed", text=f"a {machine.kind} has no clean-up")
            try:
                machine.clean()
            except InfrastructureFailure as failure:
                quarantine_machine(room, machine, f"it cannot be cleaned: {failure.message}")
                return _Cleaned(name=name, state="failed", text=failure.message)
    except MachineBusy as busy:
        return _Cleaned(name=name, state="held", text=busy.message)
    return _Cleaned(name=name, state="cleaned", text="no programs and no files of megtrim are left")
