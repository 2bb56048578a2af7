"""What is tried: every fault at every moment, with sound programs and with planted failures.

A cell is a fault and a moment; it is tried in the ways of ``WAYS``, half of which have a product
failure beneath the fault. Controls have no fault. Pure.
"""

from collections.abc import Iterator
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
CONTROLS = 5


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
    return _numbered(_cells(FAULTS, WAYS), CONTROLS)


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


def _cells(faults: tuple[Fault, ...], ways: tuple[Way, ...]) -> Iterator[tuple[Fault, Moment, Way]]:
    # Way by way, so that a suite that is cut off has tried every cell equally often.
    for way, fault, moment in product(ways, faults, Moment):
        yield fault, moment, way


def _numbered(cells: Iterator[tuple[Fault, Moment, Way]], controls: int) -> tuple[Case, ...]:
    plain = ((Fault.NONE, Moment.BETWEEN, way) for _ in range(controls) for way in WAYS)
    return tuple(
        Case(number=number, fault=fault, moment=moment, way=way)
        for number, (fault, moment, way) in enumerate((*plain, *cells), start=1)
    )
