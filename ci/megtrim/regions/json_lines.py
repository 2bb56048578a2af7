"""JSON that git can merge line by line: one flat object, one entry a line.

Every entry's line ends with a comma, because the closing entry ``"": "end"`` follows, and no line
opens or closes anything. So where both sides of a merge recorded one scenario again, their lines
can be added, dropped and combined in any order. Pure: text in, values out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from megtrim.util.errors import InputError
from megtrim.util.input_files import expect_merged
from megtrim.util.json_text import expect_finite

MAX_TEXT = 64 * 1024 * 1024
END_KEY, END_VALUE = "", "end"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MERGE_HINT = "keep the lines of both sides, and remove those of the markers: that is the merge"


class Entries(list[tuple[str, Any]]):
    """A JSON object as in the file: in order, and with duplicate keys."""


def dump_entries(entries: Iterable[tuple[str, object]]) -> str:
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in entries]
    closing = f" {json.dumps(END_KEY)}: {json.dumps(END_VALUE)}"
    return "\n".join(["{", *lines, closing, "}"]) + "\n"


@dataclass(frozen=True, slots=True)
class LineReader:
    text: str
    source: str
    hint: str
    command: tuple[str, ...] = ()

    def parse(self) -> Any:
        if len(self.text) > MAX_TEXT:
            self.fail(f"more than {MAX_TEXT} characters")
        expect_merged(self.text, shown=self.source, hint=_MERGE_HINT)
        try:
            return json.loads(self.text, object_pairs_hook=Entries, parse_constant=expect_finite)
        except json.JSONDecodeError as error:
            msg = f"{self.source}:{error.lineno}: not JSON: {error.msg}"
            raise InputError(msg, hint=self.hint, command=self.command) from None
        except (ValueError, RecursionError) as error:
            self.fail(f"not usable as JSON: {str(error)[:100]}")

    def fail(self, problem: str, *keys: str) -> NoReturn:
        """Raise InputError; ``keys`` lead to the wrong entry, from the outside in."""
        at = 0
        for key in keys:
            at = max(at, self.text.find(f"{json.dumps(key)}:", at))
        line = self.text.count("\n", 0, at) + 1
        msg = f"{self.source}:{line}: {problem}"
        raise InputError(msg, hint=self.hint, command=self.command)

    def fields(
        self, value: Any, names: tuple[str, ...], *keys: str, optional: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        if not isinstance(value, Entries):
            self.fail("expected an object", *keys)
        found = [key for key, _ in value]
        for key in found:
            if key not in (known := names + optional):
                self.fail(f"unknown key {key[:80]!r}, expected {', '.join(known)}", *keys, key)
            if found.count(key) > 1:
                self.fail(f"the key {key!r} occurs twice", *keys, key)
        for name in names:
            if name not in found:
                self.fail(f"the key {name!r} is missing", *keys)
        return dict(value)

    def kinds(self, names: tuple[str, ...]) -> dict[str, Entries]:
        """Return the entries by the first word of their keys; the rest remains as the key."""
        value = self.parse()
        if not isinstance(value, Entries):
            self.fail("expected an object")
        found = {name: Entries() for name in names}
        for key, item in value:
            if (key, item) == (END_KEY, END_VALUE):
                continue
            kind, _, name = key.partition(" ")
            if kind not in found:
                self.fail(f"unknown key {key[:80]!r}, expected {', '.join(names)}", key)
            found[kind].append((name, item))
        return found

    def single(self, entries: Entries, kind: str) -> Any:
        """Return the value of a kind without names; two lines may say the same."""
        if not entries:
            self.fail(f"the key {kind!r} is missing")
        for name, value in entries:
            if name:
                self.fail(f"unknown key {f'{kind} {name}'[:80]!r}", f"{kind} {name}")
            if value != entries[0][1]:
                self.fail(f"the key {kind!r} occurs twice, with different values", kind)
        return entries[0][1]

    def mapping(self, value: Any, *keys: str) -> dict[str, Any]:
        if not isinstance(value, Entries):
            self.fail("expected an object", *keys)
        found = dict(value)
        if len(found) != len(value):
            self.fail("a key occurs twice in one object", *keys)
        return found

    def texts(self, value: Any, *keys: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fail("expected a list of texts", *keys)
        return tuple(value)

    def sha256(self, value: Any, *keys: str) -> str:
        if not isinstance(value, str) or not _SHA256.fullmatch(value):
            self.fail("expected a sha256, 64 digits of 0-9 and a-f", *keys)
        return value

    def number(self, value: Any, low: int, high: int, *keys: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(f"expected a whole number from {low} to {high}", *keys)
        return value
