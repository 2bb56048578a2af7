"""A scenario that is a command: a program of the project, what it is given, what it writes."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from megtrim.core.config.value_types import (
    AbsoluteTolerance,
    Argument,
    ConfigSection,
    ExitStatus,
    FilePath,
    InputName,
    Name,
    RelativeTolerance,
    Threads,
    TimeoutS,
    Toolchains,
    VariableName,
    VariableValue,
    VaryingText,
)
from megtrim.libs.programs.parity import Tolerance
from megtrim.libs.util.environment import MOST_VARIABLES, Variables

MOST_PATTERNS = 20
BuildCommand = Annotated[tuple[Argument, ...], Field(min_length=1)]


class CommandConfig(ConfigSection):
    """A command that must work on the trimmed program, and write what the plain one writes."""

    name: Name
    program: Name | None = None
    """Program that runs: one of `applications`; left out: the engine's target."""
    args: tuple[Argument, ...] = ()
    """Its whole command line, with {input:NAME}, {outputs} and {threads} in their places: a file
    of `inputs`, an empty folder that it may write to, a number. {{ and }} are braces."""
    inputs: dict[InputName, FilePath] = Field(default={})
    """Files that it reads, NAME: FILE. It finds each under a name of megtrim's with the same
    ending, where {input:NAME} stands."""
    stdin: FilePath | None = None
    """File that is its standard input; left out: it is empty."""
    environment: Annotated[dict[VariableName, VariableValue], Field(max_length=MOST_VARIABLES)] = (
        Field(default={})
    )
    """Variables of the program's environment, NAME: value."""
    status: ExitStatus = 0
    """Exit status that it must end with."""
    stdout: Literal["compared", "ignored"] | None = None
    """Whether its standard output must be the plain program's. Left out: compared, unless args
    has {outputs}, where all files, at any depth, must be the plain program's."""
    stderr: Literal["compared", "ignored"] = "ignored"
    """Whether its standard error must be the plain program's, too."""
    vary: Annotated[tuple[VaryingText, ...], Field(max_length=MOST_PATTERNS)] = ()
    """Text in its outputs that differs from run to run, such as '[0-9.]+ ms': regular expressions
    without groups and alternatives, whose repeats give nothing back. What one matches in a line
    counts as equal. Outputs that are arrays (.npy) have a tolerance instead."""
    classes: Annotated[tuple[Name, ...], Field(min_length=1)] = ()
    """CPU classes to record and verify for; left out: all."""
    threads: Threads = 1
    """Threads that the program may use; a list, such as [1, 4], stands for a scenario with each:
    NAME-threads-1 and NAME-threads-4."""
    timeout_s: TimeoutS = Field(default=600.0, alias="timeout")
    """The longest time that one run may take, such as 10 minutes."""
    tolerance: AbsoluteTolerance | None = None
    """As verify.tolerance, for arrays (.npy) in {outputs}; left out: verify.tolerance."""
    relative_tolerance: RelativeTolerance | None = None
    """As verify.relative_tolerance, for arrays; left out: verify.relative_tolerance."""
    toolchains: Toolchains = ()
    """Toolchains that it is for; left out: all."""

    fast_run: ClassVar[bool] = False
    algo_cache: ClassVar[None] = None
    is_command: ClassVar[bool] = True

    @property
    def application(self) -> str | None:
        return self.program

    @property
    def allowed(self) -> Tolerance:
        return Tolerance(absolute=self.tolerance or 0.0, relative=self.relative_tolerance or 0.0)

    @property
    def variables(self) -> Variables:
        return tuple(sorted(self.environment.items()))

    @property
    def command(self) -> tuple[str, ...]:
        return self.args if self.program is None else (self.program, *self.args)
