"""A linear scale with round ticks. Pure.

Positions along the width are percentages, as text, and heights are pixels.
"""

import math

from megtrim.libs.util.value import Value

_LEAST = 1e-9
"""Of a scale, in milliseconds or bytes: no clock sees less, and its ticks can be computed."""


class Scale(Value):
    low: float
    high: float

    def part(self, value: float) -> float:
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def x(self, value: float) -> str:
        return f"{100 * self.part(value):.3f}%"

    def y(self, value: float, height: float) -> str:
        return f"{height * (1 - self.part(value)):.1f}"


class Tick(Value):
    position: str
    text: str
    anchor: str
    """start, middle or end: text at the ends of a width stays inside."""


class Join(Value):
    x1: str
    y1: str
    x2: str
    y2: str


def from_zero(highest: float) -> Scale:
    return Scale(low=0.0, high=max(highest * 1.04, _LEAST))


def around(lowest: float, highest: float) -> Scale:
    """Leave some space; a narrow range becomes 2% of its value."""
    middle = (lowest + highest) / 2
    half = max((highest - lowest) * 0.56, middle * 0.01, _LEAST)
    return Scale(low=max(0.0, middle - half), high=middle + half)


def round_values(scale: Scale, most: int) -> tuple[float, ...]:
    """Return at most ``most`` + 1, in ascending order."""
    rough = (scale.high - scale.low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 5, 10, 20) if power * each >= rough)
    first = math.ceil(scale.low / step)
    last = math.floor(scale.high / step)
    return tuple(number * step for number in range(first, last + 1))


def short_number(value: float) -> str:
    """``0``, ``0.25``, ``1,500``."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.5g}"


def anchor(part: float) -> str:
    if part < 0.12:
        return "start"
    return "end" if part > 0.88 else "middle"
