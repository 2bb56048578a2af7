"""What the source says below a key is its description in the JSON Schema, and nowhere else."""

from typing import Any

from pydantic import Field

from megtrim.core.config.value_types import ConfigSection


class Base(ConfigSection):
    """A base."""

    first: int = 1
    """What is first.

    In two paragraphs.
    """
    bare: int = 2


class Section(Base):
    """A section."""

    second: int = Field(default=1, alias="second-key")
    """What is second."""
    first: int = 3
    third: "Base" = Base()
    """A base of its own."""

    def method(self) -> None:
        """Not of a key."""


def describe(schema: dict[str, Any]) -> dict[str, str | None]:
    return {key: each.get("description") for key, each in schema["properties"].items()}


def test_keys_are_described_by_the_text_below_them() -> None:
    schema = Section.model_json_schema(by_alias=True)

    first = "What is first.\n\nIn two paragraphs."
    assert describe(schema) == {
        "first": first,
        "bare": None,
        "second-key": "What is second.",
        "third": "A base of its own.",
    }
    assert describe(schema["$defs"]["Base"]) == {"first": first, "bare": None}
    assert schema["description"] == "A section."


def test_a_section_is_defined_without_a_look_at_its_source() -> None:
    described = (each.description for each in Section.model_fields.values())
    assert {*described} == {None}
