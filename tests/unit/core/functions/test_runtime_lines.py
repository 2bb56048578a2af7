"""The runtime's words and their meanings: each of ``rest.c``, and no other."""

import re
from importlib.resources import files

import pytest

from megtrim.core.functions.runtime_lines import REASONS, RuntimeLine

SOURCE = (files("megtrim.core.functions") / "rest.c").read_text(encoding="utf-8")
SAID = re.compile(
    r"\"((?:is (?:not there|incomplete|no rest|of another|damaged)|cannot (?:be|not)|it was changed"
    r"|this system lets)[^\"\n]*)\""
)


def test_each_reason_of_the_runtime_has_its_advice() -> None:
    assert set(SAID.findall(SOURCE)) == set(REASONS)


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_is_read_as_the_runtime_writes_it(reason: str) -> None:
    for line in (
        f"megtrim: cannot start: {reason}",
        f"megtrim: the code at 0x01a0b260 is in /a folder, which is odd/x.rest, which {reason}",
    ):
        found = RuntimeLine.find(f"before\n{line}\nqemu: uncaught target signal 5\n")

        assert found is not None
        assert found.reason == reason
        assert found.starts is ("cannot start" not in line)
        assert "/a folder" not in found.text
        assert found.blame().endswith(REASONS[reason])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I said: megtrim: cannot start: it rains",
        "megtrim: cannot start",
        "megtrim: function #3 is not kept",
        "megtrim: the code at 0xzz is in a.rest, which is not there",
    ],
)
def test_other_lines_are_none_of_the_runtime(text: str) -> None:
    assert RuntimeLine.find(text) is None


def test_the_last_line_is_the_one_it_ended_with() -> None:
    said = "megtrim: the code at 0x1 is in a.rest, which is no rest\nmegtrim: cannot start: no\n"

    found = RuntimeLine.find(said)

    assert found is not None
    assert found.text == "cannot start: no"
