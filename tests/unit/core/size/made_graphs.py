"""A small graph whose answers are known.

``start`` refers to ``run`` and ``log``; ``run`` to ``mul`` and ``log``; ``mul`` to ``table``. Only
``old`` refers to ``relic``.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from megtrim.core.keep.region import Region
from megtrim.core.size.pricing import PricedProgram, RegionExtents
from megtrim.core.size.references.graph import Part, ReferenceGraph, join
from megtrim.core.size.references.linked_file import ENTRY
from megtrim.engines.megengine.models.operators import OPERATOR_CODE

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


FIRST = Region("conv", (1,))
SECOND = Region("conv", (2,))
PLAN_BYTES = 416
PRICED = {
    "main": 100,
    "plan": PLAN_BYTES,
    "mul": 1000,
    "table": 64,
    "sum": 500,
    "log": 30,
    "_GLOBAL__sub_I_conv.cpp": 20,
    "_ZN3opr9ConvEntry4makeEv": 700,
}
REFERENCES = (
    ("main", "plan"),
    ("plan", "mul"),
    ("plan", "sum"),
    ("plan", "log"),
    ("mul", "table"),
    ("_GLOBAL__sub_I_conv.cpp", "_ZN3opr9ConvEntry4makeEv"),
)
EXTENTS = {
    "plan": RegionExtents(
        sizes={None: 100, FIRST: 300, SECOND: 100},
        references={
            "mul": frozenset({FIRST}),
            "sum": frozenset({SECOND}),
            "log": frozenset({FIRST, SECOND}),
        },
    )
}


def make_program(*, extents: bool = True) -> PricedProgram:
    numbers = {name: at for at, name in enumerate(PRICED)}
    return PricedProgram(
        graph=make_graph(
            (
                Part(names=(name,), section=".text", source="", size_bytes=size_bytes)
                for name, size_bytes in PRICED.items()
            ),
            ((numbers[one], numbers[two]) for one, two in REFERENCES),
            {numbers["main"]: "entry", numbers["_GLOBAL__sub_I_conv.cpp"]: "runs before main"},
        ),
        regions=frozenset({FIRST, SECOND}),
        dropped=frozenset({"old"}),
        extents=EXTENTS if extents else {},
        operator_code=OPERATOR_CODE,
    )
