"""A program with regions, and its profile build, whose prices are known.

``plan`` is a function with two regions: one runs ``mul``, the other ``sum``; ``log`` is called by
both, and ``main`` calls ``plan``. ``mul`` needs ``table``. What registers the operator Conv refers
to its maker.
"""

from megtrim.regions.region import Region
from megtrim.size.pricing import PricedProgram, RegionExtents
from megtrim.size.references.graph import Part
from unit.size.references.made_graphs import make_graph

FIRST, SECOND = Region("conv", (1,)), Region("conv", (2,))
PLAN_BYTES = 416
NAMES = {
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
    numbers = {name: at for at, name in enumerate(NAMES)}
    return PricedProgram(
        graph=make_graph(
            (
                Part(names=(name,), section=".text", source="", size_bytes=size_bytes)
                for name, size_bytes in NAMES.items()
            ),
            ((numbers[one], numbers[two]) for one, two in REFERENCES),
            {numbers["main"]: "entry", numbers["_GLOBAL__sub_I_conv.cpp"]: "runs before main"},
        ),
        regions=frozenset({FIRST, SECOND}),
        dropped=frozenset({"old"}),
        extents=EXTENTS if extents else {},
    )
