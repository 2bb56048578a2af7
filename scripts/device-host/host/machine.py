"""The actual state of this machine, for every kind of resource. Changes nothing."""

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
from host.desired_state import DRAIN, RUNNERS, TOKEN, UNITS, HostState
from host.resources import (
    CONTENT,
    AdbServer,
    Facts,
    File,
    Folder,
    Kit,
    Old,
    Package,
    Prerequisite,
    Resource,
    Runner,
    Touches,
    Unit,
    User,
)
from host.spec import HostSpec

UNPACKED = "unpacked-from"
"""Written last into an unpacked runner: without it, the folder is incomplete."""
_ADB_PLACES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_POWER = frozenset(
    (
        *("adm", "admin", "disk", "docker", "incus", "kvm", "libvirt", "lxd", "plugdev", "root"),
        *("shadow", "staff", "sudo", "systemd-journal", "wheel"),
    )
)
"""Groups of Debian and Ubuntu whose members can become root, or see what jobs must not see."""
_ADB_PORT = 5037
_TIMEOUTS = 6


def inspect_host(spec: HostSpec) -> HostState:
    """Return the facts that decide what else is needed."""
    named = look("apt-cache", "search", "--names-only", "^libicu[0-9]+$").stdout
    newest = max((int(number) for number in re.findall(r"^libicu(\d+) ", named, re.M)), default=0)
    wants = (UNITS / "multi-user.target.wants").glob("megtrim-runner@*.service")
    numbers = (re.fullmatch(r"megtrim-runner@(\d+)\.service", path.name) for path in wants)
    booted = Path("/run/systemd/system").is_dir()
    udev = (Touches.UDEV,) if Path("/run/udev/control").exists() else ()
    return HostState(
        booted=booted,
        listeners=(Touches.SYSTEMD, *udev, Touches.ADB_SERVER) if booted else udev,
        drained=DRAIN.exists(),
        icu=f"libicu{newest}" if newest else "",
        runners=tuple(sorted(RUNNERS.glob("runner-*"))),
        instances=tuple(sorted(int(number[1]) for number in numbers if number)),
        other_adbs=_other_adbs(spec.adb),
    )


def _other_adbs(one: Path) -> tuple[Path, ...]:
    """Return other adb programs on the search path, with links resolved."""
    files = {Path(place, "adb").resolve() for place in _ADB_PLACES}
    return tuple(sorted(file for file in files - {one.resolve()} if file.exists()))


def inspect_resource(resource: Resource, spec: HostSpec) -> Facts | None:
    """Return the actual facts of a resource, or None if it does not exist."""
    match resource:
        case Package():
            return _package(resource)
        case User():
            return _user(resource.name)
        case Folder():
            return _read_owner(resource.path, folder=True)
        case File():
            return _file(resource)
        case Runner():
            mark = resource.path / UNPACKED
            return {"unpacked from": mark.read_text(encoding="ascii")} if mark.is_file() else None
        case Kit():
            return _kit(resource)
        case Unit() | AdbServer():
            return _unit(resource) if isinstance(resource, Unit) else _server(resource)
        case Old():
            return {} if resource.path.exists() else None
        case Prerequisite():
            return _list_prerequisites(resource.path, spec)
        case _:
            assert_never(resource)


def _package(resource: Package) -> Facts | None:
    output = look("dpkg-query", "--show", "--showformat=${db:Status-Status}", resource.name)
    return {"state": output.stdout} if output.rc == 0 and output.stdout == "installed" else None


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
    """Return the groups that give a user rights over this machine; None without such a user."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        return None
    member = {group.gr_name for group in grp.getgrall() if name in group.gr_mem}
    return tuple(sorted(member & _POWER))


def _read_owner(path: Path, *, folder: bool) -> dict[str, str] | None:
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


def _file(resource: File) -> Facts | None:
    facts = _read_owner(resource.path, folder=False)
    if facts is None or resource.path.is_symlink() or not resource.path.is_file():
        return facts
    return {**facts, CONTENT: resource.path.read_text(encoding="utf-8", errors="replace")}


def _kit(resource: Kit) -> Facts | None:
    if not resource.megtrim.exists():
        return None
    output = look("runuser", "-u", resource.user, "--", str(resource.megtrim), "--version")
    return {f"starts as {resource.user}": "yes" if output.rc == 0 else "no"}


def _unit(resource: Unit) -> Facts:
    at_boot = look("systemctl", "is-enabled", resource.name).stdout.strip()
    facts = {"at boot": "enabled" if at_boot == "enabled" else "disabled"}
    if resource.running:
        facts["now"] = look("systemctl", "is-active", resource.name).stdout.strip()
        # A runner that cleans up, or prepares its next job, counts as running.
        if facts["now"] in ("activating", "deactivating") and "@" in resource.name:
            facts["now"] = "active"
    return facts


def _server(resource: AdbServer) -> Facts:
    output = look(str(resource.adb), "version").stdout
    client = re.search(r"Android Debug Bridge version \d+\.\d+\.(\d+)", output)
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
    """Ask the server by its own protocol: a client would start a server, or kill it."""
    try:
        with socket.create_connection(("127.0.0.1", _ADB_PORT), timeout=5) as link:
            link.sendall(b"000chost:version")
            answer = b"".join(iter(lambda: link.recv(64), b""))
    except OSError:
        return None
    found = re.fullmatch(rb"OKAY0004([0-9a-f]{4})", answer)
    return int(found[1], 16) if found else None


def _list_prerequisites(path: Path, spec: HostSpec) -> Facts | None:
    if path == TOKEN:
        facts = _read_owner(path, folder=False)
        return facts and {**facts, "filled": "yes" if path.stat().st_size else "no"}
    if path == spec.checkout:
        facts = _read_owner(path, folder=True)
        open_ = bool(path.stat().st_mode & 0o022)
        return facts and {**facts, "others may write": "yes" if open_ else "no"}
    return {"use": "on the search path"}
