"""``megtrim devices quarantine`` and ``restore``: what a person decides about a device."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import click

from megtrim.cli.devices.inventory import Inventory, InventoryRow
from megtrim.cli.devices.options import DeviceSelector, asking
from megtrim.cli.echo import show
from megtrim.devices.pool.device_pool import age
from megtrim.devices.pool.quarantine import Author, Record
from megtrim.util.errors import EXIT_PASS, InputError


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
