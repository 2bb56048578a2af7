#!/usr/bin/env python3
r"""Make this Debian or Ubuntu machine a device host: a runner of GitHub's jobs, with phones.

    sudo python3 scripts/device-host/set_up.py --user megtrim --class CLASS \
        --repository OWNER/NAME --runner-archive FILE --runner-sha256 DIGEST [--dry-run | --check]

Run it as often as you like: it changes only what differs. With `@FILE` the arguments come from a
file, one on each line. docs/how-to/set-up-a-device-host.md describes the steps.
Exit status: 0 if nothing differs any more (--dry-run: the changes were printed), 2 for usage,
files, rights or something that only you can provide, 3 if this machine differs (--check) or could
not be changed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from host.apply import apply, digest
from host.commands import make
from host.desired_state import HostState, list_desired
from host.errors import Refusal
from host.machine import inspect_host, inspect_resource
from host.plan import Change, Plan, plan
from host.resources import Prerequisite, differences
from host.spec import HostSpec, parser, read

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent


def main(arguments: list[str]) -> int:
    """Compare, print the differences, apply them unless asked not to, and compare again."""
    reader = parser((__doc__ or "").split("\n\n", 1)[0])
    parsed = reader.parse_args(arguments)
    try:
        spec = read(parsed, checkout=CHECKOUT)
    except argparse.ArgumentTypeError as error:
        reader.error(str(error))
    try:
        expect_possible(spec, os.geteuid(), dry=parsed.dry_run)
        return _host(spec, dry=parsed.dry_run, check=parsed.check)
    except Refusal as refusal:
        sys.stderr.write(f"set_up.py: {refusal}\n")
        return refusal.rc
    except OSError as error:
        sys.stderr.write(f"set_up.py: {error}\n")
        return 3


def _host(spec: HostSpec, *, dry: bool, check: bool) -> int:
    texts = templates()
    there = inspect_host(spec)
    found = _compare(spec, there, texts)
    if not found.changes:
        count = len(list_desired(spec, there, texts))
        _say(f"nothing to change: {count} resources checked")
        return 0
    if check or dry:
        return _show(found, check=check)
    _refuse_for_a_person(found)
    try:
        for change in found.files:
            _do(change, spec)
    finally:
        # Even after a failure: the next run would find the written files correct and notify no one.
        for argv in found.tell:
            make(*argv)
            _say(f"ran:     {' '.join(argv)}")
    for change in found.units:
        _do(change, spec)
    left = _compare(spec, inspect_host(spec), texts)
    for change in left.changes:
        sys.stderr.write(f"set_up.py: still not right: {change}\n")
    if left.changes:
        return 3
    _say("done" if there.booted else "done; systemd does not run here: units start at boot")
    return 0


def _compare(spec: HostSpec, there: HostState, texts: Mapping[str, str]) -> Plan:
    items = list_desired(spec, there, texts)
    return plan(
        [(resource, inspect_resource(resource, spec)) for resource in items],
        listeners=there.listeners,
    )


def _show(found: Plan, *, check: bool) -> int:
    for change in found.files:
        _say(f"{_word(change, check=check)}{change}")
    for argv in () if check else found.tell:
        _say(f"would run:    {' '.join(argv)}")
    for change in found.units:
        _say(f"{_word(change, check=check)}{change}")
    if check:
        _say(f"{len(found.changes)} resources differ")
    return 3 if check else 0


def _word(change: Change, *, check: bool) -> str:
    if change.by_a_person:
        return "yours to do:  "
    return "differs:      " if check else "would change: "


def _refuse_for_a_person(found: Plan) -> None:
    lines = [
        f"{change}\n      {change.resource.hint}"
        for change in found.changes
        if isinstance(change.resource, Prerequisite)
    ]
    if lines:
        msg = "\n  ".join(("nothing was changed: do these first", *lines))
        raise Refusal(msg, rc=2)


def _do(change: Change, spec: HostSpec) -> None:
    # An earlier change may have fixed it: a program starts once its user exists.
    if not differences(change.resource, inspect_resource(change.resource, spec)):
        return
    apply(change.resource)
    _say(f"changed: {change.resource}: {change.lines[0]}")


def expect_possible(spec: HostSpec, uid: int, *, dry: bool) -> None:
    """Raise Refusal for what must fail, before anything is compared. ``dry`` needs no root."""
    if not Path("/etc/debian_version").exists():
        msg = "this is neither Debian nor Ubuntu (there is no /etc/debian_version)"
        raise Refusal(msg, rc=2)
    if uid != 0 and not dry:
        msg = "root is needed: run it with sudo (--dry-run does without)"
        raise Refusal(msg, rc=2)
    if not spec.runner_archive.is_file():
        msg = f"there is no file {spec.runner_archive}"
        raise Refusal(msg, rc=2)
    found = digest(spec.runner_archive)
    if found != spec.runner_sha256:
        msg = f"{spec.runner_archive}: found sha256 {found}, expected {spec.runner_sha256}"
        raise Refusal(msg, rc=2)


def templates() -> dict[str, str]:
    """Return the template files, by name."""
    files = sorted((*(HERE / "templates").iterdir(), *(HERE / "installed").iterdir()))
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.is_file()}


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
