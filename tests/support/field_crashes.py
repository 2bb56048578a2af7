"""Takes what a phone would report of a crash, from a run under an emulator that waits for gdb.

It speaks just enough of gdb's protocol: run until a signal, then read registers.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from megtrim.util.process import Command, ProcessRunner

_PC = {"aarch64": 32, "x86_64": 16}
_ENTRY = 9
"""Kind of the entry of the auxiliary vector that holds where the program begins in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCrash:
    """What is known of a crash; addresses are those of the process."""

    signal: int
    pc: int
    base: int
    """What was added to the addresses of the file."""


def take_crash(
    program: Path, arguments: Sequence[str], *, machine: str, gate: Path, cwd: Path
) -> FieldCrash | None:
    """Run a program to its end; None if no signal ended it. ``gate`` is a socket that is made."""
    emulator = f"qemu-{machine}-static"
    argv = (emulator, "-g", str(gate), str(program), *arguments)
    command = Command(argv=argv, timeout_s=60, cwd=cwd)
    with ProcessRunner(os.environ).background(command), socket.socket(socket.AF_UNIX) as link:
        return _converse(link, gate, program, machine)


def _converse(link: socket.socket, gate: Path, program: Path, machine: str) -> FieldCrash | None:
    for _ in range(200):
        try:
            link.connect(str(gate))
            break
        except OSError:
            time.sleep(0.05)
    entry = struct.unpack_from("<Q", program.read_bytes(), 24)[0]
    auxiliary = _ask(link, b"qXfer:auxv:read::0,1000")[1:]
    pairs = dict(struct.iter_unpack("<QQ", auxiliary[: len(auxiliary) & ~15]))
    stopped = _ask(link, b"c")
    if not stopped.startswith(b"T"):
        return None
    registers = bytes.fromhex(_ask(link, b"g").decode())
    words = struct.unpack_from("<33Q" if machine == "aarch64" else "<17Q", registers)
    _send(link, b"k")
    return FieldCrash(
        signal=int(stopped[1:3], 16),
        pc=words[_PC[machine]],
        base=pairs[_ENTRY] - entry,
    )


def _send(link: socket.socket, text: bytes) -> None:
    link.sendall(b"$" + text + b"#%02x" % (sum(text) % 256))


def _ask(link: socket.socket, text: bytes) -> bytes:
    _send(link, text)
    data = b""
    while True:
        byte = link.recv(1)
        if not byte:
            return b""
        if byte == b"$":
            data = b""
        elif byte == b"#":
            link.recv(2)
            link.sendall(b"+")
            return _unescape(data)
        else:
            data += byte


def _unescape(data: bytes) -> bytes:
    """Undo the escapes of binary data: ``}`` and the byte with one bit turned."""
    found, rest = bytearray(), iter(data)
    for byte in rest:
        found.append(next(rest) ^ 0x20 if byte == 0x7D else byte)
    return bytes(found)
