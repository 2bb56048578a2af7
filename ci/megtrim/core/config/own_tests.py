"""The tests of a project, as its configuration names them."""

from typing import Annotated

from pydantic import Field, StrictBool

from megtrim.core.config.commands import BuildCommand
from megtrim.core.config.value_types import ConfigSection, TimeoutS

CLASS_OF_TESTS = "tests"
"""What stands behind the @ of a test in a keep set, where a scenario has its CPU class."""


def id_of_test(name: str) -> str:
    """Return what the keep set calls a test."""
    return f"{name}@{CLASS_OF_TESTS}"


def is_test(scenario_id: str) -> bool:
    """Tell whether a record of the keep set is a test's: it has no command line to change."""
    return scenario_id.endswith(f"@{CLASS_OF_TESTS}")


class OwnTestsConfig(ConfigSection):
    """The project's own tests, which run with the trimmed file in the place of the plain one."""

    commands: Annotated[tuple[BuildCommand, ...], Field(min_length=1)]
    """Each a list of words, such as [[ctest], [sh, ../tests/run.sh]], which is a test; ctest and
    meson test stand for each of their tests. They run without a shell: for kind cmake in the folder
    of the build, for kind link in the copy of source."""
    build: tuple[BuildCommand, ...] = ()
    """Commands that build the tests first, such as [[ninja]]."""
    timeout_s: TimeoutS = Field(default=600.0, alias="timeout")
    """The longest time that one test may take, such as 10 minutes."""
    keep: StrictBool = False
    """Keep what the tests reach: each that passes and loads the file is in the keep set, by its
    name. It must then pass without the companion file, too."""
