"""What every section of megtrim.yaml does with its keys."""

from __future__ import annotations

import re

import pytest
from pydantic import Field, ValidationError

from megtrim.config.base import ConfigSection, strict_pattern


class Inner(ConfigSection):
    name: str = "default"
    kind: str = Field(alias="class", default="any")


class Outer(ConfigSection):
    inner: Inner = Inner()
    needed: int


def test_a_key_without_a_value_is_left_out() -> None:
    """As a section is whose entries are commented out; also by a key's other name."""
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
    """A key that is needed stays needed, and an unknown one unknown."""
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(data)

    assert [each["type"] for each in caught.value.errors()] == [problem]


def test_a_section_does_not_change() -> None:
    """It is the key of what is built."""
    with pytest.raises(ValidationError, match="frozen"):
        Inner().name = "other"  # type: ignore[misc]


def test_the_pattern_of_a_schema_ends_where_the_text_does() -> None:
    """``$`` alone is also before a line break at the end, which the parser refuses."""
    pattern = strict_pattern("^[a-z]+$")

    assert re.search(pattern, "name")
    assert not re.search(pattern, "name\n")
