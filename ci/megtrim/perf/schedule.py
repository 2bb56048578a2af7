"""The order in which processes run, and what is varied on purpose with each."""

from __future__ import annotations

from collections.abc import Sequence

from megtrim.util.value import Value

LARGEST_PADDING_BYTES = 4096
"""One page: the size of the environment moves the stack within it."""


class Turn(Value):
    round_number: int
    position: int
    contestant: str
    cpus: tuple[int, ...]
    """The same for all of one round; empty: any."""
    padding_bytes: int


def plan_turns(
    contestants: Sequence[str], rounds: int, *, cpus: Sequence[int], width: int = 1, seed: int
) -> list[Turn]:
    """Equal arguments give equal turns.

    Each process needs ``width`` CPUs, and gets the next ones of ``cpus`` in each round. It is not
    bound where there are no more than that.

    Each round has its own order, drawn by chance. So whatever a place does to a time (the first
    process after a change of CPU is slower, the machine drifts), it does to either side of a pair
    with equal chance, which is all that the signed-rank test assumes of equal programs. A balanced
    design cannot promise that: one that alternates lets the same contestant begin on each CPU.
    """
    import numpy as np

    if not contestants or len(set(contestants)) != len(contestants) or width < 1 or rounds < 0:
        msg = "a schedule takes distinct contestants, a width >= 1, and rounds >= 0"
        raise ValueError(msg)
    generator = np.random.default_rng(seed)
    in_order = sorted(contestants)
    return [
        Turn(
            round_number=number,
            position=position,
            contestant=in_order[index],
            cpus=_choose_cpus(cpus, width, number),
            padding_bytes=int(generator.integers(LARGEST_PADDING_BYTES)),
        )
        for number in range(rounds)
        for position, index in enumerate(generator.permutation(len(in_order)))
    ]


def _choose_cpus(cpus: Sequence[int], width: int, number: int) -> tuple[int, ...]:
    if len(cpus) <= width:
        return ()
    return tuple(sorted(cpus[(number + step) % len(cpus)] for step in range(width)))
