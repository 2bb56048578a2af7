"""The transport to a phone behind adb. Every call names its phone and has a timeout."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from megtrim.devices.remote.adb_client import Adb
from megtrim.devices.remote.transport import (
    expect_pushed,
    expect_transferred,
    frame,
    new_nonce,
    unframe_outcome,
)
from megtrim.util.process import Command, CompletedCommand


class AdbTransport:
    """One phone, by its serial."""

    def __init__(self, adb: Adb, serial: str, label: str) -> None:
        self.label = label
        self.adb = adb
        self.serial = serial

    def command(
        self,
        *args: str,
        timeout_s: float,
        on_line: Callable[[str], None] | None = None,
        abort: threading.Event | None = None,
    ) -> CompletedCommand:
        """Run one adb command for this phone. Raises InfrastructureFailure without a server."""
        self.adb.require_server()
        argv = self.adb.argv("-s", self.serial, *args)
        return self.adb.processes.run(
            Command(argv=argv, timeout_s=timeout_s, on_line=on_line, abort=abort)
        )

    def shell(
        self,
        script: str,
        *args: str,
        timeout_s: float,
        on_line: Callable[[str], None] | None = None,
        abort: threading.Event | None = None,
    ) -> CompletedCommand:
        """Run a script; see :class:`~megtrim.devices.remote.transport.Transport`."""
        nonce = new_nonce()
        text = frame(script, args, nonce)
        outcome = self.command(
            "shell", "-n", text, timeout_s=timeout_s, on_line=on_line, abort=abort
        )
        return unframe_outcome(outcome, nonce, label=self.label, script=script)

    def push(
        self, source: Path, target: str, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        """Copy a file to the phone."""
        outcome = self.command("push", str(source), target, timeout_s=timeout_s, abort=abort)
        step = f"pushing {source.name}"
        expect_pushed(outcome, label=self.label, step=step, timeout_s=timeout_s)

    def pull(
        self, source: str, target: Path, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        """Fetch a file from the phone."""
        outcome = self.command("pull", source, str(target), timeout_s=timeout_s, abort=abort)
        step = f"fetching {source.rpartition('/')[2]}"
        expect_transferred(outcome, label=self.label, step=step, timeout_s=timeout_s)
