"""A small graph whose answers are known.

``start`` refers to ``run`` and ``log``; ``run`` to ``mul`` and ``log``; ``mul`` to ``table``. Only
``old`` refers to ``relic``.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from megtrim.size.references.graph import Part, ReferenceGraph, join
from megtrim.size.references.linked_file import ENTRY

NAMES = ("start", "run", "mul", "table", "log", "old", "relic")
SIZES = (10, 20, 40, 80, 160, 320, 640)
START, RUN, MUL, TABLE, LOG, OLD, RELIC = range(len(NAMES))


def made_part(name: str, size_bytes: int, source: str = "") -> Part:
    return Part(names=(name,), section=".text", source=source, size_bytes=size_bytes)


def make_graph(
    parts: Iterable[Part], references: Iterable[tuple[int, int]], roots: Mapping[int, str]
) -> ReferenceGraph:
    """Return the graph of parts and pairs of them, the one with the reference first."""
    pairs = np.array(sorted({*references}), dtype=np.int64).reshape(-1, 2)
    return join(tuple(parts), pairs[:, 0], pairs[:, 1], roots)


def made_graph(*more: tuple[int, int]) -> ReferenceGraph:
    return make_graph(
        map(made_part, NAMES, SIZES),
        ((START, RUN), (START, LOG), (RUN, MUL), (RUN, LOG), (MUL, TABLE), (OLD, RELIC), *more),
        {START: ENTRY},
    )


def list_targets(graph: ReferenceGraph, number: int) -> tuple[int, ...]:
    return tuple(target for _, target in graph.iter_references(number))
