"""The table of what files cost: the first text that fits a path."""

from __future__ import annotations

from megtrim.plan.compile_costs import COSTS_S, OTHER_S, guess_cost


def test_the_table_names_folders_in_order() -> None:
    """The first text that fits decides; another engine has no table."""
    assert guess_cost("sample", "src/kernels/a.o") is None
    assert guess_cost("megengine", "src/megdnn.dir/naive/elemwise/a.o") == 1.0
    assert guess_cost("megengine", "src/megdnn.dir/naive/warp_affine/a.o") == 40.0
    assert guess_cost("megengine", "gflags/a.o") == OTHER_S
    texts = [text for text, _ in COSTS_S["megengine"]]
    assert len({*texts}) == len(texts)
