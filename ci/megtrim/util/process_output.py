"""Reads a program's output in the background, line by line, keeping a bounded part of it.

The reading thread owns the pipe and the log: a program that ended may have left them open in
another process that no one waits for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

from megtrim.util.errors import InfrastructureFailure, room_hint

CAPTURE_LIMIT_BYTES = 16 * 1024 * 1024
"""What is kept of each stream. If a program prints more, the middle is dropped."""

_LINE_LIMIT_BYTES = 65536


class Stream:
    """Reads one pipe to its end in a thread, and keeps the head and the tail of its output."""

    def __init__(
        self, pipe: IO[bytes] | None, *, log: Path | None, on_line: Callable[[str], None] | None
    ) -> None:
        self._on_line = on_line
        self._log_path = log
        self._log: IO[bytes] | None = None
        self.failure: Exception | None = None
        self._head = bytearray()
        self._tail = bytearray()
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: IO[bytes] | None) -> None:
        if pipe is None:
            return
        try:
            with pipe:
                for line in iter(partial(pipe.readline, _LINE_LIMIT_BYTES), b""):
                    self._keep(line)
                    # A full disk must not stop the reading: the program would block for ever.
                    if self.failure is None:
                        self._report(line)
        finally:
            if self._log:
                self._log.close()

    def _report(self, line: bytes) -> None:
        try:
            self._write_log(line)
            if self._on_line:
                self._on_line(line.decode("utf-8", "replace").rstrip("\n"))
        except Exception as error:
            self.failure = error

    def _write_log(self, line: bytes) -> None:
        if self._log_path is None:
            return
        try:
            self._log = self._log or self._log_path.open("ab", buffering=0)
            self._log.write(line)
        except OSError as error:
            msg = f"{self._log_path} cannot be written: {error.strerror}"
            raise InfrastructureFailure(msg, hint=room_hint(error)) from None

    def _keep(self, line: bytes) -> None:
        half = CAPTURE_LIMIT_BYTES // 2
        if len(self._head) < half:
            self._head += line
            return
        self._tail += line
        if len(self._tail) > 2 * half:
            del self._tail[:-half]

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)

    def text(self) -> str:
        return (bytes(self._head) + bytes(self._tail)).decode("utf-8", "replace")
