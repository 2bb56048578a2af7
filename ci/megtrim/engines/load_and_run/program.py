"""``load_and_run`` as others meet it: its command line, flags, outputs and log."""

import re
from collections.abc import Sequence

from megtrim.engines.load_and_run.arguments import (
    INPUT_SUFFIXES,
    check_arguments,
    check_reserved,
    compose,
)
from megtrim.engines.load_and_run.dialects import LITE, SDK
from megtrim.engines.load_and_run.dump import parse_dump
from megtrim.engines.load_and_run.timing_log import read_timing_log
from megtrim.libs.programs.flags import Dialect
from megtrim.libs.util.value import Value

__all__ = ["LoadAndRun", "check_reserved", "compose", "parse_dump", "read_timing_log"]

NAME = "load_and_run"
MODEL_FILE = "model.mge"
DIALECTS = (LITE, SDK)
LOG_LINE = re.compile(
    r"midout: |\[\d+ \d+:\d+:\d+ |using MegBrain|mgb load-and-run:|=== |load model: "
    r"|warmup \d|iter \d"
)


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
