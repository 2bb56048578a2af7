"""``load_and_run`` as the core meets it: its command line, its outputs and its flags."""

from collections.abc import Sequence

from megtrim.engines.load_and_run.arguments import (
    INPUT_SUFFIXES,
    ProgramArguments,
    check_arguments,
)
from megtrim.engines.load_and_run.arguments import compose as compose_arguments
from megtrim.engines.load_and_run.dialects import Dialect
from megtrim.engines.load_and_run.dump import parse_dump
from megtrim.libs.programs.application_arguments import Places
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

__all__ = ["LoadAndRun", "compose", "find_dialect", "parse_dump"]


class LoadAndRun(Value):
    """The flags of one tree's program."""

    dialect: Dialect

    @property
    def input_suffixes(self) -> tuple[str, ...]:
        return INPUT_SUFFIXES

    @property
    def needs_inputs(self) -> bool:
        return self.dialect.literal

    def check(self, arguments: Sequence[str], *, source: str) -> None:
        check_arguments(arguments, dialect=self.dialect, source=source)


def find_dialect(flags: object) -> Dialect:
    """Raises InputError for an engine whose program is another one, or that has none."""
    if not isinstance(flags, LoadAndRun):
        msg = "this engine has no program with the flags of load_and_run"
        raise InputError(msg, hint="remove the keys that only MegEngine has, such as perf")
    return flags.dialect


def compose(
    program: str, arguments: Sequence[str], places: Places, *, search: bool, dumps: bool
) -> tuple[str, ...]:
    if places.model is None:
        msg = f"{program} runs models, and was given none"
        raise TypeError(msg)
    call = ProgramArguments(
        program=program,
        model=places.model,
        arguments=tuple(arguments),
        inputs=tuple(sorted(places.inputs.items())),
        threads=places.threads,
        algo_cache=places.algo_cache,
        search=search,
        dump_dir=places.outputs if dumps else None,
    )
    return compose_arguments(call)
