"""``megtrim devices quarantine`` and ``restore``: machines that get no jobs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from megtrim.core.cli.echo import show, show_json
from megtrim.lab.cli.inventory import DeviceSelector, InventoryRow
from megtrim.lab.pool.device_pool import PoolState, age
from megtrim.lab.pool.recovery import Author
from megtrim.libs.util.errors import InputError


def quarantine(asked: DeviceSelector, reason: str, as_json: bool) -> None:
    if not reason.strip():
        msg = "--reason: found nothing, expected the reason why the device gets no jobs"
        raise InputError(msg)
    stock = asked.stock()
    rows = []
    for row in asked.select(stock):
        name = row.standing.name
        records = stock.room.records
        put = [records.quarantine(key, name, reason, Author.PERSON) for key in _known_keys(row)]
        text = f"quarantined because {put[0].reason}"
        rows.append({"name": name, "key": row.standing.key, "text": text})
    _tell(rows, as_json=as_json)


def restore(asked: DeviceSelector, as_json: bool) -> None:
    stock = asked.stock()
    remembered = stock.room.records.list_records()
    rows = []
    for name in asked.names:
        keys = {
            record.key: record.name
            for record in remembered
            if name in (record.name, record.key, record.key.partition(":")[2])
        }
        attached = {
            key
            for row in stock.listed
            if not keys.keys().isdisjoint(row.standing.keys)
            for key in row.standing.keys
        }
        keys |= {record.key: record.name for record in remembered if record.key in attached}
        if not keys:
            chosen = replace(asked, names=(name,)).select(stock)
            keys = {key: row.standing.name for row in chosen for key in _known_keys(row)}
        rows += [_lift_quarantine(stock.room, key, keys[key] or name) for key in sorted(keys)]
    _tell(rows, as_json=as_json)


def _lift_quarantine(room: PoolState, key: str, name: str) -> dict[str, Any]:
    moved = room.records.mend(key)
    lifted = room.records.restore(key, Author.PERSON)
    text = "was in no quarantine"
    if lifted is not None:
        lasted = age(room.records.now() - lifted.since)
        text = f"restored after {lasted}; it was put aside because {lifted.reason}"
    elif moved is not None:
        text = f"its record was damaged and is now {moved}; a new one begins"
    return {"name": name, "key": key, "lifted": lifted is not None, "text": text}


def _known_keys(row: InventoryRow) -> tuple[str, ...]:
    standing = row.standing
    if standing.key:
        return standing.keys
    if row.pool is None:
        msg = f"{standing.name} is of kind {standing.kind}, which takes any number of jobs"
        raise InputError(msg, hint="quarantine is for phones and boards")
    msg = f"{standing.name}: no matching machine is attached, so it is not known which one it is"
    raise InputError(msg, hint="attach it, or name it by its serial in the configuration")


def _tell(rows: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        show_json({"devices": rows})
    else:
        show("\n".join("{name}: {text}".format_map(row) for row in rows))
