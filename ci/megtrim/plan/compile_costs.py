"""How long the files of an engine take to compile, next to each other: a first build's estimate.

Pure. A few folders hold files full of templates that take a hundred times as long as the many small
ones, and Ninja builds the small ones first: counting files promises a third of the time.
"""

from __future__ import annotations

from collections.abc import Mapping

COSTS_S: Mapping[str, tuple[tuple[str, float], ...]] = {
    "megengine": (
        ("/naive/elemwise/", 1.0),
        ("/warp_", 40.0),
        ("/elemwise_multi_type/", 20.0),
        ("/fallback/elemwise/", 45.0),
        ("/fallback/reduce/", 45.0),
        ("/arm_common/elemwise/", 10.0),
        ("/fallback/conv", 8.0),
        ("/naive/", 2.0),
        ("/conv_bias/", 15.0),
        ("/pooling/", 5.0),
        ("/type_cvt/", 12.0),
        ("/matrix_mul/", 6.0),
        ("/aarch64/", 6.0),
        ("/armv7/", 6.0),
        ("/x86/", 6.0),
        ("megbrain.dir/", 4.0),
    ),
}
"""Seconds of one compiler for an object whose path has a text, the first that fits; by kind of
engine. As measured on MegEngine 1.13 for arm64 with clang 14, rounded."""
OTHER_S = 1.0


def guess_cost(engine: str, name: str) -> float | None:
    """Return the seconds that an object takes to compile; None for an engine without a table."""
    table = COSTS_S.get(engine)
    if table is None:
        return None
    return next((seconds for text, seconds in table if text in name), OTHER_S)
