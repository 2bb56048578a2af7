"""The kinds of value of megtrim.yaml: what each accepts, and what its refusal expects."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from megtrim.config import value_types
from megtrim.config.value_types import EXPECTED
from megtrim.load_and_run import environment

ONE_LINE = "one line of text (in quotes where it looks like something else)"


def read(kind: str, value: object) -> Any:
    return TypeAdapter(getattr(value_types, kind)).validate_python(value)


def expected(kind: str, value: object) -> str:
    """Return what the refusal of a value says that it expected."""
    with pytest.raises(ValidationError) as caught:
        read(kind, value)
    [error] = caught.value.errors()
    assert error["type"] == EXPECTED
    return str(error["msg"])


@pytest.mark.parametrize(
    ("kind", "value", "result"),
    [
        ("Name", "mobilenet-v2_0.25", "mobilenet-v2_0.25"),
        ("EmulatedCpu", "cortex-a76,sve=off", "cortex-a76,sve=off"),
        ("NdkRelease", "r21e", "r21e"),
        ("ImageName", "host:5000/team/ndk:r21e", "host:5000/team/ndk:r21e"),
        ("OptionName", "MGE_WITH_TEST", "MGE_WITH_TEST"),
        ("OptionValue", True, True),
        ("OptionValue", 3, 3),
        ("Argument", 10, "10"),
        ("Argument", "", ""),
        ("VariableName", "OMP_NUM_THREADS", "OMP_NUM_THREADS"),
        ("VariableValue", 2, "2"),
        ("VariableValue", "", ""),
        ("Pattern", "my::log::*", "my::log::*"),
        ("FilePath", "models/m.mge", Path("models/m.mge")),
        ("FilePaths", "one", (Path("one"),)),
        ("FilePaths", ["one", "two"], (Path("one"), Path("two"))),
        ("Day", "2027-01-31", date(2027, 1, 31)),
        ("HostName", "board-1.lab", "board-1.lab"),
        ("HostName", "::1", "::1"),
        ("PropertyValue", 33, "33"),
        ("Hub", "1-1.4", "1-1.4"),
        ("CpuList", 4, "4"),
        ("CpuList", "0,4-7", "0,4-7"),
    ],
)
def test_a_value_is_read(kind: str, value: object, result: object) -> None:
    """As what it means, with its type."""
    found = read(kind, value)

    assert (found, type(found)) == (result, type(result))


@pytest.mark.parametrize(
    ("kind", "value", "what"),
    [
        ("Name", "-m", value_types.NAME_EXPECTED),
        ("Name", "a/b", value_types.NAME_EXPECTED),
        ("Name", "a" * 201, value_types.NAME_EXPECTED),
        ("Name", "a\n", value_types.NAME_EXPECTED),
        ("NdkRelease", "21e", "a release of the NDK, such as r21e"),
        ("ImageName", "a b", value_types.IMAGE_EXPECTED),
        ("OptionName", "-DX", "the name of a CMake option, such as MGE_WITH_TEST"),
        ("OptionValue", 1.0, "text, true, false or a whole number (quotes make text of 1.0)"),
        ("OptionValue", "a\nb", "text, true, false or a whole number (quotes make text of 1.0)"),
        ("InputName", "a:b", "the name of a model's input, without ':' or ';'"),
        ("Argument", 0.1, "one argument as text (in quotes where it looks like something else)"),
        ("Argument", True, "one argument as text (in quotes where it looks like something else)"),
        ("Argument", "a\nb", "one argument as text (in quotes where it looks like something else)"),
        ("VariableName", "LD_PRELOAD", environment.NAME_EXPECTED),
        ("VariableName", "A=B", environment.NAME_EXPECTED),
        ("VariableValue", True, ONE_LINE),
        ("VariableValue", "a\nb", ONE_LINE),
        ("Text", "  ", "text"),
        ("Text", "a" * 4097, "text"),
        ("FilePath", "", "a path"),
        ("Day", "2027-02-30", "a date such as 2027-01-31"),
        ("Day", "20270131", "a date such as 2027-01-31"),
        ("Day", 20270131, "a date such as 2027-01-31"),
        ("PropertyValue", True, value_types.VALUE_EXPECTED),
        ("PropertyValue", "", value_types.VALUE_EXPECTED),
        ("HostName", "-oProxyCommand=x", value_types.HOST_EXPECTED),
        ("UserName", "-l", value_types.USER_EXPECTED),
        ("Serial", "-s", value_types.SERIAL_EXPECTED),
        ("Hub", "1-1.", value_types.HUB_EXPECTED),
        ("Governor", "../performance", value_types.GOVERNOR_EXPECTED),
        ("CpuList", "4-", value_types.CPUS_EXPECTED),
    ],
)
def test_another_value_is_refused_with_what_was_expected(
    kind: str, value: object, what: str
) -> None:
    """Nothing that a program would take for an option, and no second line."""
    assert expected(kind, value) == what


@pytest.mark.parametrize("kind", ["Name", "Hub", "FilePaths", "Day", "CpuList"])
def test_every_kind_has_a_json_schema(kind: str) -> None:
    """For editors, which check while one types."""
    assert "type" in json.dumps(TypeAdapter(getattr(value_types, kind)).json_schema())
