"""What is tried: every fault at every moment, with sound programs and with planted failures.

A cell is a fault and a moment; it is tried in the ways of ``WAYS``, half of which have a product
failure beneath the fault. Controls have no fault.

The judge holds what a job said against what its programs really did. A device fault may cost a job
its result, never make one: an *infrastructure* verdict is right under any fault that hit, a product
failure only where one was planted, and a pass only where none was. Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product


class Fault(StrEnum):
    """What happens to the phone, by the names of ``virtual-phone fault``."""

    NONE = "none"
    KILL = "kill"
    FREEZE = "freeze"
    UNPLUG = "unplug"
    MUTE = "mute"
    DISK_FULL = "disk-full"
    SLOW = "slow"
    HOT = "hot"
    BATTERY = "battery"
    VANISH = "vanish"
    """Dead and unplugged at once, in the middle of a transfer where there is one."""
    REBOOT = "reboot"
    UNAUTHORIZED = "unauthorized"
    """A stub answers in its place that a person must allow this computer."""


FAULTS = tuple(fault for fault in Fault if fault is not Fault.NONE)
SOFT = frozenset({Fault.NONE, Fault.SLOW, Fault.HOT, Fault.BATTERY})
"""A phone in this state still does its work."""
PASSING = frozenset({Fault.REBOOT})
"""It ends by itself, so it cannot last."""


class Moment(StrEnum):
    """When it happens."""

    PUSH = "push"
    RUN = "run"
    PULL = "pull"
    BETWEEN = "between"
    """Between two runs of one scenario, or before its only run."""
    CLEANUP = "cleanup"


class Purpose(StrEnum):
    VERIFY = "verify"
    TRACE = "trace"


class Plant(StrEnum):
    """What is wrong with the product itself."""

    SOUND = "sound"
    TRAP = "trap"
    """A region is missing in the reduced build."""
    PARITY = "parity"
    """The reduced build computes something else."""
    TORN = "torn"
    """The profile build leaves half of the trace that it promises."""


class Verdict(StrEnum):
    PASS = "pass"
    TRAP = "trap"
    PARITY = "parity"
    ENGINE_ERROR = "engine-error"
    TRACE = "trace"
    INFRASTRUCTURE = "infrastructure"
    INPUT_ERROR = "input error"
    BUG = "our own bug"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    purpose: Purpose
    plant: Plant
    spare: bool
    lasting: bool
    turn: int = 1
    """Which of the job's runs meets the fault: verification runs plain, then reduced."""


WAYS = (
    Way(purpose=Purpose.VERIFY, plant=Plant.SOUND, spare=False, lasting=False, turn=2),
    Way(purpose=Purpose.VERIFY, plant=Plant.TRAP, spare=False, lasting=False, turn=2),
    Way(purpose=Purpose.VERIFY, plant=Plant.PARITY, spare=True, lasting=True),
    Way(purpose=Purpose.TRACE, plant=Plant.SOUND, spare=True, lasting=True),
    Way(purpose=Purpose.TRACE, plant=Plant.TORN, spare=False, lasting=False),
    Way(purpose=Purpose.VERIFY, plant=Plant.SOUND, spare=False, lasting=True, turn=2),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    number: int
    fault: Fault
    moment: Moment
    way: Way

    def __str__(self) -> str:
        way = self.way
        pool = "two phones" if way.spare else "one phone"
        stay = "lasting" if way.lasting else "mended"
        return f"{self.fault}/{self.moment} {way.purpose} {way.plant}, {pool}, {stay}"


def truth(way: Way) -> Verdict:
    """Return what the programs alone would lead to."""
    match way.plant:
        case Plant.SOUND:
            return Verdict.PASS
        case Plant.TRAP:
            return Verdict.TRAP
        case Plant.PARITY:
            return Verdict.PARITY
        case Plant.TORN:
            return Verdict.TRACE


def deliverable(case: Case) -> bool:
    way = case.way
    if case.fault in SOFT | PASSING or way.spare:
        return True
    # A phone that asked for a person waits for one, whatever it says a moment later.
    return not way.lasting and case.fault is not Fault.UNAUTHORIZED


def full() -> tuple[Case, ...]:
    # Way by way, so that a suite that is cut off has tried every cell equally often.
    cells = ((fault, moment, way) for way, fault, moment in product(WAYS, FAULTS, Moment))
    return _numbered(cells, 5)


def short() -> tuple[Case, ...]:
    picked = (
        (Fault.KILL, Moment.RUN, 1),
        (Fault.FREEZE, Moment.PULL, 0),
        (Fault.UNPLUG, Moment.PUSH, 2),
        (Fault.MUTE, Moment.RUN, 0),
        (Fault.DISK_FULL, Moment.RUN, 4),
        (Fault.SLOW, Moment.PUSH, 1),
        (Fault.HOT, Moment.BETWEEN, 0),
        (Fault.BATTERY, Moment.CLEANUP, 2),
        (Fault.VANISH, Moment.PULL, 3),
        (Fault.REBOOT, Moment.CLEANUP, 4),
        (Fault.UNAUTHORIZED, Moment.BETWEEN, 3),
    )
    return _numbered(((fault, moment, WAYS[way]) for fault, moment, way in picked), 1)


def _numbered(cells: Iterator[tuple[Fault, Moment, Way]], controls: int) -> tuple[Case, ...]:
    plain = ((Fault.NONE, Moment.BETWEEN, way) for _ in range(controls) for way in WAYS)
    return tuple(
        Case(number=number, fault=fault, moment=moment, way=way)
        for number, (fault, moment, way) in enumerate((*plain, *cells), start=1)
    )


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
