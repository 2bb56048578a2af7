"""An application of the team's own: a program besides the engine's. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from megtrim.build_spec import Linkage
from megtrim.config.value_types import (
    ConfigSection,
    FilePath,
    Name,
    OptionName,
    OptionValue,
    Toolchains,
)


class Application(ConfigSection):
    """A program that is trimmed with the engine it is built on."""

    name: Name
    """Of the program, and of the CMake target that makes it."""
    source: FilePath | None = None
    """Folder with its own CMakeLists.txt; left out: a target in the engine's tree."""
    library: Linkage = Field(default=Linkage.STATIC, validate_default=True)
    """static: the engine is linked in. shared: with its shared object. Needs source."""
    cmake: dict[OptionName, OptionValue] = Field(default={})
    """CMake options of its own CMakeLists.txt: NAME: value, as engine.cmake. Needs source."""
    lto: Literal["none", "full"] = "none"
    """full: link-time optimisation of it and of the engine, except in the profile build."""
    toolchains: Toolchains = ()
    """Toolchains that it is for; left out: all."""

    @property
    def is_shared(self) -> bool:
        """Whether the engine's shared object must be in its folder."""
        return self.source is not None and self.library is Linkage.SHARED
