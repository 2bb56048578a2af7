import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from megtrim.config import units, value_types
from megtrim.config.units import GrowthLimit
from megtrim.config.value_types import (
    EXPECTED,
    LONGEST_WAIT_S,
    TEXT_EXPECTED,
    ConfigSection,
    read_whole,
    strict_pattern,
)


def read(kind: str, value: object) -> Any:
    return TypeAdapter(getattr(value_types, kind)).validate_python(value)


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
        ("SizeBytes", "1 KiB", 1024),
        ("SizeBytes", "1_048_576", 1_048_576),
        *(("SizeBytes", "1,024 kB", 1_024_000), ("DurationS", "2 minutes", 120.0)),
        *(("AbsoluteTolerance", "1e-5", 1e-5), ("AbsoluteTolerance", "5E3", 5000.0)),
        *(("RelativeTolerance", 0.5, 0.5), ("RelativeTolerance", "1e-5", 1e-5)),
        *(("RelativeTolerance", "5%", 0.05), ("RelativeTolerance", "0.1%", 0.001)),
        ("Growth", "5%", GrowthLimit(share=0.05)),
        ("Threads", 16, 16),
        ("DurationS", "0 s", 0.0),
        ("WaitS", "24 hours", LONGEST_WAIT_S),
        ("ShareOrAny", "any", 1.0),
        ("TimeMs", 0, 0.0),
    ],
)
def test_a_value_is_read(kind: str, value: object, result: object) -> None:
    found = read(kind, value)

    assert (found, type(found)) == (result, type(result))


@pytest.mark.parametrize(
    ("kind", "value", "what"),
    [
        ("Name", "-m", "a name of letters"),
        ("Name", "a/b", "a name of letters"),
        ("Name", "a" * 201, "a name of letters"),
        ("Name", 5, TEXT_EXPECTED),
        ("Name", "a\n", "a name of letters"),
        ("ImageName", "a b", "a Docker image"),
        ("OptionName", "-DX", "the name of a CMake option, such as MGE_WITH_TEST"),
        ("OptionValue", 1.0, "text, true, false or a whole number (quotes make text of 1.0)"),
        ("OptionValue", "a\nb", "text, true, false or a whole number (quotes make text of 1.0)"),
        ("InputName", "a:b", "the name of a model's input, without ':' or ';'"),
        ("Argument", 0.1, "one argument as text (in quotes where it looks like something else)"),
        ("Argument", True, "one argument as text (in quotes where it looks like something else)"),
        ("Argument", "a\nb", "one argument as text (in quotes where it looks like something else)"),
        ("VariableName", "A=B", "the name of a variable"),
        ("VariableValue", True, "one line of text"),
        ("VariableValue", "a\nb", "one line of text"),
        ("Text", "  ", "text"),
        ("Text", "a" * 4097, "text"),
        ("FilePath", "", "a path"),
        ("Day", "2027-02-30", "a date such as 2027-01-31"),
        ("Day", "20270131", "a date such as 2027-01-31"),
        ("Day", 20270131, "a date such as 2027-01-31"),
        ("PropertyValue", "", "the property's whole value"),
        ("Hub", "1-1.", "a hub as"),
        ("TimeoutS", "0 s", "a duration of more than no time"),
        ("TimeoutS", -1, "a duration of more than no time"),
        ("WaitS", "25 hours", "a duration of more than no time and at most a day"),
        ("SizeBytes", True, units.BYTES_EXPECTED),
        ("Share", "100%", units.SHARE_EXPECTED),
        ("ShareOrAny", 0.5, units.SHARE_OR_ANY_EXPECTED),
        ("ShareOrAny", "100%", units.SHARE_OR_ANY_EXPECTED),
        ("TimeMs", "3 days", units.MILLISECONDS_EXPECTED),
        ("TimeMs", "-1 ms", units.MILLISECONDS_EXPECTED),
        ("BranchName", "a..b", "the name of a branch"),
        ("Share", 1, units.SHARE_EXPECTED),
        ("Threads", [1, "many"], "a whole number from 1 to 256, or a list of up to 16 of them"),
        ("Threads", 257, "a whole number from 1 to 256, or a list of up to 16 of them"),
    ],
)
def test_another_value_is_refused_with_what_was_expected(
    kind: str, value: object, what: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        read(kind, value)

    [error] = caught.value.errors()
    assert error["type"] == EXPECTED
    assert error["msg"].startswith(what)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *((1, 1), (1000, 1000), ("1_000", 1000), ("1,000", 1000), ("1000", None), ("1_00", None)),
        *((wrong, None) for wrong in (0, 1001, True, 1.0, None, "", "one")),
    ],
)
def test_thousands_may_stand_apart(value: object, number: int | None) -> None:
    assert read_whole(value, least=1, most=1000) == number


def test_a_wait_in_a_document_can_be_read_again() -> None:
    adapter: TypeAdapter[float] = TypeAdapter(value_types.WaitS)

    assert adapter.dump_python(90.0, mode="json") == "90 s"
    assert read("WaitS", "90 s") == 90.0


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *(("AbsoluteTolerance", -1.0), ("AbsoluteTolerance", float("inf"))),
        *(("AbsoluteTolerance", "1e-5x"), ("AbsoluteTolerance", "nan")),
        *(("AbsoluteTolerance", "1e-"), ("AbsoluteTolerance", True), ("RelativeTolerance", -0.1)),
        *(("RelativeTolerance", 1.0), ("RelativeTolerance", "100%"), ("RelativeTolerance", "1e0")),
        ("RelativeTolerance", True),
    ],
)
def test_a_tolerance_is_a_number_that_can_be_kept(kind: str, value: object) -> None:
    with pytest.raises(ValidationError):
        read(kind, value)


class Inner(ConfigSection):
    name: str = "default"
    kind: str = Field(alias="class", default="any")


class Outer(ConfigSection):
    inner: Inner = Inner()
    needed: int


def test_a_key_without_a_value_is_left_out() -> None:
    read = Outer.model_validate({"inner": None, "needed": 1})

    assert read.inner == Inner()
    assert Inner.model_validate({"name": None, "class": None}).kind == "any"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"needed": None}, "missing"),
        ({"needed": 1, "unknown": None}, "extra_forbidden"),
        ({"needed": 1, "inner": {"unknown": 1}}, "extra_forbidden"),
        ([], "model_type"),
    ],
)
def test_empty_keys_hide_no_mistake(data: object, problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(data)

    assert [each["type"] for each in caught.value.errors()] == [problem]


def test_a_section_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Inner().name = "other"  # type: ignore[misc]


def test_the_pattern_of_a_schema_ends_where_the_text_does() -> None:
    """``$`` alone is also before a line break at the end, which the parser refuses."""
    pattern = strict_pattern("^[a-z]+$")

    assert re.search(pattern, "name")
    assert not re.search(pattern, "name\n")
