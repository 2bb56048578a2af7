"""How small the reduced build is made, as its configuration says."""

from typing import Literal

from pydantic import StrictBool

from megtrim.core.config.value_types import ConfigSection


class SizeFlagsConfig(ConfigSection):
    """Size optimisations for the reduced build. Default: optimize decides."""

    unwind_tables: StrictBool | None = None
    """false: without the tables that exceptions and debuggers need; exceptions must be off."""
    small_code: Literal["none", "Os", "Oz"] | None = None
    """How everything except the engine's kernels is compiled: Os for size, Oz for the smallest
    size."""
    lto: Literal["none", "full"] | None = None
    """full: link-time optimisation, which needs clang, lld, time and memory."""
    fold: Literal["none", "all"] | None = None
    """all: identical functions share their bytes (lld's --icf). none: the engine's own setting."""
    virtual_functions: StrictBool | None = None
    """false: without virtual functions that no call can reach; needs lto: full."""
