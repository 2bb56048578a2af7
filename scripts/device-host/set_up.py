#!/usr/bin/env python3
r"""Make this Debian or Ubuntu machine a device host: a runner of GitHub's jobs, with phones.

    sudo python3 scripts/device-host/set_up.py --user megtrim --class CLASS \
        --repository OWNER/NAME --runner-archive FILE --runner-sha256 DIGEST [--dry-run | --check]

Run it again whenever you like: what is as it should be is left alone. With `@FILE` the arguments
come from a file, one on each line. The steps stand in docs/how-to/set-up-a-device-host.md.
Exit status: 0 all is as it should be (--dry-run: printed), 2 usage, files, rights or something
that only you can bring, 3 this machine differs (--check) or could not be changed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from host.commands import make
from host.items import Given, differences
from host.machine import around, seen
from host.making import digest, put_right
from host.order import Order, parser, read
from host.plan import Change, Plan, plan
from host.refusal import Refusal
from host.wanted import Around, wanted

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent


def main(arguments: list[str]) -> int:
    """Look, say, and unless told otherwise do, and look again."""
    reader = parser((__doc__ or "").split("\n\n", 1)[0])
    parsed = reader.parse_args(arguments)
    try:
        order = read(parsed, checkout=CHECKOUT)
    except argparse.ArgumentTypeError as error:
        reader.error(str(error))
    try:
        refuse_early(order, os.geteuid(), dry=parsed.dry_run)
        return _host(order, dry=parsed.dry_run, check=parsed.check)
    except Refusal as refusal:
        sys.stderr.write(f"set_up.py: {refusal}\n")
        return refusal.rc
    except OSError as error:
        sys.stderr.write(f"set_up.py: {error}\n")
        return 3


def _host(order: Order, *, dry: bool, check: bool) -> int:
    texts = templates()
    there = around(order)
    found = _compare(order, there, texts)
    if not found.changes:
        count = len(wanted(order, there, texts))
        _say(f"nothing to change: {count} things looked at, all as they should be")
        return 0
    if check or dry:
        return _show(found, check=check)
    _refuse_for_a_person(found)
    try:
        for change in found.files:
            _do(change, order)
    finally:
        # Also after a failure: the next run sees nothing wrong with the files that were written.
        for argv in found.tell:
            make(*argv)
            _say(f"told:    {' '.join(argv)}")
    for change in found.units:
        _do(change, order)
    left = _compare(order, around(order), texts)
    for change in left.changes:
        sys.stderr.write(f"set_up.py: still not right: {change}\n")
    if left.changes:
        return 3
    _say("done" if there.booted else "done; systemd does not run here: units start at boot")
    return 0


def _compare(order: Order, there: Around, texts: Mapping[str, str]) -> Plan:
    items = wanted(order, there, texts)
    return plan([(item, seen(item, order)) for item in items], hears=there.hears)


def _show(found: Plan, *, check: bool) -> int:
    for change in found.files:
        _say(f"{_word(change, check=check)}{change}")
    for argv in () if check else found.tell:
        _say(f"would tell:   {' '.join(argv)}")
    for change in found.units:
        _say(f"{_word(change, check=check)}{change}")
    if check:
        _say(f"{len(found.changes)} things are not as they should be")
    return 3 if check else 0


def _word(change: Change, *, check: bool) -> str:
    if change.by_a_person:
        return "yours to do:  "
    return "differs:      " if check else "would change: "


def _refuse_for_a_person(found: Plan) -> None:
    lines = [
        f"{change}\n      {change.item.hint}"
        for change in found.changes
        if isinstance(change.item, Given)
    ]
    if lines:
        msg = "\n  ".join(("nothing was changed: these are yours to do first", *lines))
        raise Refusal(msg, rc=2)


def _do(change: Change, order: Order) -> None:
    # What came before may have put it right: a program starts once its user is there.
    if not differences(change.item, seen(change.item, order)):
        return
    put_right(change.item)
    _say(f"changed: {change.item}: {change.lines[0]}")


def refuse_early(order: Order, uid: int, *, dry: bool) -> None:
    """Refuse what cannot go well, before anything is looked at. ``dry`` needs no root."""
    if not Path("/etc/debian_version").exists():
        msg = "this is neither Debian nor Ubuntu (there is no /etc/debian_version)"
        raise Refusal(msg, rc=2)
    if uid != 0 and not dry:
        msg = "root is needed: run it with sudo (--dry-run does without)"
        raise Refusal(msg, rc=2)
    if not order.runner_archive.is_file():
        msg = f"there is no file {order.runner_archive}"
        raise Refusal(msg, rc=2)
    found = digest(order.runner_archive)
    if found != order.runner_sha256:
        msg = f"{order.runner_archive}: found sha256 {found}, expected {order.runner_sha256}"
        raise Refusal(msg, rc=2)


def templates() -> dict[str, str]:
    """Return the files beside this script, by name."""
    files = sorted((*(HERE / "templates").iterdir(), *(HERE / "installed").iterdir()))
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.is_file()}


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
