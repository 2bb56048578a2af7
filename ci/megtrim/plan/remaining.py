"""How much longer a build takes, by what its files cost and how fast the last ones were. Pure.

Files are not equally long, so counting them predicts little: each object has a cost in seconds,
from earlier builds of it or from a table. What is left of these, at the rate of the last minutes,
is the time. A compiler cache that has the first files, or a machine that gets busy, changes the
rate soon.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

WINDOW_S = 360.0
"""How far back the rate is measured."""
_TRUST = 0.1
"""Share of a build for which the rate is assumed: one second of cost each second and job, or that
of a build out of a compiler cache."""
_REFUTED = 2
"""A build is not out of a compiler cache if it takes that many times as long."""
_FADES = 4
"""Windows in which that trust falls to its least."""
_LEAST_TRUST = 0.4
_SAME = 0.8
"""Share of all objects that a build must compile: costs say little about a few of them."""
_OBJECT = re.compile(r"Building \S+ object (\S+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCosts:
    """What the objects of a build cost."""

    costs_s: Mapping[str, float]
    """Seconds of one compiler, by the object's name for Ninja; empty: nothing is known."""
    jobs: int
    """Compilers that run at once."""


class RemainingTime:
    """Estimates the time left after each step of a build; ``read`` is called when it begins."""

    def __init__(self, read: Callable[[], StepCosts], cached_s: float | None = None) -> None:
        """``cached_s``: of the whole build if a compiler cache has it; None: that is not known."""
        self._read = read
        self._cached_s = cached_s
        self._total = 0
        self._known = StepCosts(costs_s={}, jobs=1)
        self._left: dict[str, float] = {}
        self._seen: deque[tuple[float, float]] = deque()
        self._began_s = 0.0
        self._done_s = 0.0

    def after(self, done: int, total: int, item: str, now_s: float) -> float | None:
        """Return the seconds that are left after step ``done`` of ``total``; None: not known.

        ``item`` is Ninja's description of the step, ``now_s`` a clock that only advances.
        """
        begins = total != self._total
        if begins:
            self._begin(total)
        found = _OBJECT.search(item)
        self._done_s += self._left.pop(found[1], 0.0) if found else 0.0
        if begins:  # when this step began is not known
            self._began_s = now_s
            self._seen.clear()
        if total < _SAME * len(self._known.costs_s) or not self._known.costs_s:
            return None
        self._seen.append((now_s, self._done_s))
        while len(self._seen) > 2 and self._seen[1][0] < now_s - WINDOW_S:
            self._seen.popleft()
        return self._left_s(total - done) / self._rate(now_s)

    def _begin(self, total: int) -> None:
        """Read the costs, for a build that begins or that found more to do."""
        compiled = self._known.costs_s.keys() - self._left.keys()
        self._total, self._known = total, self._read()
        self._left = {k: v for k, v in self._known.costs_s.items() if k not in compiled}

    def _left_s(self, steps: int) -> float:
        """Return the seconds of the objects that are left; those of other targets cost least."""
        others = len(self._left) - steps
        least = min(self._known.costs_s.values())
        return max(0.0, sum(self._left.values()) - max(0, others) * least)

    def _rate(self, now_s: float) -> float:
        """Return the seconds of cost that are done in one second."""
        began_s, before_s = self._seen[0]
        whole = sum(self._known.costs_s.values())
        assumed = float(self._known.jobs)
        if self._cached_s and now_s - self._began_s < _REFUTED * self._cached_s:
            assumed = whole / self._cached_s
        most = min(WINDOW_S * assumed, _TRUST * whole)
        trusted = most * max(_LEAST_TRUST, 1 - (now_s - self._began_s) / (_FADES * WINDOW_S))
        return (self._done_s - before_s + trusted) / (now_s - began_s + trusted / assumed)
