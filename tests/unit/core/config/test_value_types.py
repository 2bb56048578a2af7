import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter, ValidationError

from megtrim.core.config import units, value_types
from megtrim.core.config.units import (
    BYTES_EXPECTED,
    DURATION_EXPECTED,
    LARGEST_BYTES,
    LARGEST_DURATION_S,
    GrowthLimit,
    format_bytes,
    format_duration,
    format_growth,
    parse_bytes,
    parse_duration,
    parse_growth,
)
from megtrim.core.config.value_types import (
    EXPECTED,
    LONGEST_WAIT_S,
    ConfigSection,
    read_whole,
    strict_pattern,
)
from megtrim.libs.util.errors import InputError


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
        ("SizeBytes", "1,024 kB", 1_024_000),
        ("DurationS", "2 minutes", 120.0),
        ("AbsoluteTolerance", "1e-5", 1e-5),
        ("AbsoluteTolerance", "5E3", 5000.0),
        ("RelativeTolerance", 0.5, 0.5),
        ("RelativeTolerance", "1e-5", 1e-5),
        ("RelativeTolerance", "5%", 0.05),
        ("RelativeTolerance", "0.1%", 0.001),
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
        ("ImageName", "a b", "a Docker image"),
        ("NdkRelease", "21e", "a release of the NDK"),
        ("OptionValue", "a\nb", "text, true, "),
        ("Argument", "a\nb", "one argument"),
        ("VariableName", "A=B", "the name of a "),
        *(("VariableValue", value, "one line of text") for value in (True, "a\nb")),
        *(("Text", value, "text") for value in ("  ", "a" * 4097)),
        *(("Day", day, "a date such as ") for day in ("2027-02-30", "20270131", 20270131)),
        ("FilePath", "", "a path"),
        ("PropertyValue", "", "the property's whole value"),
        *(("Share", value, units.SHARE_EXPECTED) for value in ("100%", 1)),
        *(("ShareOrAny", value, units.SHARE_OR_ANY_EXPECTED) for value in (0.5, "100%")),
        *(("TimeMs", value, units.MILLISECONDS_EXPECTED) for value in ("3 days", "-1 ms")),
        ("TimeoutS", -1, "a duration of more"),
        ("BranchName", "a..b", "the name of a branch"),
        ("Threads", 257, "a whole number from 1 to 256, or a list of up to 16 of them"),
    ],
)
def test_another_value_is_refused_with_a_reason(kind: str, value: object, what: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read(kind, value)

    [error] = caught.value.errors()
    assert error["type"] == EXPECTED
    assert error["msg"].startswith(what)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1),
        (1000, 1000),
        ("1_000", 1000),
        ("1,000", 1000),
        ("1000", None),
        ("1_00", None),
        *((wrong, None) for wrong in (0, 1001, True, 1.0, None, "", "one")),
    ],
)
def test_thousands_may_stand_apart(value: object, number: int | None) -> None:
    assert read_whole(value, least=1, most=1000) == number


def test_a_wait_in_a_document_can_be_read_again() -> None:
    assert TypeAdapter(value_types.WaitS).dump_python(90.0, mode="json") == "90 s"
    assert read("WaitS", "90 s") == 90.0


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("AbsoluteTolerance", -1.0),
        ("AbsoluteTolerance", float("inf")),
        ("AbsoluteTolerance", "1e-5x"),
        ("AbsoluteTolerance", "nan"),
        ("AbsoluteTolerance", "1e-"),
        ("AbsoluteTolerance", True),
        ("RelativeTolerance", -0.1),
        ("RelativeTolerance", 1.0),
        ("RelativeTolerance", "100%"),
        ("RelativeTolerance", "1e0"),
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


def test_the_pattern_of_a_schema_ends_where_the_text_does() -> None:
    """``$`` alone is also before a line break at the end, which the parser refuses."""
    pattern = strict_pattern("^[a-z]+$")

    assert re.search(pattern, "name")
    assert not re.search(pattern, "name\n")


@pytest.mark.parametrize(
    ("written", "size_bytes"),
    [
        ("2.5 MiB", 2_621_440),
        ("16 KiB", 16_384),
        ("16KiB", 16_384),
        ("1,024", 1024),
        ("1,234,567 bytes", 1_234_567),
        ("1 byte", 1),
        ("12 B", 12),
        ("3 MB", 3_000_000),
        ("3 kB", 3000),
        ("3 KB", 3000),
        ("2 GB", 2_000_000_000),
        ("1 GiB", 1_073_741_824),
        ("0.3 KiB", 307),
        (" 7 ", 7),
        ("5.0", 5),
        (4096, 4096),
        (0, 0),
        (LARGEST_BYTES, LARGEST_BYTES),
    ],
)
def test_sizes_are_read_as_people_write_them(written: object, size_bytes: int) -> None:
    assert size_bytes == parse_bytes(written)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "MiB",
        "2 mb",
        "3 K",
        "1.5",
        "1.5 B",
        "-1",
        "1,02",
        "1 2",
        "1e3",
        "2%",
        "1  MiB",
        "9" * 30,
        "\u0663",
        -1,
        True,
        None,
        2.5,
        LARGEST_BYTES + 1,
        [],
    ],
)
def test_unreadable_sizes_are_refused(written: object) -> None:
    with pytest.raises(InputError, match=f"^found .*, expected {re.escape(BYTES_EXPECTED)}$"):
        parse_bytes(written)


def test_a_message_does_not_repeat_a_whole_file() -> None:
    with pytest.raises(InputError) as caught:
        parse_bytes("x" * 10_000)

    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (972, "972 B"),
        (973, "1.0 KiB"),
        (1024, "1 KiB"),
        (1025, "1.0 KiB"),
        (1500, "1.5 KiB"),
        (16_384, "16 KiB"),
        (2_621_440, "2.5 MiB"),
        (3 * 1024**2, "3 MiB"),
        (1024**2 - 1, "1.0 MiB"),
        (5 * 1024**3, "5 GiB"),
        (-1536, "-1.5 KiB"),
        (-3, "-3 B"),
    ],
)
def test_sizes_are_written_in_the_largest_unit_they_fill(size_bytes: int, text: str) -> None:
    assert text == format_bytes(size_bytes)


@pytest.mark.parametrize(
    ("difference_bytes", "text"), [(16_384, "+16 KiB"), (0, "0 B"), (-1_258_291, "-1.2 MiB")]
)
def test_growth_has_a_sign(difference_bytes: int, text: str) -> None:
    assert text == format_growth(difference_bytes)


@pytest.mark.parametrize(
    ("text", "limit_bytes", "written"),
    [("1%", 10, "1%"), ("0.5 %", 5, "0.5%"), ("16 KiB", 16_384, "16384 B"), (0, 0, "0 B")],
)
def test_growth_is_a_size_or_a_share(text: object, limit_bytes: int, written: str) -> None:
    found = parse_growth(text)

    assert found.limit_bytes(1000) == limit_bytes
    assert str(found) == written


@pytest.mark.parametrize("text", ["0%", "100%", "-1%", "1 %%", "%", -1, True, 1.5, None])
def test_growth_of_another_form_is_refused(text: object) -> None:
    with pytest.raises(InputError, match="expected a size such as 16 KiB, or a share such as 1%"):
        parse_growth(text)


@given(st.integers(0, LARGEST_BYTES))
def test_a_written_size_reads_back_within_its_last_place(size_bytes: int) -> None:
    text = format_bytes(size_bytes)
    half_a_place = 0.05 * {"B": 0, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}[text.split()[1]]

    assert abs(parse_bytes(text) - size_bytes) <= half_a_place + 1


@given(st.integers(0, LARGEST_BYTES))
def test_plain_and_grouped_numbers_are_bytes(size_bytes: int) -> None:
    read = {parse_bytes(size_bytes), parse_bytes(str(size_bytes)), parse_bytes(f"{size_bytes:,}")}

    assert {size_bytes} == read


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90 s", 90.0),
        ("90", 90.0),
        (90, 90.0),
        ("1 second", 1.0),
        ("30 seconds", 30.0),
        ("10 minutes", 600.0),
        ("1 minute", 60.0),
        ("5 min", 300.0),
        ("2 h", 7200.0),
        ("1 hour", 3600.0),
        ("1.5 hours", 5400.0),
        ("1 day", 86_400.0),
        ("14 days", 1_209_600.0),
        ("1 week", 604_800.0),
        ("2 weeks", 1_209_600.0),
        ("0 s", 0.0),
        ("3660 days", float(LARGEST_DURATION_S)),
    ],
)
def test_durations_are_read_into_seconds(written: object, seconds: float) -> None:
    assert seconds == parse_duration(written)


@pytest.mark.parametrize(
    "written",
    ["", "soon", "10 parsecs", "-1 s", -1, True, None, 1.5, "3661 days", "1 MiB", "1:30", "5 %"],
)
def test_unreadable_durations_are_refused(written: object) -> None:
    with pytest.raises(InputError, match=f"^found .*, expected {re.escape(DURATION_EXPECTED)}$"):
        parse_duration(written)


@given(st.text() | st.integers() | st.floats() | st.none() | st.binary())
def test_anything_is_read_or_refused(written: object) -> None:
    for parse in (parse_bytes, parse_duration):
        try:
            assert parse(written) >= 0
        except InputError as error:
            assert error.exit_code == 2


@given(
    st.decimals(min_value=0, max_value=9_999, places=9),
    st.sampled_from(["s", "minutes", "hours", "days"]),
)
def test_a_duration_is_written_as_it_is_read(number: object, unit: str) -> None:
    """To the last bit: what a bundle holds is validated again."""
    try:
        duration_s = parse_duration(f"{number:f} {unit}")
    except InputError:
        return

    assert parse_duration(format_duration(duration_s)) == duration_s


@pytest.mark.parametrize(
    ("duration_s", "text"),
    [(0.0, "0 s"), (600.0, "600 s"), (0.5, "0.5 s"), (1e-9, "0.000000001 s")],
)
def test_a_duration_reads_well(duration_s: float, text: str) -> None:
    assert format_duration(duration_s) == text
