"""Holds what a job said against what its programs really did. Pure.

A device fault may cost a job its result, never make one: an *infrastructure* verdict is right
under any fault that hit, a product failure only where one was planted, and a pass only where
none was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from faults.matrix import Case, Fault, Plant, Purpose, Verdict, deliverable, truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    verdict: Verdict
    text: str
    fired: bool
    wall_s: float
    bound_s: float
    attempts: tuple[str, ...] = ()
    missing_regions: tuple[str, ...] = ()
    trace_whole: bool = False
    """Whether the trace is, byte for byte, the one that was written."""
    outputs_equal: bool = False
    left: tuple[str, ...] = ()
    """Run directories found on the phones after the next entry, or at once without a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    case: Case
    seen: Seen
    wrong: tuple[str, ...]

    @property
    def void(self) -> bool:
        return not self.seen.fired

    @property
    def delivered(self) -> bool:
        return self.seen.verdict is not Verdict.INFRASTRUCTURE

    @property
    def given_up(self) -> bool:
        return not self.delivered and deliverable(self.case)


def judge(case: Case, seen: Seen) -> Judged:
    return Judged(case=case, seen=seen, wrong=tuple(_wrongs(case, seen)))


def _wrongs(case: Case, seen: Seen) -> Iterator[str]:
    right = truth(case.way)
    if seen.verdict is Verdict.INFRASTRUCTURE:
        if case.fault is Fault.NONE:
            yield f"nothing failed, and it says: {seen.text}"
        elif not seen.attempts:
            yield "it does not say which machines were tried"
    elif seen.verdict is not right:
        yield f"it says {seen.verdict}, the programs lead to {right}: {seen.text}"
    else:
        yield from _hollow(case, seen)
    if seen.wall_s > seen.bound_s:
        yield f"it took {seen.wall_s:.0f} s, its bound is {seen.bound_s:.0f} s"
    if seen.left:
        yield f"left on the phones: {', '.join(seen.left)}"


def _hollow(case: Case, seen: Seen) -> Iterator[str]:
    """Yield what is missing in a right verdict: it must depend on what the programs wrote."""
    match (case.way.purpose, case.way.plant):
        case (Purpose.TRACE, Plant.SOUND) if not seen.trace_whole:
            yield "the trace is not the one that was written"
        case (Purpose.VERIFY, Plant.SOUND) if not seen.outputs_equal:
            yield "it passed and compared no output"
        case (Purpose.VERIFY, Plant.TRAP) if len(seen.missing_regions) != 1:
            yield f"one region was missing, it names {len(seen.missing_regions)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts over some cases. Void ones are in none but ``void``."""

    runs: int
    planted: int
    delivered: int
    given_up: int
    wrong: int
    void: int
    left: int
    longest_s: float


def tally(judged: Sequence[Judged]) -> Tally:
    counted = [each for each in judged if not each.void]
    return Tally(
        runs=len(counted),
        planted=sum(each.case.way.plant is not Plant.SOUND for each in counted),
        delivered=sum(each.delivered for each in counted),
        given_up=sum(each.given_up for each in counted),
        # What is wrong with a void run is no less wrong.
        wrong=sum(bool(each.wrong) for each in judged),
        void=len(judged) - len(counted),
        left=sum(len(each.seen.left) for each in judged),
        longest_s=max((each.seen.wall_s for each in counted), default=0.0),
    )
