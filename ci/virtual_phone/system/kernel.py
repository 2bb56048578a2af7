"""The few system calls that Python does not know: namespaces, mounts, the parent's death."""

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

_MS_REMOUNT = 32
_MS_BIND = 4096
_MS_REC = 16384
_MS_PRIVATE = 1 << 18
_MNT_DETACH = 2
_PR_SET_PDEATHSIG = 1
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_INTERFACE = struct.Struct("16sH14x")

_LIBC = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    _check_rc(_LIBC.unshare(flags), "unshare")


def become(uid: int, gid: int, *, outer_uid: int, outer_gid: int) -> None:
    """Right after a new user namespace: be ``uid`` in it. The outer ids are those from before."""
    Path("/proc/self/setgroups").write_bytes(b"deny")
    Path("/proc/self/uid_map").write_bytes(b"%d %d 1" % (uid, outer_uid))
    Path("/proc/self/gid_map").write_bytes(b"%d %d 1" % (gid, outer_gid))


def die_with_parent(number: int) -> None:
    """Get this signal when the parent ends. The kernel forgets it where credentials change."""
    _check_rc(_LIBC.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0), "prctl")


def keep_mounts_private() -> None:
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE, None)


def mount(kind: str, target: Path, options: str = "") -> None:
    target.mkdir(parents=True, exist_ok=True)
    _mount(kind, str(target), kind, 0, options or None)


def resize(target: Path, size_bytes: int) -> None:
    """Change the size of a tmpfs. It cannot become smaller than what is in it."""
    _mount("tmpfs", str(target), "tmpfs", _MS_REMOUNT, f"size={size_bytes}")


def bind(source: Path, target: Path) -> None:
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    elif not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    _mount(str(source), str(target), None, _MS_BIND | _MS_REC, None)


def move_into(top: Path) -> None:
    """Make a mount the / of this mount namespace, and forget the one it had.

    Unlike after chroot(2), a further user namespace can be made from there.
    """
    os.chdir(top)
    _check_rc(_LIBC.pivot_root(b".", b"."), f"pivot_root to {top}")
    _check_rc(_LIBC.umount2(b".", _MNT_DETACH), "umount of the old root")
    os.chdir("/")


def set_loopback(*, up: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        name = _INTERFACE.pack(b"lo", 0)
        flags = _INTERFACE.unpack(fcntl.ioctl(door, _SIOCGIFFLAGS, name))[1]
        flags = flags | _IFF_UP if up else flags & ~_IFF_UP
        fcntl.ioctl(door, _SIOCSIFFLAGS, _INTERFACE.pack(b"lo", flags))


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None) -> None:
    encoded = (os.fsencode(source), os.fsencode(target), kind and kind.encode())
    rc = _LIBC.mount(*encoded, ctypes.c_ulong(flags), options and options.encode())
    _check_rc(rc, f"mount {kind or source} on {target}")


def _check_rc(rc: int, what: str) -> None:
    if rc != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
