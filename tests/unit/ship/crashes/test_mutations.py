"""Each report, damaged in every single way: it is refused, or what is said of it is right.

A report is *refused* if it is an error, or if it cannot be told what crashed. It is *right* if the
truth is among what may have been left out, or if trimming is not at fault and nothing of it is.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.libs.util.errors import InputError
from megtrim.ship.crashes.finding import NO_BUILD_ID, CrashCause
from megtrim.ship.crashes.lookup import RENAMED, look_up
from megtrim.ship.crashes.report import parse_report
from support.crash_documents import (
    CERTAIN,
    DOCUMENTS,
    encode,
    mutate_json,
    mutate_proto,
    proto_tombstone,
)
from support.crash_reports import LAYOUTS, FieldPlace, fill_layouts, judge, list_places
from support.made_programs import STAYS, STUB_AT
from unit.ship.crashes.made_programs import numbered

PROGRAM = replace(numbered(), name="libengine.so")
SITES = {"first()": STUB_AT, "kern<3>": STUB_AT + 8}
PLACES = list_places(PROGRAM, SITES, STAYS + 4)
FEW = (PLACES[0], PLACES[2], PLACES[3])
"""What was left out, what was kept, and another library."""


THROWN = ("exception", "values", 0)
FIRST = (*THROWN, "stacktrace", "frames", 2)
CALLED = ("exceptions", 0, "stacktrace", 0)
CONTEXT = ("crashing_thread", "frames", 0)


def weigh(place: FieldPlace, data: bytes) -> str:
    """Return ``refused``, ``right``, ``unnamed`` or ``wrong``.

    ``unnamed`` is an answer with a doubt to a report that, as it is now, has no build id: it names
    another library, or none, so that an address has its place in a page alone.
    """
    try:
        finding = look_up(parse_report(data, source="r"), [PROGRAM])
    except InputError:
        return "refused"
    if finding.cause is CrashCause.UNKNOWN:
        return "refused"
    named = [each.name for each in finding.candidates]
    if place.name in named or (not place.name and finding.cause is CrashCause.NOT_TRIMMING):
        return "right"
    blamed = finding.cause is CrashCause.CANDIDATES and NO_BUILD_ID in finding.why_several
    cleared = finding.cause is CrashCause.NOT_TRIMMING and RENAMED in finding.why_several
    return "unnamed" if finding.is_doubtful and (blamed or cleared) else "wrong"


def mutate_text(text: str) -> Iterator[tuple[str, bytes]]:
    lines = text.splitlines()
    for at, line in enumerate(lines):
        before = lines[:at]
        after = lines[at + 1 :]
        yield f"without line {at + 1}", "\n".join([*before, *after]).encode()
        for changed in (line[: len(line) // 2], line[: len(line) * 3 // 4]):
            yield (
                f"line {at + 1} cut to {changed!r}",
                "\n".join([*before, changed, *after]).encode(),
            )
        if after:
            swapped = [*before, after[0], line, *after[1:]]
            yield f"line {at + 1} behind the next", "\n".join(swapped).encode()
        for found in re.finditer(r"\S+", line):
            without = line[: found.start()] + line[found.end() :]
            yield (
                f"line {at + 1} without {found[0]!r}",
                "\n".join([*before, without, *after]).encode(),
            )
        for found in re.finditer(r"[A-Za-z]{2,}", line):
            if re.fullmatch(r"[0-9a-fA-F]+", found[0]) is None:
                renamed = f"{line[: found.end()]}q{line[found.end() :]}"
                yield f"line {at + 1}: {renamed!r}", "\n".join([*before, renamed, *after]).encode()
    yield "of Windows", text.replace("\n", "\r\n").encode()
    yield "backwards", "\n".join(reversed(lines)).encode()
    for share in range(1, 12):
        yield f"cut at {share}/12", text[: len(text) * share // 12].encode()


@pytest.mark.parametrize("path", sorted(LAYOUTS.glob("*.txt")), ids=lambda each: each.stem)
def test_a_damaged_text_is_refused_or_right(path: Path) -> None:
    count = Counter[str]()
    said = []
    for report in fill_layouts(list(FEW)):
        if not report.title.startswith(f"{path.stem}:"):
            continue
        for what, data in mutate_text(report.text):
            if f"{report.place.pc & 0xFFF:x}" not in data.decode():
                continue  # it is the report of another crash, if of any
            weighed = weigh(report.place, data)
            count[weighed] += 1
            if weighed == "wrong":
                said.append((report.title, what))
    assert said == []
    assert count.total() > 100


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_service_is_read(name: str) -> None:
    for place in PLACES:
        data = json.dumps(DOCUMENTS[name](place)).encode()
        certain, lie = judge(place, data, [PROGRAM])
        assert not lie, place.what
        assert certain or name not in CERTAIN, place.what
        assert weigh(place, data) in ("right", "refused")
        if place.name:
            assert weigh(place, data) == "right"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_damaged_document_is_refused_or_right(name: str) -> None:
    count = Counter[str]()
    said = []
    for place in FEW:
        for what, data in mutate_json(DOCUMENTS[name](place)):
            weighed = weigh(place, data)
            count[weighed] += 1
            if weighed == "wrong":
                said.append((place.what, what))
    assert said == []


@pytest.mark.parametrize(
    ("name", "path", "value", "words"),
    [
        ("Sentry", (*FIRST, "package"), "/lib/libother.so", "package of a frame is 'libother.so'"),
        ("Sentry", (*FIRST, "image_addr"), "0x1000", "image_addr of a frame is not that of"),
        ("Sentry", (*FIRST, "addr_mode"), "rel:0", "addr_mode is 'rel:0'"),
        ("Sentry", ("debug_meta", "images", 1, "debug_id"), "12" * 16, "belong to two files"),
        ("Sentry", (*THROWN, "type"), "SIGSEGV", "signal.number is 5, and the type is that of 11"),
        ("Sentry", ("debug_meta", "images", 1, "code_id"), "none", "expected a build id"),
        ("Bugsnag", (*CALLED, "frameAddress"), "0x1234", "belong to different places"),
        ("Bugsnag", (*CALLED, "isPC"), False, "not said to be that of the crash"),
        ("Crashlytics", ("threads", 0, "crashed"), True, "it has 2 of what should be there once"),
        ("Crashlytics", ("threads", 1, "frames", 0, "offset"), "7", "belong to different places"),
        ("Backtrace", ("mainThread",), "1", "the thread at fault is not mainThread"),
        ("minidump-stackwalk", (*CONTEXT, "module_offset"), "0x7", "module_offset of a frame"),
        ("minidump-stackwalk", (*CONTEXT, "trust"), "scan", "is not that of the crash"),
    ],
)
def test_a_document_that_contradicts_itself_is_refused(
    name: str, path: tuple[str | int, ...], value: object, words: str
) -> None:
    document = json.loads(json.dumps(DOCUMENTS[name](PLACES[0])))
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    with pytest.raises(InputError, match=re.escape(words)):
        parse_report(json.dumps(document).encode(), source="r")


def test_a_tombstone_in_protobuf_is_read() -> None:
    for place in PLACES:
        data = encode(proto_tombstone(place))
        assert judge(place, data, [PROGRAM]) == (True, False), place.what


def test_a_damaged_tombstone_in_protobuf_is_refused_or_right() -> None:
    count = Counter[str]()
    said = []
    for place in FEW:
        for what, data in mutate_proto(proto_tombstone(place)):
            weighed = weigh(place, data)
            count[weighed] += 1
            if weighed == "wrong":
                said.append((place.what, what))
    assert said == []
