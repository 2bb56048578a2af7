"""What kind of phone the supervisor must imitate, and the files by which it reports. Pure."""

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

READY = "phone.json"
LOG = "log"
SOCKET = "control"
_SOURCES = str(Path(__file__).parents[1])
_START = (
    "import importlib, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "importlib.import_module(sys.argv.pop(1)).main()"
)


def own_program(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the argv that runs ``main`` of a module that needs the standard library alone."""
    return (sys.executable, "-I", "-S", "-c", _START, _SOURCES, module, *arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneSpec:
    """Which phone to be. From ``folder`` on, whoever starts it fills in."""

    name: str
    cpu: str = "max"
    """As qemu names it."""
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
    folder: str = ""
    """Its own, for its socket and its log; removed with it."""
    root: str = ""
    emulator: str = ""
    """Empty where programs of the phone need none."""
    path: str = ""
    """Where its supervisor finds programs of this machine."""

    def argv(self) -> tuple[str, ...]:
        return own_program("virtual_phone.supervisor", json.dumps(asdict(self)))
