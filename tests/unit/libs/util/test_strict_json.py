import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import (
    AnyMagnitude,
    SignedInt,
    decode,
    dump,
    encode,
    load,
    show_path,
)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Tuning(BaseModel):
    """A model next to dataclasses: its keys may be left out."""

    model_config = ConfigDict(extra="forbid")

    speed: int = 7
    mode: str = Field(default="", alias="as")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    name: str
    kind: Annotated[str, Field(alias="class")] = "plain"

    def __post_init__(self) -> None:
        if not self.name:
            msg = "part: found no name, expected one"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    version: int = 1
    colour: Colour
    parts: tuple[Part, ...] = ()
    pair: tuple[str, int] = ("a", 1)
    facts: Mapping[str, str]
    size: int | None = None
    change: SignedInt = 0
    share: float = 0.5
    error: AnyMagnitude | None = None
    good: bool = True
    tuning: Tuning = field(default_factory=Tuning)


THING = Thing(
    colour=Colour.BLUE,
    parts=(Part(name="\ud800 and \n"), Part(name="b", kind="x")),
    facts={"b": "2", "a": "1"},
    change=-4,
    tuning=Tuning.model_validate({"as": "fast"}),
)


def read(text: str) -> Thing:
    return load(Thing, text, source="t.json", version=1, hint="write it again")


def altered(**changes: Any) -> str:
    return json.dumps(encode(THING) | changes)


def test_what_is_written_is_read_back() -> None:
    written = json.loads(dump(THING))

    assert read(dump(THING)) == THING
    assert list(written)[:3] == ["version", "colour", "parts"]
    assert written["parts"][1] == {"name": "b", "class": "x"}
    assert list(written["facts"]) == ["a", "b"]
    assert written["tuning"] == {"as": "fast"}
    assert dump(THING).isascii()
    assert type(read(altered(share=1)).share) is float


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_cannot_hold_is_null(number: float) -> None:
    assert encode({"x": (number, 1.5)}) == {"x": [None, 1.5]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"colour": "green"}, "colour: found 'green', expected one of red or blue"),
        ({"colour": 1}, "colour: found 1, expected one of red or blue"),
        ({"parts": {}}, "parts: found {}, expected a list"),
        ({"parts": "ab"}, "parts: found 'ab', expected a list"),
        ({"parts": [1]}, "parts[0]: found 1, expected an object"),
        ({"parts": [{"name": "a"}]}, "parts[0].class: found nothing, expected this key"),
        ({"parts": [{"name": "", "class": ""}]}, "part: found no name, expected one"),
        ({"pair": ["a"]}, "pair[1]: found nothing, expected this entry"),
        ({"pair": ["a", 1, 2]}, "pair: found ['a', 1, 2], expected at most 2 entries"),
        ({"facts": {"a": None}}, "facts.a: found None, expected text"),
        ({"facts": {"\x1b[1m": 1}}, "facts.'\\x1b[1m': found 1, expected text"),
        ({"facts": {"k" * 70: 1}}, f"facts.{'k' * 57}...: found 1, expected text"),
        ({"facts": []}, "facts: found [], expected an object"),
        ({"size": -1}, "size: found -1, expected 0 or more"),
        ({"size": 1.0}, "size: found 1.0, expected a whole number"),
        ({"size": True}, "size: found True, expected a whole number"),
        ({"size": "1"}, "size: found '1', expected a whole number"),
        ({"size": 2**62 + 1}, "expected 4.61169e+18 or less"),
        ({"change": -(2**63)}, "change: found -9223372036854775808, expected -4.61169e+18 or more"),
        ({"share": "0.5"}, "share: found '0.5', expected a number"),
        ({"share": False}, "share: found False, expected a number"),
        ({"error": -1e-9}, "error: found -1e-09, expected 0 or more"),
        ({"good": 1}, "good: found 1, expected true or false"),
        ({"good": "true"}, "good: found 'true', expected true or false"),
        ({"tuning": {"speeed": 1}}, "tuning.speeed: found 1, expected no such key"),
        ({"tuning": 1}, "tuning: found 1, expected an object"),
        ({"more": "x" * 99}, f"more: found '{'x' * 59}…, expected no such key"),
    ],
)
def test_a_wrong_value_is_named_with_its_path(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        read(altered(**changes))

    assert caught.value.message.startswith("t.json:1: ")
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint == "write it again"


@pytest.mark.parametrize("key", sorted(encode(THING)))
def test_no_key_may_be_left_out(key: str) -> None:
    """A default is for those who write: a document without a key is of another version."""
    whole = encode(THING)
    del whole[key]

    with pytest.raises(InputError, match=f"{key}: found nothing, expected this key"):
        read(json.dumps(whole))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (altered().replace('"size"', '"change"'), "found a key twice in one object"),
        (altered(share=1).replace('"share": 1', '"share": NaN'), "found 'NaN', expected a finite"),
        (altered(share=1).replace('"share": 1', '"share": 1e999'), "share: found inf, expected"),
        (altered(error=1).replace('"error": 1', '"error": 1e999'), "error: found inf, expected"),
        (altered(version=2), "version: found 2, expected 1"),
    ],
)
def test_json_that_readers_differ_about_is_refused(text: str, said: str) -> None:
    """What one reader took for the last of two keys, another could take for the first."""
    with pytest.raises(InputError, match=said):
        read(text)


def test_a_document_full_of_errors_is_given_up_at_the_first() -> None:
    """Each error that pydantic keeps takes memory: millions of them would take all there is."""
    wrong = altered(parts=[1] * 1_000)

    with pytest.raises(InputError, match=r"parts\[0\]: found 1") as caught:
        read(wrong)
    first = caught.value.__context__
    assert isinstance(first, InputError)
    assert isinstance(first.__context__, ValidationError)
    assert first.__context__.error_count() == 1
    with pytest.raises(InputError, match="found an object of 10001 keys, expected at most 10000"):
        read(altered(**{f"key{number}": 1 for number in range(10_001 - len(encode(THING)))}))


def test_numbers_of_programs_under_test_may_be_huge() -> None:
    huge = sys.float_info.max

    assert read(altered(error=huge)).error == huge
    with pytest.raises(InputError, match="share: found 1"):
        read(altered(share=huge))


def test_a_part_of_a_document_is_read_and_its_path_written_as_people_do() -> None:
    assert decode(Part, encode(Part(name="a")), "rows[0]") == Part(name="a")
    assert decode(Part | None, None, "row") is None
    with pytest.raises(InputError, match=r"^rows\[1\]\.name: found 1, expected text$"):
        decode(Part, {"name": 1, "class": "x"}, "rows[1]")
    assert show_path(("models", 0, "args")) == "models[0].args"
    assert show_path((1, "name"), "rows") == "rows[1].name"
    assert show_path(()) == ""


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_read_or_refused(value: object) -> None:
    with pytest.raises(InputError):
        read(json.dumps(value))
