"""The size optimisations in megtrim.yaml, beyond the documented recipe.

Pure. :mod:`megtrim.build.engines.size_flags` knows which of them a toolchain supports.
"""

from __future__ import annotations

from typing import Literal

from pydantic import StrictBool

from megtrim.config.value_types import ConfigSection


class SizeFlagsConfig(ConfigSection):
    """Size optimisations, for the reduced build; left out: optimize decides."""

    unwind_tables: StrictBool | None = None
    """false: without the tables that exceptions and debuggers need; exceptions must be off."""
    small_code: Literal["none", "Os", "Oz"] | None = None
    """How all but the engine's kernels is compiled: Os for size, Oz for the smallest size."""
    lto: Literal["none", "full"] | None = None
    """full: link-time optimisation, which needs clang, lld, time and memory."""
    fold: Literal["none", "all"] | None = None
    """all: identical functions share their bytes, by lld's --icf. none: as the engine links."""
    virtual_functions: StrictBool | None = None
    """false: without virtual functions that no call can reach; needs lto: full."""
