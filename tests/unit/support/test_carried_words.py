"""Words of a comment that changed, in comments that no unit test makes."""

import pytest

from support.carried_words import carry, find_changes


@pytest.mark.parametrize(
    ("old", "new", "text", "carried"),
    [
        (
            "3 of 3 passed today",
            "3 of 3 succeeded today",
            "1 of 1 passed today",
            "1 of 1 succeeded today",
        ),
        (
            "to see it again:",
            "to repeat it:",
            "do this to see it again:\n\nmore",
            "do this to repeat it:\n\nmore",
        ),
        ("a pass of it", "a run of it", "pass the salt", "pass the salt"),
        (
            "sizes of 2 files",
            "the sizes of 2 files",
            "- sizes of 9 files",
            "- the sizes of 9 files",
        ),
        ("it is really done now", "it is done now", "it is really done yet", "it is done yet"),
        (
            "## Devices\n\n| a |",
            "## Machines\n\n| a |",
            "x\n\n## Devices\n\n| b |",
            "x\n\n## Machines\n\n| b |",
        ),
        ("same", "same", "same", "same"),
        ("a b c d", "a x c y", "a b c d", "a x c y"),
    ],
)
def test_a_change_is_made_where_a_neighbour_is_the_same(
    old: str, new: str, text: str, carried: str
) -> None:
    assert carry(find_changes(old, new), text) == carried
