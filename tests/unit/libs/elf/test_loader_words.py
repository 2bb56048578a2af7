import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.elf.layout import ElfLayout
from megtrim.libs.elf.loader_words import DividedWords, divide
from unit.libs.elf.made_objects import ALLOC, ARM, REL, RELA, WRITE, Part, object_file

RELATIVE = 1027
POINTER = 257
SLOT = 1025
IMPORTED = 1 << 63
OWN = range(0x2000, 0x2100)
LATE = range(0x9000, 0x9200)
IMPORTS = range(0x1F00, 0x1F10)
Row = tuple[int, int, int]


def divided(rows: Sequence[Row]) -> DividedWords:
    content = b"".join(struct.pack("<QQq", *row) for row in rows)
    part = Part(name=".rela.dyn", content=content, flags=ALLOC, kind=RELA)
    layout = ElfLayout(object_file([part], [], kind=3))
    table = next(each for each in layout.sections if each.name == part.name)
    return divide(layout, table, OWN, LATE, IMPORTS)


def unpack(words: DividedWords) -> list[Row]:
    return [*struct.iter_unpack("<QQq", words.rows)]


@pytest.mark.parametrize(
    ("rows", "stay", "words"),
    [
        pytest.param([(0x1000, RELATIVE, 5)], [(0x1000, RELATIVE, 5)], {}, id="elsewhere"),
        pytest.param([(0x2008, RELATIVE, 5)], [], {0x2008: 5}, id="in its own data"),
        pytest.param([(0x2004, RELATIVE, 5)], [(0x2004, RELATIVE, 5)], {}, id="between two words"),
        pytest.param([(0x2008, POINTER, 5)], [(0x2008, POINTER, 5)], {}, id="a name in its own"),
        pytest.param([(0x9000, RELATIVE, 5)], [], {0x9000: 5}, id="in what is deferred"),
        pytest.param(
            [(0x9000, POINTER, 0), (0x9010, POINTER, 16), (0x9018, POINTER, 0)],
            [(0x1F00, POINTER, 0), (0x1F08, POINTER, 16)],
            {0x9000: IMPORTED, 0x9010: IMPORTED | 1, 0x9018: IMPORTED},
            id="names in what is deferred",
        ),
        pytest.param(
            [(0x1008, SLOT, 0), (0x9000, POINTER, 0), (0x1000, RELATIVE, 5)],
            [(0x1000, RELATIVE, 5), (0x1F00, POINTER, 0), (0x1008, SLOT, 0)],
            {0x9000: IMPORTED},
            id="those without a name come first",
        ),
    ],
)
def test_what_stays_in_the_loaders_table(
    rows: list[Row], stay: list[Row], words: dict[int, int]
) -> None:
    made = divided(rows)
    assert unpack(made) == stay
    assert made.words == words
    assert made.relative == sum(kind == RELATIVE for _, kind, _ in stay)


@given(st.sets(st.integers(0, 63), max_size=20))
def test_each_word_has_its_bit(words: set[int]) -> None:
    bits = divided([(LATE.start + 8 * at, RELATIVE, at) for at in words]).bits(LATE)
    assert {at for at in range(64) if bits[at // 8] >> at % 8 & 1} == words
    assert len(bits) == 8


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(0x9004, RELATIVE, 0)], "between two words"),
        ([(0x9000 + 8 * at, POINTER, at) for at in range(3)], "3 names in other files"),
    ],
)
def test_what_a_rest_cannot_hold_is_refused(rows: list[Row], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        divided(rows)


ARM_RELATIVE = 23
ARM_POINTER = 0x102
ARM_SLOT = 0x216
ARM_IMPORTED = 1 << 31
BARE_LATE = range(0x9000, 0x9040)
HELD = {0x1000: 3, 0x2004: 5, 0x9000: 7, 0x9004: 0, 0x9008: 16, 0x900C: 0}
"""What words hold before the loader fills them in: its rows for 32-bit Arm have no addends."""


def divided_on_arm(rows: Sequence[tuple[int, int]]) -> DividedWords:
    words = bytearray(0x8040)
    for at, held in HELD.items():
        struct.pack_into("<I", words, at - 0x1000, held)
    table = Part(
        name=".rel.dyn",
        content=b"".join(struct.pack("<II", *row) for row in rows),
        flags=ALLOC,
        kind=REL,
    )
    data = Part(name=".data", content=bytes(words), flags=ALLOC | WRITE, address=0x1000)
    layout = ElfLayout(object_file([table, data], [], kind=3, machine=ARM))
    found = next(each for each in layout.sections if each.name == table.name)
    return divide(layout, found, OWN, BARE_LATE, IMPORTS)


def test_rows_without_addends_leave_them_where_they_are() -> None:
    made = divided_on_arm(
        [
            (0x1000, ARM_RELATIVE),
            (0x2004, ARM_RELATIVE),
            (0x9000, ARM_RELATIVE),
            (0x1008, ARM_SLOT),
            (0x9004, ARM_POINTER),
            (0x9008, ARM_POINTER),
            (0x900C, ARM_POINTER),
        ]
    )
    assert [*struct.iter_unpack("<II", made.rows)] == [
        (0x1000, ARM_RELATIVE),
        (0x1F00, ARM_POINTER),
        (0x1F04, ARM_POINTER),
        (0x1008, ARM_SLOT),
    ]
    assert made.relative == 1
    assert made.words == {
        0x2004: 5,
        0x9000: 7,
        0x9004: ARM_IMPORTED,
        0x9008: ARM_IMPORTED | 1,
        0x900C: ARM_IMPORTED,
    }
    assert made.added == {0x1F00: 0, 0x1F04: 16}
    assert made.bits(BARE_LATE) == bytes((0b1111, 0))


def test_an_address_between_two_words_of_32_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="between two words"):
        divided_on_arm([(0x9002, ARM_RELATIVE)])
