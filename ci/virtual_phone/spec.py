"""Which phone its supervisor is to be, and the files by which it reports. Pure.

Whoever starts a phone imports this, and not the phone: that takes a moment.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from virtual_phone.system.programs import own_program

READY = "phone.json"
LOG = "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneSpec:
    """Which phone to be. ``emulator`` is empty where programs of the phone need none."""

    name: str
    folder: str
    """Its own, for its socket and its log; removed with it."""
    root: str
    emulator: str
    path: str
    """Where its supervisor finds programs of this machine."""
    cpu: str = "max"
    host: str = "127.0.0.1"
    port: int = 0
    """On which it can be connected to; 0: any that is free."""
    rooted: bool = False
    data_bytes: int = 1024 * 1024 * 1024
    boot_s: float = 2.0
    """How long a reboot takes."""
    properties: dict[str, str] = field(default_factory=dict)
    android: str = ""
    """Folder with the ``system`` of an Android; empty: programs of Android do not run."""

    def argv(self) -> tuple[str, ...]:
        return own_program("virtual_phone.supervisor", json.dumps(asdict(self)), bare=True)
