"""The folder of this host for what outlives a run: who has a device, how long tasks took. Pure."""

from collections.abc import Mapping
from pathlib import Path

from megtrim.libs.util.errors import InputError

VARIABLE = "MEGTRIM_STATE"


def state_folder(env: Mapping[str, str]) -> Path:
    given = env.get(VARIABLE, "")
    if given:
        return Path(given).absolute()
    base = Path(env.get("XDG_STATE_HOME", ""))
    if base.is_absolute():
        return base / "megtrim"
    home = Path(env.get("HOME", ""))
    if not home.is_absolute():
        msg = "there is no folder for the state of devices: found neither a home nor MEGTRIM_STATE"
        raise InputError(msg, hint=f"set {VARIABLE} to a folder that all jobs of this host share")
    return home / ".local" / "state" / "megtrim"
