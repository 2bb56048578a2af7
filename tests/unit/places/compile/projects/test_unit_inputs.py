"""What a compiler read for a unit, and whether it changed since."""

import pytest

from megtrim.places.compile.projects.link.unit_inputs import parse_inputs


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("unit: a.c\n", ["a.c"]),
        ("unit: a.c \\\n  /usr/include/b.h \\\n  c.h\n", ["a.c", "/usr/include/b.h", "c.h"]),
        ("unit: with\\ blank.c a\\#b.h c$$d.h\n", ["with blank.c", "a#b.h", "c$d.h"]),
        ("unit:\n", []),
        ("", []),
    ],
)
def test_files_that_a_compiler_lists(text: str, files: list[str]) -> None:
    assert [*parse_inputs(text)] == files
