from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.toolchains import tools
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.build.toolchains.support import machine


def test_programs_are_looked_for_on_the_given_path(tmp_path: Path) -> None:
    processes = machine(tmp_path, "tool")

    assert processes.which("tool") == str(tmp_path / "bin" / "tool")
    assert processes.which("sh") is None
    assert ProcessRunner({}).which("sh") is None
    assert tools.need(processes, "tool", hint="") == str(tmp_path / "bin" / "tool")
    assert tools.first_line(processes, str(tmp_path / "bin/tool"), "-v") == "tool version 1 -v"
    with pytest.raises(InputError) as caught:
        tools.need(processes, "gone", hint="get it")
    assert (caught.value.message, caught.value.hint) == (
        "gone is not on the PATH of this machine",
        "get it",
    )


def test_a_tool_that_prints_nothing_is_refused(tmp_path: Path) -> None:
    tool = tmp_path / "g++"
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)

    with pytest.raises(InputError, match="--version prints nothing"):
        tools.first_line(ProcessRunner({}), str(tool), "--version")
