"""Text of others is shown as it is, but for what is not seen and what a log takes for a command."""

from __future__ import annotations

import json

import pytest

from megtrim.util.printable import make_printable

PLAIN = (
    "",
    "a b\n\tc",
    "models/模型.mge",
    "10 000 - 3 µs",
    "C:\\x",
    "a::b",
    "std::v",
    "#[x]",
    "# #",
)
SHOWN = {
    "\x1b[31mred": "\\u001b[31mred",
    "\x1b]0;title\x07": "\\u001b]0;title\\u0007",
    "a\rb": "a\\u000db",
    "\x9b31m": "\\u009b31m",
    "exe.\u202egnp": "exe.\\u202egnp",
    "\u2066a\u2069": "\\u2066a\\u2069",
    "\u061ca": "\\u061ca",
    "a\u200bb\ufeff": "a\\u200bb\\ufeff",
    "a\u2028b": "a\\u2028b",
    "\U000e0041": "\\udb40\\udc41",
    "\ud800": "\\ud800",
    "\x00": "\\u0000",
    "::error::x": "\\u003a:error::x",
    "a\n  ::set-env name=A::b": "a\n  \\u003a:set-env name=A::b",
    "\u00a0::stop-commands::x": "\u00a0\\u003a:stop-commands::x",
    "a\r::debug::x": "a\\u000d::debug::x",
    "x ##[error]a": "x #\\u0023[error]a",
    "##vso[task.setvariable]": "#\\u0023vso[task.setvariable]",
}


@pytest.mark.parametrize("text", PLAIN)
def test_what_anyone_can_see_stays(text: str) -> None:
    assert make_printable(text) == text


@pytest.mark.parametrize("text", SHOWN)
def test_what_is_not_seen_is_spelled_out(text: str) -> None:
    assert make_printable(text) == SHOWN[text]
    assert make_printable(SHOWN[text]) == SHOWN[text]


@pytest.mark.parametrize("text", [text for text in SHOWN if text != "\x00"])
def test_a_document_stays_the_same(text: str) -> None:
    written = json.dumps({"name": f"##[{text}"}, ensure_ascii=False, indent=1)

    assert json.loads(make_printable(written)) == json.loads(written)
