"""The folder of this machine's compiler cache, which containers share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

VARIABLE = "CCACHE_DIR"
REMOTE = "CCACHE_REMOTE_STORAGE"


def folder(env: Mapping[str, str], *, otherwise: Path) -> Path:
    """Return the folder that ccache itself would use; ``otherwise`` if there is no home."""
    if env.get(VARIABLE):
        return Path(env[VARIABLE]).absolute()
    if not env.get("HOME"):
        return otherwise
    home = Path(env["HOME"]).absolute()
    if (home / ".ccache").is_dir():
        return home / ".ccache"
    return Path(env.get("XDG_CACHE_HOME") or home / ".cache").absolute() / "ccache"
