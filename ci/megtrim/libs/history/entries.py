"""The files of a history: each is written once, and named by its time, commit and content.

A name has a digest of the content: no two writers share a file. Days and times are in UTC.

    runs/2026/11/20261123T020000Z-1a2b3c4d5e6f-0123456789abcdef.json
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Generic, Protocol, TypeVar

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import decode
from megtrim.libs.util.strict_json import dump, load
from megtrim.libs.util.value import Value

LONGEST_LINE = 300
_DIGEST_DIGITS = 16
_NAME_TIME = "%Y%m%dT%H%M%SZ"
_CLOCKS_APART = timedelta(days=1)
_PATH = re.compile(
    r"(?P<folder>[a-z]+)/(?P<year>[0-9]{4})/(?P<month>[0-9]{2})/"
    r"(?P<id>(?P<day>[0-9]{8})T[0-9]{6}Z-[0-9a-f]{12}-[0-9a-f]{16})\.json",
    re.ASCII,
)
_NEWER = re.compile(r"version: found ([0-9]+), ")


class HistoryEntry(Protocol):
    """A value of :mod:`~megtrim.libs.util.strict_json` that knows its path in the history."""

    @property
    def path(self) -> str:
        """Return it, relative to the folder or branch of the history."""


Entry = TypeVar("Entry", bound=HistoryEntry)


class UnreadableFile(Value):
    path: str
    message: str


class History(Value, Generic[Entry]):
    """Every entry of one kind that could be read, oldest first, and the files that could not."""

    entries: tuple[Entry, ...]
    unreadable: tuple[UnreadableFile, ...] = ()

    def add(self, unreadable: Iterable[UnreadableFile]) -> History[Entry]:
        every = sorted((*self.unreadable, *unreadable), key=lambda each: each.path)
        return History(entries=self.entries, unreadable=tuple(every))

    def until(self, now: datetime) -> History[Entry]:
        kept = tuple(entry for entry in self.entries if not is_future(entry, now))
        expected = f"expected one up to {now:%Y-%m-%d}"
        return History(entries=kept, unreadable=self.unreadable).add(
            UnreadableFile(
                path=entry.path, message=f"{entry.path}:1: found a time in the future, {expected}"
            )
            for entry in self.entries
            if is_future(entry, now)
        )


class EntryKind(Value, Generic[Entry]):
    kind: type[Entry]
    version: int
    folder: str
    """Lower-case letters."""
    noun: str
    """What an entry is called in messages, such as ``run``."""
    hint: str
    largest_bytes: int
    most: int

    def is_path(self, path: str) -> bool:
        found = _PATH.fullmatch(path)
        return (
            found is not None
            and found["folder"] == self.folder
            and found["day"].startswith(found["year"] + found["month"])
        )

    def select(self, paths: Iterable[str], since: date | None = None) -> tuple[str, ...]:
        """Names say when, so older files need not be read. Raises InputError for too many."""
        oldest = "" if since is None else f"{since:%Y%m%d}"
        found = sorted(
            path for path in paths if self.is_path(path) and _name_of(path)[:8] >= oldest
        )
        if len(found) > self.most:
            msg = f"found {len(found):,} {self.noun}s in a history, expected at most {self.most:,}"
            raise InputError(msg, hint="name a first day: --since 2026-01-31")
        return tuple(found)

    def parse(self, text: str, *, source: str) -> Entry:
        """Raises InputError naming ``source``, the line and the flaw."""
        try:
            return load(self.kind, text, source=source, version=self.version, hint=self.hint)
        except InputError as error:
            newer = _NEWER.search(error.message)
            if newer is None or int(newer[1]) <= self.version:
                raise
            hint = f"{self.hint}; if a newer megtrim wrote it, update megtrim"
            raise InputError(error.message, hint=hint) from None

    def parse_file(self, path: str, data: bytes) -> Entry:
        if len(data) > self.largest_bytes:
            msg = f"{path}: found {len(data):,} bytes, expected at most {self.largest_bytes:,}"
            raise InputError(msg, hint=self.hint)
        entry = self.parse(decode(data, shown=path, hint=self.hint), source=path)
        if entry.path != path:
            msg = f"{path}:1: found the entry of {entry.path}, expected it under its own name"
            raise InputError(msg, hint=self.hint)
        return entry

    def collect(self, files: Iterable[tuple[str, bytes]]) -> History[Entry]:
        entries: dict[str, Entry] = {}
        unreadable: list[UnreadableFile] = []
        for path, data in files:
            try:
                entries[path] = self.parse_file(path, data)
            except InputError as error:
                unreadable.append(UnreadableFile(path=path, message=str(error)))
        found = tuple(entries[path] for path in sorted(entries, key=_name_of))
        return History(entries=found).add(unreadable)


def name_entry(entry: object, time: datetime, commit: str) -> str:
    digest = hashlib.sha256(dump(entry).encode()).hexdigest()[:_DIGEST_DIGITS]
    return f"{time:{_NAME_TIME}}-{commit[:12]}-{digest}"


def place_entry(folder: str, time: datetime, name: str) -> str:
    return f"{folder}/{time:%Y/%m}/{name}.json"


def is_future(entry: HistoryEntry, now: datetime) -> bool:
    """Return whether an entry is dated after ``now``, by more than clocks differ."""
    text = _name_of(entry.path).partition("-")[0]
    return datetime.strptime(text, _NAME_TIME).replace(tzinfo=UTC) - now > _CLOCKS_APART


def parse_time(key: str, text: str) -> datetime:
    try:
        found = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        found = None
    if found is None or show_time(found) != text:
        msg = f"{key}: found {text[:60]!r}, expected a time such as 2026-11-23T02:00:00Z"
        raise ValueError(msg)
    return found


def show_time(time: datetime) -> str:
    in_utc = time.astimezone(UTC)
    return f"{in_utc.year:04}-{in_utc:%m-%dT%H:%M:%SZ}"


def expect_match(pattern: re.Pattern[str], key: str, text: str, expected: str) -> None:
    if pattern.fullmatch(text) is None:
        msg = f"{key}: found {text[:80]!r}, expected {expected}"
        raise ValueError(msg)


def expect_line(key: str, text: str, *, may_be_empty: bool = False) -> None:
    if len(text) > LONGEST_LINE or not text.isprintable() or not (text.strip() or may_be_empty):
        expected = f"one line of at most {LONGEST_LINE} characters"
        msg = f"{key}: found {text[:60]!r}, expected {expected}"
        raise ValueError(msg)


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]
