"""The order in which processes run, and what is varied on purpose with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LARGEST_PADDING_BYTES = 4096
"""One page: the size of the environment moves the stack within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One process to run."""

    round_number: int
    position: int
    contestant: str
    cpu: int
    """The CPU that the process is bound to; the same for all of one round."""
    padding_bytes: int
    """Bytes added to the environment."""


def plan_turns(
    contestants: Sequence[str], rounds: int, *, cpus: Sequence[int], seed: int
) -> list[Turn]:
    """Interleave contestants; equal arguments give equal turns.

    Rounds are rows of a Williams design. Over as many rounds as the design has rows (the number of
    contestants if that is even, else twice as many) each contestant is equally often in each
    position, and follows each other one equally often within a round.
    """
    if not contestants or len(set(contestants)) != len(contestants) or not cpus or rounds < 0:
        msg = "a schedule takes distinct contestants, at least one CPU, and rounds >= 0"
        raise ValueError(msg)
    generator = np.random.default_rng(seed)
    in_order, design = sorted(contestants), _williams_rows(len(contestants))
    names = [in_order[index] for index in generator.permutation(len(in_order))]
    rows = [design[index] for index in generator.permutation(len(design))]
    turns = []
    for number in range(rounds):
        cpu = cpus[(number // len(rows)) % len(cpus)]
        for position, index in enumerate(rows[number % len(rows)]):
            padding = int(generator.integers(LARGEST_PADDING_BYTES))
            turns.append(
                Turn(
                    round_number=number,
                    position=position,
                    contestant=names[index],
                    cpu=cpu,
                    padding_bytes=padding,
                )
            )
    return turns


def _williams_rows(count: int) -> list[list[int]]:
    """Return the rows of a Williams design; for an odd count also each row reversed."""
    zigzag = [(place + 1) // 2 if place % 2 else -(place // 2) for place in range(count)]
    rows = [[(step + shift) % count for step in zigzag] for shift in range(count)]
    return rows if count % 2 == 0 else rows + [row[::-1] for row in rows]
