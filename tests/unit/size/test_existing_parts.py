"""Which sections and components an artifact has in any of its builds."""

from __future__ import annotations

import pytest

from megtrim.errors import InputError
from megtrim.size.byte_table import ByteTable
from megtrim.size.existing_parts import ExistingParts, list_parts

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
