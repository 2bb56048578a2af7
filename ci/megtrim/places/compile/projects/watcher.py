"""Runs a command, and notes whether one of its processes loads the file with a build id.

It also notes where the first trap in that file was, and what was in the register of the first
argument. Started as ``python -I -S watcher.py RECORD BUILD_ID PROGRAM ARGUMENT...``. It traces the
command and all that it starts, and reads the maps of each process when it begins, when a signal
reaches it and when it ends. It exits as the command does.
"""

import ctypes
import json
import mmap
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

_TRACE_ME = 0
_CONTINUE = 7
_SET_OPTIONS = 0x4200
_FORK = 1
_VFORK = 2
_CLONE = 3
_EXEC = 4
_EXIT = 6
_GET_REGISTERS = 0x4204
_GENERAL = 1
"""What the kernel calls the set of general registers."""
_MOST_REGISTERS = 64
_PLACE_AND_ARGUMENT = {"x86_64": (16, 14), "aarch64": (32, 0)}
"""Where the set has the address of the trap, and the first argument: rip and rdi, pc and x0."""
_ENDS_WITH_US = 1 << 20
_ALL_CHILDREN = 0x40000000
_CANNOT = 127
_NOTE = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"
_TRAPS = (signal.SIGILL, signal.SIGTRAP)
_LOOKED_AT = (*_TRAPS, signal.SIGSEGV, signal.SIGABRT)

_libc = ctypes.CDLL(None, use_errno=True)


class _Buffer(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("size", ctypes.c_size_t))


class LoadWatcher:
    def __init__(self, build_id: str) -> None:
        self.loaded = False
        self.trapped = False
        self.place: int | None = None
        self.argument = 0
        self._note = _NOTE + bytes.fromhex(build_id)
        self._known: dict[str, bool] = {}
        self._seen: set[int] = set()

    def watch(self, main: int) -> int:
        options = _ENDS_WITH_US
        for event in (_FORK, _VFORK, _CLONE, _EXEC, _EXIT):
            options |= 1 << event
        os.waitpid(main, 0)
        _ptrace(_SET_OPTIONS, main, options)
        _ptrace(_CONTINUE, main, 0)
        self._seen.add(main)
        while True:
            process, status = os.waitpid(-1, _ALL_CHILDREN)
            if not os.WIFSTOPPED(status):
                if process == main:
                    return os.waitstatus_to_exitcode(status)
                continue
            _ptrace(_CONTINUE, process, self._look(process, status))

    def _look(self, process: int, status: int) -> int:
        """Return the signal that the process is to get; 0: none."""
        event = status >> 16
        number = os.WSTOPSIG(status)
        is_new = process not in self._seen
        self._seen.add(process)
        if event:
            if event in (_EXEC, _EXIT):
                self._read_maps(process)
            return 0
        if is_new and number == signal.SIGSTOP:
            return 0
        if number in _LOOKED_AT and self._read_maps(process) and number in _TRAPS:
            # A trap outside of the file may be harmless, as of a check what the processor has.
            if self.place is None:
                self._note_place(process)
            self.trapped = True
        return number

    def _note_place(self, process: int) -> None:
        numbers = _PLACE_AND_ARGUMENT.get(os.uname().machine)
        registers = _read_registers(process)
        if numbers is None or not registers:
            return
        address = registers[numbers[0]]
        for start, end, offset, file in _list_maps(process):
            if start <= address < end and self._is_it(file):
                self.place = address - start + offset
                self.argument = registers[numbers[1]]

    def _read_maps(self, process: int) -> bool:
        found = any(self._is_it(file) for *_, file in _list_maps(process))
        self.loaded |= found
        return found

    def _is_it(self, file: str) -> bool:
        if file not in self._known:
            self._known[file] = False
            with suppress(OSError, ValueError):
                self._known[file] = _holds(file, self._note)
        return self._known[file]


def _list_maps(process: int) -> list[tuple[int, int, int, str]]:
    """Return where each file is: first address, end, offset in the file, path."""
    try:
        # A path may hold all that ends a line of text; the kernel writes a newline in it as \012.
        lines = Path(f"/proc/{process}/maps").read_bytes().split(b"\n")
    except OSError:
        return []
    found = []
    for line in lines:
        if b"/" in line:
            addresses, _, offset, _, _, file = line.split(maxsplit=5)
            start, end = addresses.split(b"-")
            found.append((int(start, 16), int(end, 16), int(offset, 16), os.fsdecode(file)))
    return found


def _holds(file: str, note: bytes) -> bool:
    with (
        Path(file).open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content.find(note) >= 0


def _read_registers(process: int) -> list[int]:
    registers = (ctypes.c_uint64 * _MOST_REGISTERS)()
    buffer = _Buffer(ctypes.addressof(registers), ctypes.sizeof(registers))
    failed = _libc.ptrace(_GET_REGISTERS, process, _GENERAL, ctypes.byref(buffer))
    return [] if failed else list(registers)


def _ptrace(request: int, process: int, value: int) -> None:
    _libc.ptrace(request, process, None, ctypes.c_void_p(value))


def main(argv: list[str]) -> int:
    record, build_id, *command = argv
    child = os.fork()
    if not child:
        _ptrace(_TRACE_ME, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
        os._exit(_CANNOT)
    watcher = LoadWatcher(build_id)
    code = watcher.watch(child)
    seen = {
        "loaded": watcher.loaded,
        "trapped": watcher.trapped,
        "place": watcher.place,
        "argument": watcher.argument,
    }
    Path(record).write_text(json.dumps(seen), encoding="utf-8")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
