"""The example in C calls each function of the engine's C interface: none is left out unnoticed.

Needs a checkout of the engine, named by MEGTRIM_ENGINE; it is not written to.
"""

import os
from pathlib import Path

import pytest

from megtrim.libs.util.process import Command, ProcessRunner
from support.c_interface import attempts, called, declared
from support.megtrim_cli import ROOT

pytestmark = pytest.mark.engine

PROGRAM = ROOT / "examples/applications/lite-c-functions/main.c"
INCLUDES = ("lite/lite-c/include", "lite/include/lite")


def test_each_function_of_the_headers_is_called(processes: ProcessRunner) -> None:
    checkout = Path(os.environ["MEGTRIM_ENGINE"])
    headers = (checkout / INCLUDES[0] / "lite-c").glob("*.h")
    functions = frozenset[str]().union(*(declared(each.read_text("utf-8")) for each in headers))
    source = PROGRAM.read_text("utf-8")

    assert len(functions) > 80
    assert functions - called(source) == frozenset()
    assert sorted(attempts(source)) == sorted(functions)
    flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
    include = (f"-I{checkout / each}" for each in INCLUDES)
    argv = ("gcc", *flags, *include, str(PROGRAM))
    assert processes.run(Command(argv=argv, cwd=None, timeout_s=60.0)).ok
