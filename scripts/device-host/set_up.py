#!/usr/bin/env python3
r"""Make this Debian or Ubuntu machine a device host: a runner of GitHub's jobs, with phones.

    sudo python3 scripts/device-host/set_up.py --user megtrim --class CLASS \
        --repository OWNER/NAME --runner-archive FILE --runner-sha256 DIGEST [--check]

Run it as often as you like: it changes only what differs. With `@FILE` the arguments come from a
file, one on each line. docs/how-to/set-up-a-device-host.md describes the steps.
Exit status: 0 if nothing differs any more, 2 for usage, files, rights or something that only you
can provide, 3 if this machine differs (--check) or could not be changed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from host.desired import HostSpec, inspect_host, list_items, parser, read
from host.items import Item, Refusal, compute_digest, make

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
_COMMANDS = {
    "systemd": (("systemctl", "daemon-reload"),),
    "udev": (
        ("udevadm", "control", "--reload"),
        ("udevadm", "trigger", "--subsystem-match=usb", "--action=change"),
        ("udevadm", "settle", "--timeout=30"),
    ),
    "adb": (("systemctl", "try-restart", "megtrim-adb.service"),),
}
"""In this order."""
Change = tuple[Item, tuple[str, ...]]


def main(arguments: list[str]) -> int:
    reader = parser((__doc__ or "").split("\n\n", 1)[0])
    parsed = reader.parse_args(arguments)
    try:
        spec = read(parsed, checkout=CHECKOUT)
    except argparse.ArgumentTypeError as error:
        reader.error(str(error))
    try:
        expect_possible(spec, is_root=os.geteuid() == 0 or parsed.check)
        return _set_up(spec, check=parsed.check)
    except (Refusal, OSError) as error:
        sys.stderr.write(f"set_up.py: {error}\n")
        return error.rc if isinstance(error, Refusal) else 3


def _set_up(spec: HostSpec, *, check: bool) -> int:
    count, changes = _compare(spec)
    if not changes:
        _say(f"nothing to change: {count} resources checked")
        return 0
    is_booted = inspect_host(spec).is_booted
    listening = {"systemd", "adb"} if is_booted else set()
    if Path("/run/udev/control").exists():
        listening.add("udev")
    commands = list_commands(changes, listening)
    if check:
        _show(changes, commands)
        return 3
    if yours := [change for change in changes if not change[0].make]:
        lines = (f"{_describe(change)}\n      {change[0].hint}" for change in yours)
        msg = "\n  ".join(("nothing was changed: do these first", *lines))
        raise Refusal(msg, rc=2)
    _apply(changes, commands)
    _, left = _compare(spec)
    for change in left:
        sys.stderr.write(f"set_up.py: still not right: {_describe(change)}\n")
    if left:
        return 3
    _say("done" if is_booted else "done; systemd does not run here: units start at boot")
    return 0


def _apply(changes: Sequence[Change], commands: list[tuple[str, ...]]) -> None:
    try:
        for item, _ in changes:
            if not item.is_unit:
                _make(item)
    finally:
        # Even after a failure: the next run would find the written files correct and notify no one.
        for argv in commands:
            make(*argv)
            _say(f"ran:     {' '.join(argv)}")
    for item, _ in changes:
        if item.is_unit:
            _make(item)


def _compare(spec: HostSpec) -> tuple[int, list[Change]]:
    items = list_items(spec, inspect_host(spec), read_templates())
    compared = [(item, item.list_differences()) for item in items]
    return len(items), [change for change in compared if change[1]]


def list_commands(changes: Sequence[Change], listening: set[str]) -> list[tuple[str, ...]]:
    """Only for those that run here."""
    names = {name for item, _ in changes for name in item.notify} & listening
    return [argv for name, commands in _COMMANDS.items() if name in names for argv in commands]


def _describe(change: Change) -> str:
    item, lines = change
    return "\n      ".join((f"{item.name}: {lines[0]}", *lines[1:]))


def _show(changes: Sequence[Change], commands: list[tuple[str, ...]]) -> None:
    for are_units in (False, True):
        for item, differences in changes:
            if item.is_unit is are_units:
                word = "would change: " if item.make else "yours to do:  "
                _say(f"{word}{_describe((item, differences))}")
        for argv in () if are_units else commands:
            _say(f"would run:    {' '.join(argv)}")
    _say(f"{len(changes)} resources differ")


def _make(item: Item) -> None:
    # An earlier change may have fixed it: a program starts once its user exists.
    differences = item.list_differences()
    if differences and item.make:
        item.make()
        _say(f"changed: {item.name}: {differences[0]}")


def expect_possible(spec: HostSpec, *, is_root: bool) -> None:
    if not Path("/etc/debian_version").exists():
        msg = "this is neither Debian nor Ubuntu (there is no /etc/debian_version)"
        raise Refusal(msg, rc=2)
    if not is_root:
        msg = "root is needed: run it with sudo (--check does without)"
        raise Refusal(msg, rc=2)
    if not spec.runner_archive.is_file():
        msg = f"there is no file {spec.runner_archive}"
        raise Refusal(msg, rc=2)
    found = compute_digest(spec.runner_archive)
    if found != spec.runner_sha256:
        msg = f"{spec.runner_archive}: found sha256 {found}, expected {spec.runner_sha256}"
        raise Refusal(msg, rc=2)


def read_templates() -> dict[str, str]:
    files = (*(HERE / "templates").iterdir(), *(HERE / "installed").iterdir())
    return {path.name: path.read_text(encoding="utf-8") for path in files if path.is_file()}


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
