"""The client of a running phone: one line of JSON to its socket, one line back."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from megtrim.util.errors import InfrastructureFailure, InputError
from virtual_phone.faults.request import FaultRequest, make_request

SOCKET = "control"
_ANSWER_BYTES = 1024 * 1024
_TIMEOUT_S = 20.0


class ControlClient:
    def __init__(self, folder: Path) -> None:
        self._socket = folder / SOCKET

    def status(self) -> dict[str, Any]:
        """``state``: running, frozen or dead; ``waiting``, ``happened``: faults, in order."""
        return self._ask({"do": "status"})

    def fault(self, fault: str, value: float | None = None, **more: Any) -> None:
        self.give(make_request(fault, value=value, **more))

    def give(self, request: FaultRequest) -> None:
        """A request for now has happened when this returns."""
        self._ask({"do": "fault", "request": asdict(request)})

    def set_properties(self, values: Mapping[str, str]) -> None:
        self._ask({"do": "properties", "values": dict(values)})

    def log(self, text: str) -> None:
        self._ask({"do": "log", "text": text})

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
                door.settimeout(_TIMEOUT_S)
                door.connect(str(self._socket))
                door.sendall(json.dumps(request).encode() + b"\n")
                with door.makefile("rb") as reader:
                    answer = json.loads(reader.readline(_ANSWER_BYTES))
        except (OSError, ValueError) as error:
            msg = f"the virtual phone at {self._socket.parent} does not answer: {error}"
            raise InfrastructureFailure(msg, hint="does it still run?") from None
        if not isinstance(answer, dict) or "error" in answer:
            reason = answer.get("error") if isinstance(answer, dict) else answer
            msg = f"the virtual phone refused: {reason}"
            raise InputError(msg)
        return answer
