"""A value shows itself as a dataclass does."""

from dataclasses import dataclass, field

from megtrim.libs.util.value import Value


class Point(Value):
    x: int
    name: str = "p"
    secret: str = field(default="hidden", repr=False)


class Pair(Value):
    first: Point
    second: Point | None = None


def test_a_value_shows_its_fields_but_those_that_it_hides() -> None:
    pair = Pair(first=Point(x=1, name="it's"))

    assert repr(pair) == 'Pair(first=Point(x=1, name="it\'s"), second=None)'


def test_it_does_so_as_a_dataclass() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Same:
        x: int
        name: str = "p"

    shown = repr(Same(x=2))

    assert repr(Point(x=2)) == f"Point{shown[shown.index('(') :]}"
