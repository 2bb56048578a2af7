"""Walking through lists and mappings before the model has accepted them."""

from __future__ import annotations

import pytest

from megtrim.config.yaml.sections import items, sections

DATA: dict[str, object] = {"list": [{"a": 1}, 2, {"b": 3}], "text": "list", "mapping": {"a": 1}}


def test_entries_have_their_paths() -> None:
    """Below the path that is given."""
    assert list(items(DATA, "list", ("top", 0))) == [
        (("top", 0, "list", 0), {"a": 1}),
        (("top", 0, "list", 1), 2),
        (("top", 0, "list", 2), {"b": 3}),
    ]


def test_sections_are_the_mappings() -> None:
    """Their index is that of the whole list."""
    assert list(sections(DATA, "list")) == [(("list", 0), {"a": 1}), (("list", 2), {"b": 3})]


@pytest.mark.parametrize("key", ["text", "mapping", "absent"])
def test_what_is_no_list_has_no_entries(key: str) -> None:
    """The model reports it."""
    assert list(items(DATA, key)) == []
