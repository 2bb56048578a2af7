"""What a file measures besides its stripped size."""

from __future__ import annotations

from collections import Counter

import pytest

from megtrim.size.breakdown import Breakdown, ByteRow, FileSizes
from megtrim.size.byte_table import ByteTable
from megtrim.size.measures import ExistingParts, find_measure, list_measures, list_parts
from megtrim.util.errors import InputError

SIZES = FileSizes(
    file_bytes=100, stripped_bytes=90, memory_bytes=80, text_bytes=40, deflated_bytes=30
)
ROWS = Counter(
    {
        ByteRow(".text", "kernels/x86", "f", "a.o"): 30,
        ByteRow(".text", "runtime", "g", "b.o"): 10,
        ByteRow("[ELF header]", "headers", "[headers]", "[not known]"): 64,
    }
)
TABLE = ByteTable(
    least_bytes=64,
    components={
        "kernels": {"h": 1},
        "kernels/x86": {"f": 2},
        "kernels/x86/conv_bias": {"g": 4},
        "kernels/x86_other": {"i": 8},
    },
)
UNNAMED = ByteTable(least_bytes=64, components={"code": {"[smaller]": 9}, "headers": {"h": 64}})


def test_the_measures_of_a_file() -> None:
    """Headers are in no section; a price is there if it is known."""
    found = Breakdown(sizes=SIZES, rows=ROWS)

    assert list_measures(found) == {"loaded": 80, "deflated": 30, "section .text": 40}
    assert list_measures(found, {"resnet50": 7})["model resnet50"] == 7


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("", 90),
        ("loaded", 80),
        ("section .text", 40),
        ("section .gone", 0),
        ("model resnet50", None),
        ("component kernels", 15),
        ("component kernels/x86", 6),
        ("component operators", 0),
    ],
)
def test_a_measure_is_found_by_its_name(measure: str, expected: int | None) -> None:
    """A component has all below it, and nothing that is only called alike."""
    measures = {"loaded": 80, "section .text": 40}

    assert find_measure(measure, 90, measures, TABLE) == expected


def test_what_was_not_measured_is_not_0_bytes() -> None:
    """A budget of it would pass for ever."""
    assert find_measure("section .text", 90, None, TABLE) is None
    assert find_measure("component kernels", 90, {}, None) is None
    assert find_measure("component kernels", 90, {}, UNNAMED) is None
    assert find_measure("component code", 90, {}, UNNAMED) == 9


KNOWN = ExistingParts(
    sections=frozenset({".text"}), components=frozenset({"kernels/x86/conv_bias", "runtime"})
)


MORE = ExistingParts(sections=frozenset({".relr.dyn"}), components=frozenset({"operators"}))


def expect(measure: str, known: ExistingParts = KNOWN) -> None:
    """Expect a measure of an artifact."""
    known.expect(measure, MORE, budget=f"lar {measure}", artifact="lar")


@pytest.mark.parametrize(
    "measure",
    [
        *("section .text", "section .relr.dyn", "component kernels", "component kernels/x86"),
        *("component runtime", "component operators", "deflated"),
    ],
)
def test_what_some_build_has_may_be_gone(measure: str) -> None:
    """A component is there if one below it is; other measures are of the whole file."""
    expect(measure)


@pytest.mark.parametrize(
    ("measure", "near"),
    [
        ("section .txt", " (did you mean .text?)"),
        ("section mgb", ""),
        ("component kernels/x86/conv_bais", " (did you mean kernels/x86/conv_bias?)"),
        ("component kernel", " (did you mean kernels?)"),
    ],
)
def test_what_no_build_has_is_refused(measure: str, near: str) -> None:
    """With what was probably meant."""
    with pytest.raises(InputError) as caught:
        expect(measure)

    assert caught.value.message.endswith(f"no build of lar has a {measure}{near}")


def test_without_symbols_no_component_is_refused() -> None:
    """What a stripped program had cannot be seen, whatever what ships still has."""
    stripped = list_parts(
        {"section .text": 4, "loaded": 9}, ByteTable(least_bytes=64, components={})
    )

    assert stripped == ExistingParts(sections=frozenset({".text"}))
    expect("component kernels/x86", stripped)


def test_the_parts_of_two_builds_are_one_list() -> None:
    """A build that is not measured adds nothing."""
    table = ByteTable(least_bytes=64, components={"operators": {"f": 1}, "padding": {"p": 1}})

    found = list_parts(None, table) | list_parts({"section .data": 1}, None)

    assert found.sections == {".data"}
    assert found.components == {"operators", "padding"}
