"""Runs a command, and notes whether one of its processes loads the file with a build id.

Started as ``python -I -S watcher.py RECORD BUILD_ID PROGRAM ARGUMENT...``. It traces the command
and all that it starts, and reads the maps of each process when it begins, when a signal reaches it
and when it ends. It exits as the command does.
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
_ENDS_WITH_US = 1 << 20
_ALL_CHILDREN = 0x40000000
_CANNOT = 127
_NOTE = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"
_TRAPS = (signal.SIGILL, signal.SIGTRAP)
_LOOKED_AT = (*_TRAPS, signal.SIGSEGV, signal.SIGABRT)

_libc = ctypes.CDLL(None, use_errno=True)


class LoadWatcher:
    def __init__(self, build_id: str) -> None:
        self.loaded = False
        self.trapped = False
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
        if number in _LOOKED_AT:
            holds = self._read_maps(process)
            self.trapped |= holds and number in _TRAPS
        return number

    def _read_maps(self, process: int) -> bool:
        try:
            lines = Path(f"/proc/{process}/maps").read_text(errors="surrogateescape").splitlines()
        except OSError:
            return False
        files = {line.split(maxsplit=5)[5] for line in lines if "/" in line}
        found = any(self._is_it(file) for file in files)
        self.loaded |= found
        return found

    def _is_it(self, file: str) -> bool:
        if file not in self._known:
            self._known[file] = False
            with suppress(OSError, ValueError):
                self._known[file] = _holds(file, self._note)
        return self._known[file]


def _holds(file: str, note: bytes) -> bool:
    with (
        Path(file).open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content.find(note) >= 0


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
    seen = {"loaded": watcher.loaded, "trapped": watcher.trapped}
    Path(record).write_text(json.dumps(seen), encoding="utf-8")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
