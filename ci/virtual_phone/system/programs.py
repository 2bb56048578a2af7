"""How megtrim starts modules of its own as programs, wherever it was imported from."""

from __future__ import annotations

import sys
from pathlib import Path

_SOURCES = str(Path(__file__).parents[2])
_START = (
    "import importlib, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "importlib.import_module(sys.argv.pop(1)).main()"
)


def own_program(module: str, *arguments: str, bare: bool = False) -> tuple[str, ...]:
    """``bare`` is for modules that need the standard library alone: that starts much faster."""
    options = ("-I", "-S") if bare else ("-I",)
    return (sys.executable, *options, "-c", _START, _SOURCES, module, *arguments)
