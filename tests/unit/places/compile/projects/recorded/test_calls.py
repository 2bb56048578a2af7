import json
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.util.errors import InputError
from megtrim.places.compile.projects.recorded.calls import (
    LARGEST_FILE,
    RecordedCall,
    Role,
    expand,
    read_record,
    split,
)

WORD = st.text(st.characters(exclude_characters="\0"), max_size=20)
CALL: dict[str, Any] = {
    "role": "compiler",
    "cwd": "/src",
    "program": "/usr/bin/cc",
    "arguments": ["-c", "a.c"],
    "files": {},
}


def write(**changes: Any) -> bytes:
    return json.dumps({**CALL, **changes}).encode() + b"\n"


def read(data: bytes) -> list[RecordedCall]:
    return list(read_record(data, "calls.jsonl"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n\t", []),
        ("a b\nc", ["a", "b", "c"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        ("a'b c'd", ["ab cd"]),
        (r"a\ b \'c \\", ["a b", "'c", "\\"]),
        (r"'a\'b'", ["a'b"]),
        (r'"c\"d"', ['c"d']),
        ("'' \"\"", ["", ""]),
        ("'a\nb'", ["a\nb"]),
        ("'never closed", ["never closed"]),
        ("ends with\\", ["ends", "with"]),
        ("caf\u00e9\u00a0x", ["caf\u00e9\u00a0x"]),
    ],
)
def test_words_of_a_response_file(text: str, words: list[str]) -> None:
    assert list(split(text)) == words


@given(st.lists(WORD))
def test_quoted_words_come_back(words: list[str]) -> None:
    text = " ".join("'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'" for word in words)

    assert list(split(text)) == words


@given(st.lists(st.text("abc-=./", min_size=1)))
def test_plain_words_are_those_of_a_shell(words: list[str]) -> None:
    text = "\n".join(words)

    assert list(split(text)) == shlex.split(text)


@pytest.mark.parametrize(
    ("words", "files", "expanded"),
    [
        (("a", "@x"), {}, ("a", "@x")),
        (("a", "@x", "d"), {"x": "b c"}, ("a", "b", "c", "d")),
        (("@x",), {"x": "a @y", "y": "'b c'"}, ("a", "b c")),
        (("@x", "@x"), {"x": "a"}, ("a", "a")),
        (("@x",), {"x": ""}, ()),
    ],
)
def test_words_of_files_take_their_places(
    words: tuple[str, ...], files: dict[str, str], expanded: tuple[str, ...]
) -> None:
    assert expand(words, files, source="r:1") == expanded


@pytest.mark.parametrize(
    "files",
    [{"x": "@x"}, {"x": "@y", "y": "a @x"}, {"x": "@x @x"}, {"x": "a" * (LARGEST_FILE + 1)}],
)
def test_files_without_an_end_are_refused(files: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"^r:1: .*'?@x"):
        expand(("@x",), files, source="r:1")


def test_files_that_multiply_are_refused() -> None:
    files = {str(depth): f"@{depth + 1} " * 100 for depth in range(8)}

    with pytest.raises(InputError, match="more than 1,000,000 words"):
        expand(("@0",), files, source="r:1")


def test_a_record_is_read() -> None:
    data = write() + write(role="archiver", arguments=["rcs", "@x"], files={"x": "a.o 'b c.o'"})

    assert read(data) == [
        RecordedCall(
            role=Role.COMPILER, cwd="/src", program="/usr/bin/cc", arguments=("-c", "a.c")
        ),
        RecordedCall(
            role=Role.ARCHIVER,
            cwd="/src",
            program="/usr/bin/cc",
            arguments=("rcs", "a.o", "b c.o"),
        ),
    ]


@given(st.lists(WORD))
def test_any_words_come_back(words: list[str]) -> None:
    (call,) = read(write(arguments=words))

    assert list(call.arguments) == words


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (write()[:-1], "calls.jsonl:1: found a line that is cut off"),
        (write() + write()[:20], "calls.jsonl:2: found a line that is cut off"),
        (write() + b"x\n", "calls.jsonl:2: found no JSON"),
        (b"\xff\n", "calls.jsonl:1: found no JSON"),
        (b"[" * 100_000 + b"\n", "calls.jsonl:1: found no JSON"),
        (b"[]\n", "calls.jsonl:1: found other keys"),
        (write(more=1), "calls.jsonl:1: found other keys"),
        (write(role="cook"), "calls.jsonl:1: role: found 'cook'"),
        (write(role=["compiler"]), "calls.jsonl:1: role: found"),
        (write(cwd="src"), "calls.jsonl:1: cwd or program"),
        (write(program=3), "calls.jsonl:1: found something else than text"),
        (write(arguments="a"), "calls.jsonl:1: arguments or files"),
        (write(arguments=[1]), "calls.jsonl:1: found something else than text"),
        (write(arguments=["a\0b"]), "calls.jsonl:1: found something else than text"),
        (write(files=[]), "calls.jsonl:1: arguments or files"),
        (write(arguments=["@x"], files={"x": "@x"}), "calls.jsonl:1: found '@x' in"),
    ],
)
def test_what_no_wrapper_writes_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(data)

    assert caught.value.message.startswith(message)
