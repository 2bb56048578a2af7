"""Demangling the names of regions, which are untrusted."""

from __future__ import annotations

import pytest

from megtrim.regions.region import MAX_NAME, demangle, problem

NAME = "N6midout6RegionINS_4tags1xEJSt17integral_constantIiLi7EEEEE"


def test_a_region_has_a_readable_name() -> None:
    """What is no mangled name has none; every name is asked for once."""
    nonsense = "N6midout6RegionIoops"

    assert demangle([NAME, NAME, nonsense]) == {
        NAME: "midout::Region<midout::tags::x, std::integral_constant<int, 7> >",
        nonsense: "",
    }
    assert problem(NAME) == problem(nonsense) == ""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("", "expected the mangled name of a midout::Region"),
        ("N6midout6RegionI", "expected the mangled name of a midout::Region"),
        ("_ZN3mgb3fooEv", "expected the mangled name of a midout::Region"),
        (f"{NAME};rm", "expected the mangled name of a midout::Region"),
        (f"{NAME}\n", "expected the mangled name of a midout::Region"),
        (NAME + "x" * MAX_NAME, "expected at most 4096"),
        (NAME + "S0_" * 13, "more than 12 back references"),
    ],
)
def test_what_could_harm_the_demangler_does_not_reach_it(name: str, found: str) -> None:
    """Each with its reason."""
    assert found in problem(name)
