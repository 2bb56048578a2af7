"""``megtrim devices clean``: phones emptied between jobs."""

import click

from megtrim.cli.devices.inventory import DeviceSelector, InventoryRow, asking
from megtrim.cli.echo import show, show_json
from megtrim.cli.options import examples
from megtrim.devices.device import ConnectionState, MachineBusy
from megtrim.devices.pool.device_pool import MachineState, Pool, PoolState, quarantine_machine
from megtrim.devices.pool.recovery import UNAUTHORIZED
from megtrim.util.errors import EXIT_PASS, InfrastructureFailure


@examples("megtrim devices clean --attached", "megtrim devices clean pixel-6")
@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--attached", is_flag=True, help="Clean every phone that adb shows, configured or not."
)
@asking
def clean(asked: DeviceSelector, attached: bool, as_json: bool) -> int:
    """End stray programs on phones, and remove all files that megtrim copied there.

    Phones that a job holds are skipped. A phone that cannot be cleaned is put in quarantine. Exits
    with 3 if no phone was cleaned and none is held.
    """
    stock = asked.stock(configured=not attached)
    rows = []
    for row in asked.select(stock) if asked.narrowed else stock.listed:
        if row.pool is not None:  # emulators and this machine keep nothing between jobs
            state, text = _clean_machine(row, row.pool, stock.room)
            rows.append({"name": row.standing.name, "state": state, "text": text})
    if as_json:
        show_json({"devices": rows, "note": stock.note})
    else:
        none = f"no phones: {stock.note}" if stock.note else "no phones"
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
