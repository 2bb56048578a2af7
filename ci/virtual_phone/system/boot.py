"""A program: one boot of a phone. It and its adbd end together.

Arguments: the phone's files, which become its /; its CPU; not empty for a root shell.
"""

import os
import select
import signal
import sys
from pathlib import Path
from typing import NoReturn

from virtual_phone.system import kernel

ADBD_PORT = 5555
_ADBD = "/usr/lib/android-sdk/platform-tools/adbd"
_SHELL_UID = 2000
_ENVIRONMENT = {
    "PATH": "/system/bin",
    "HOME": "/data/local/tmp",
    "TMPDIR": "/data/local/tmp",
    "ANDROID_ROOT": "/system",
    "ANDROID_DATA": "/data",
    "SHELL": "/system/bin/sh",
}


def main() -> None:
    top, cpu, rooted = sys.argv[1:]
    kernel.unshare(kernel.CLONE_NEWPID | kernel.CLONE_NEWNS)
    alive, held = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(held)
        _be_first(Path(top), cpu, bool(rooted), alive)
    # Gone with all that it started, before we are: what follows finds its ports and files free.
    signal.signal(signal.SIGTERM, lambda _number, _frame: os.kill(child, signal.SIGKILL))
    os.waitpid(child, 0)


def _be_first(top: Path, cpu: str, rooted: bool, alive: int) -> NoReturn:
    kernel.die_with_parent(signal.SIGKILL)
    if select.select([alive], [], [], 0)[0]:
        os._exit(1)  # the parent was gone before we asked to be signalled
    os.close(alive)
    kernel.mount("proc", top / "proc")
    kernel.bind(top / "phone" / "cpuinfo", top / "proc" / "cpuinfo")
    kernel.bind(top / "phone" / "boot_id", top / "proc/sys/kernel/random/boot_id")
    kernel.move_into(top)
    adbd = os.fork()
    if adbd == 0:
        _be_adbd(cpu, rooted)
    while True:
        ended, status = os.wait()
        if ended == adbd:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _be_adbd(cpu: str, rooted: bool) -> NoReturn:
    if not rooted:
        uid = os.getuid()
        gid = os.getgid()
        kernel.unshare(kernel.CLONE_NEWUSER)
        kernel.become(_SHELL_UID, _SHELL_UID, outer_uid=uid, outer_gid=gid)
    os.setsid()
    # Python ignores this one, and what it ignores stays ignored in every program on the phone.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.umask(0o077 if rooted else 0o002)
    os.execve(_ADBD, ["adbd"], {**_ENVIRONMENT, "QEMU_CPU": cpu})
