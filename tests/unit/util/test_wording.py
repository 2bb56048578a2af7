import json

import pytest

from megtrim.util.wording import COMMIT_DIGEST, make_printable

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


@pytest.mark.parametrize(
    ("text", "names_a_commit"),
    [
        *(("0123456789" * 4, True), ("ab" * 32, True)),
        *((text, False) for text in ("", "1a2b3c4", "a" * 39, "a" * 41, "a" * 63, "a" * 65)),
        *((text, False) for text in ("A" * 40, "g" * 40, "a" * 40 + "\n", "\uff11" * 40)),
    ],
)
def test_only_a_whole_digest_names_a_commit(text: str, names_a_commit: bool) -> None:
    assert (COMMIT_DIGEST.fullmatch(text) is not None) is names_a_commit
