"""What is there: every kind of item looked at on this machine. Changes nothing."""

from __future__ import annotations

import grp
import pwd
import re
import socket
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

from host.commands import look
from host.items import (
    CONTENT,
    AdbServer,
    Facts,
    File,
    Folder,
    Given,
    Item,
    Kit,
    Old,
    Package,
    Runner,
    Touches,
    Unit,
    User,
)
from host.order import Order
from host.wanted import DRAIN, RUNNERS, TOKEN, UNITS, Around

UNPACKED = "unpacked-from"
"""Written last into an unpacked runner: without it, the folder is half made."""
_ADB_PLACES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_POWER = frozenset(
    (
        *("adm", "admin", "disk", "docker", "incus", "kvm", "libvirt", "lxd", "plugdev", "root"),
        *("shadow", "staff", "sudo", "systemd-journal", "wheel"),
    )
)
"""Groups of Debian and Ubuntu whose members can become root, or see what a job must not see."""
_ADB_PORT = 5037
_TIMEOUTS = 6


def around(order: Order) -> Around:
    """Look at what decides what else is wanted."""
    named = look("apt-cache", "search", "--names-only", "^libicu[0-9]+$").stdout
    newest = max((int(number) for number in re.findall(r"^libicu(\d+) ", named, re.M)), default=0)
    wants = (UNITS / "multi-user.target.wants").glob("megtrim-runner@*.service")
    numbers = (re.fullmatch(r"megtrim-runner@(\d+)\.service", path.name) for path in wants)
    booted = Path("/run/systemd/system").is_dir()
    udev = (Touches.UDEV,) if Path("/run/udev/control").exists() else ()
    return Around(
        booted=booted,
        hears=(Touches.SYSTEMD, *udev, Touches.ADB_SERVER) if booted else udev,
        drained=DRAIN.exists(),
        icu=f"libicu{newest}" if newest else "",
        runners=tuple(sorted(RUNNERS.glob("runner-*"))),
        instances=tuple(sorted(int(number[1]) for number in numbers if number)),
        other_adbs=_other_adbs(order.adb),
    )


def _other_adbs(one: Path) -> tuple[Path, ...]:
    """Return adbs of the search path that are not the one, by whatever links they are reached."""
    files = {Path(place, "adb").resolve() for place in _ADB_PLACES}
    return tuple(sorted(file for file in files - {one.resolve()} if file.exists()))


def seen(item: Item, order: Order) -> Facts | None:
    """Return what the machine has of an item, or None where it has nothing of it."""
    match item:
        case Package():
            return _package(item)
        case User():
            return _user(item.name)
        case Folder():
            return _owned(item.path, folder=True)
        case File():
            return _file(item)
        case Runner():
            mark = item.path / UNPACKED
            return {"unpacked from": mark.read_text(encoding="ascii")} if mark.is_file() else None
        case Kit():
            return _kit(item)
        case Unit() | AdbServer():
            return _unit(item) if isinstance(item, Unit) else _server(item)
        case Old():
            return {} if item.path.exists() else None
        case Given():
            return _given(item.path, order)
        case _:
            assert_never(item)


def _package(item: Package) -> Facts | None:
    told = look("dpkg-query", "--show", "--showformat=${db:Status-Status}", item.name)
    return {"state": told.stdout} if told.rc == 0 and told.stdout == "installed" else None


def _user(name: str) -> Facts | None:
    strong = strong_groups(name)
    if strong is None:
        return None
    user = pwd.getpwnam(name)
    # Field 2 of `passwd --status`: P has a password; L and NP have none that works.
    state = look("passwd", "--status", name).stdout.split()[1:2]
    return {
        "home": user.pw_dir,
        "shell": user.pw_shell,
        "password": "usable" if state == ["P"] else "locked",
        "groups with power": ", ".join(strong) or "none",
    }


def strong_groups(name: str) -> tuple[str, ...] | None:
    """Return the groups that give a user rights over this machine; None: no such user."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        return None
    member = {group.gr_name for group in grp.getgrall() if name in group.gr_mem}
    return tuple(sorted(member & _POWER))


def _owned(path: Path, *, folder: bool) -> dict[str, str] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    right = stat.S_ISDIR(found.st_mode) if folder else stat.S_ISREG(found.st_mode)
    return {
        "owner": _name(found.st_uid, {user.pw_uid: user.pw_name for user in pwd.getpwall()}),
        "group": _name(found.st_gid, {group.gr_gid: group.gr_name for group in grp.getgrall()}),
        "mode": f"{stat.S_IMODE(found.st_mode):04o}" if right else "of another kind of file",
    }


def _name(number: int, names: Mapping[int, str]) -> str:
    return names.get(number, str(number))


def _file(item: File) -> Facts | None:
    facts = _owned(item.path, folder=False)
    if facts is None or item.path.is_symlink() or not item.path.is_file():
        return facts
    return {**facts, CONTENT: item.path.read_text(encoding="utf-8", errors="replace")}


def _kit(item: Kit) -> Facts | None:
    if not item.megtrim.exists():
        return None
    told = look("runuser", "-u", item.user, "--", str(item.megtrim), "--version")
    return {f"starts as {item.user}": "yes" if told.rc == 0 else "no"}


def _unit(item: Unit) -> Facts:
    at_boot = look("systemctl", "is-enabled", item.name).stdout.strip()
    facts = {"at boot": "enabled" if at_boot == "enabled" else "disabled"}
    if item.running:
        facts["now"] = look("systemctl", "is-active", item.name).stdout.strip()
        # A runner that cleans up, or prepares its next job, is at work.
        if facts["now"] in ("activating", "deactivating") and "@" in item.name:
            facts["now"] = "active"
    return facts


def _server(item: AdbServer) -> Facts:
    told = look(str(item.adb), "version").stdout
    client = re.search(r"Android Debug Bridge version \d+\.\d+\.(\d+)", told)
    server = server_version()
    for _ in range(_TIMEOUTS):
        if server is None:
            time.sleep(0.5)  # its unit may have been started a moment ago
            server = server_version()
    if server is None:
        return {"answers as": "nothing: no server listens there"}
    if client is None or int(client[1]) != server:
        return {"answers as": f"version {server}, the client is {client[1] if client else 'none'}"}
    return {"answers as": "the version of its client"}


def server_version() -> int | None:
    """Ask the server that listens, by its own protocol: a client would start one, or kill it."""
    try:
        with socket.create_connection(("127.0.0.1", _ADB_PORT), timeout=5) as link:
            link.sendall(b"000chost:version")
            answer = b"".join(iter(lambda: link.recv(64), b""))
    except OSError:
        return None
    found = re.fullmatch(rb"OKAY0004([0-9a-f]{4})", answer)
    return int(found[1], 16) if found else None


def _given(path: Path, order: Order) -> Facts | None:
    if path == TOKEN:
        facts = _owned(path, folder=False)
        return facts and {**facts, "filled": "yes" if path.stat().st_size else "no"}
    if path == order.checkout:
        facts = _owned(path, folder=True)
        open_ = bool(path.stat().st_mode & 0o022)
        return facts and {**facts, "others may write": "yes" if open_ else "no"}
    return {"use": "on the search path"}
