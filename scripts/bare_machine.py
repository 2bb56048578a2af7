#!/usr/bin/env python3
"""Run a command of the README on a machine with Debian and Python, and nothing else.

usage: sudo python3 scripts/bare_machine.py [OPTION ...] SESSION [ARGUMENT ...]

    sudo python3 scripts/bare_machine.py demo
    sudo python3 scripts/bare_machine.py --again tests

Makes a root folder with mmdebstrap, puts a fresh clone of this checkout's HEAD into it, and runs
`python3 scripts/fresh.py SESSION` there, in namespaces of its own: however the run ends, its
processes and mounts end, too. It uses the machine's network. Exit status: 0 if every run exited
with 0 and left nothing in its clone, else 1; 2 if this machine cannot do it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess  # noqa: TID251 - runs before the package is installed
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
SUITE = "bookworm"
NEEDED = ("mmdebstrap", "unshare", "pivot_root", "setsid", "git")
HOME = Path("root")
LEFT_BY_DESIGN = (".venv/", ".nox/", "out/", "__pycache__/", "_cache/", ".hypothesis/")
"""Suffixes of ignored paths that the sessions create: environments, results, caches."""

_ENTER = """\
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
cd "$1"
pivot_root . .
umount -l .
cd "$2"
shift 2
exec "$@"
"""
"""A plain chroot does not suffice: the virtual phone needs user namespaces, which it forbids."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add, repeated = parser.add_argument, partial(parser.add_argument, action="append", default=[])
    add("--again", action="store_true", help="and in a second clone, with the packages there")
    repeated("--share", metavar="PATH[:PATH]", help="copy a file or folder of this machine")
    repeated("--env", metavar="NAME=VALUE", help="a variable of the run")
    add("session")
    add("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    lacking = [name for name in NEEDED if shutil.which(name, path=_PATH) is None]
    if os.geteuid() != 0 or lacking:
        sys.stderr.write(f"bare_machine.py: needs root and {', '.join(lacking or NEEDED)}\n")
        return 2
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    # Its mounts are in a namespace that ends first: nothing of this machine is below it then.
    with tempfile.TemporaryDirectory(prefix="megtrim-bare-", ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        root.chmod(0o755)
        _say(f"making {root}: Debian {SUITE}, Python")
        if not _make(root, given.share):
            return 2
        numbers = (1, 2) if given.again else (1,)
        runs = [_run(root, number, given) for number in numbers]
    _say("")
    for line, _good in runs:
        _say(line)
    return 0 if all(good for _line, good in runs) else 1


def _make(root: Path, shared: list[str]) -> bool:
    argv = ("mmdebstrap", "--quiet", "--variant=minbase", "--include=python3", SUITE, str(root))
    if subprocess.run(argv, check=False).returncode != 0:
        return False
    for words in (*shared, "/etc/resolv.conf", "/etc/hosts"):
        source, _, name = words.partition(":")
        target = root / (name or source).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if Path(source).is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)
    return True


def _run(root: Path, number: int, given: argparse.Namespace) -> tuple[str, bool]:
    clone = HOME / f"megtrim-{number}"
    source = f"file://{CHECKOUT}"
    subprocess.run(("git", "clone", "--quiet", source, str(root / clone)), check=True)
    words = ("python3", "scripts/fresh.py", given.session, *given.arguments)
    environment = (f"PATH={_PATH}", f"HOME=/{HOME}", "LANG=C.UTF-8", *given.env)
    machine = "bare" if number == 1 else "furnished"
    _say(f"{machine}: {' '.join(words)}")
    began = time.monotonic()
    status = subprocess.run(
        (
            *("unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"),
            *("sh", "-c", _ENTER, "sh", str(root), f"/{clone}"),
            *("env", "-i", *environment, *words),
        ),
        check=False,
    ).returncode
    minutes = (time.monotonic() - began) / 60
    changed = _list_changed(root / clone)
    left = f"left {', '.join(changed)}" if changed else "git status empty"
    line = f"{machine:<11}exit {status:<4}{minutes:>6.1f} min  {left}"
    _say(line)
    return line, status == 0 and not changed


def _list_changed(clone: Path) -> list[str]:
    argv = ("git", "-C", str(clone), "status", "--porcelain", "--ignored")
    status = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line for line in status.splitlines() if not line.endswith(LEFT_BY_DESIGN)]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
