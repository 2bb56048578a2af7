"""Link maps of lld: bytes per object, own and library objects apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.errors import InputError
from support.linkmap import LinkMap, Shares, parse_link_map, split

HEAD = "             VMA              LMA     Size Align Out     In      Symbol"
MAP = f"""{HEAD}
             2a8              2a8       1b     1 .interp
             2a8              2a8       1b     1         <internal>:(.interp)
             630              630       10     1 .rodata
             630              630        6     1         a.o:(.rodata)
             630              630        0     1                 $d.2
             630              630        6     1                 text
           10780            10780      158    64 .text
           10780            10780       34    64         /usr/lib/Scrt1.o:(.text)
           10894            10894       3c     4         a.o:(.text.main)
           10894            10894       3c     1                 main
           108d0            108d0        8     4         libb.a(b.o):(.text.f)
           108d0            108d0        8     1                 f(int, char:(x))
           30d40            30d40        1     1 .bss
           30d40            30d40     1000     1         a.o:(.bss)
               0                0       56     1 .comment
               0                0       56     1         a.o:(.comment)
           40000            40000        4     4 .tail
           40000            40000        4     4         a.o:(.tail)
"""


def parse(text: str) -> LinkMap:
    return parse_link_map(text, source="lar.map")


def test_bytes_per_object() -> None:
    """Sections that take room in the file, summed by object; symbols only repeat them."""
    assert parse(MAP) == LinkMap(
        objects=(
            ("/usr/lib/Scrt1.o", 0x34),
            ("<internal>", 0x1B),
            ("a.o", 0x6 + 0x3C + 0x4),
            ("libb.a(b.o)", 0x8),
        )
    )


def test_split() -> None:
    """Own objects by pattern; everything else, the linker's own too, is library."""
    assert split(parse(MAP), ["a.o", "libb.a(*"]) == Shares(own_bytes=78, library_bytes=79)
    assert split(parse(MAP), []) == Shares(own_bytes=0, library_bytes=157)


def test_objects_with_spaces_and_colons() -> None:
    """A path may hold nearly anything; the section stands behind the last colon."""
    text = MAP.replace("a.o:(.tail)", "my dir/x:(y).o:(.tail)")

    assert ("my dir/x:(y).o", 4) in parse(text).objects


def test_windows_of_a_map() -> None:
    """A map without sections holds nothing."""
    assert parse(HEAD) == LinkMap(objects=())
    assert parse(f"{HEAD}\n\n") == LinkMap(objects=())


@pytest.mark.parametrize("text", ["", "Archive member included\n", "\n" + HEAD])
def test_other_text_is_refused(text: str) -> None:
    """A map of another linker has another head."""
    with pytest.raises(InputError) as caught:
        parse(text)

    assert caught.value.message.startswith("lar.map:1: found ")
    assert caught.value.message.endswith("expected the head of a link map of lld")


def test_message_shows_the_first_line() -> None:
    """That is where the head should be."""
    with pytest.raises(InputError) as caught:
        parse("Archive member\nsecond")

    assert caught.value.message == (
        "lar.map:1: found 'Archive member', expected the head of a link map of lld"
    )


def test_row_outside_of_a_section_does_not_count() -> None:
    """Nothing says that it takes room in the file."""
    assert parse(f"{HEAD}\n     2a8   2a8   1b     1         a.o:(.text)\n").objects == ()


def test_cut_off_map_is_refused() -> None:
    """With the line at which it broke off."""
    with pytest.raises(InputError) as caught:
        parse(f"{HEAD}\n             2a8              2a8       1b     1 .interp\n      2a8   1")

    assert caught.value.message == (
        "lar.map:3: found '      2a8   1', expected address, size and name"
    )


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """One clear message with its line, or a map."""
    for whole in (text, f"{HEAD}\n{text}"):
        try:
            parse(whole)
        except InputError as error:
            assert error.message.startswith("lar.map:")
