"""Controls the share of false calls over many comparisons."""

from __future__ import annotations

from collections.abc import Mapping

from scipy import stats


def adjust_p_values(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted by Benjamini and Yekutieli, by name, sorted.

    Promise: of all comparisons called at an adjusted value of at most q, on average at most the
    share q is false, however the comparisons depend on each other; scenarios that share a device
    and a baseline do. It does not promise that no call of the night is false.
    """
    names = sorted(p_values)
    if not names:
        return {}
    adjusted = stats.false_discovery_control([p_values[name] for name in names], method="by")
    return {name: float(value) for name, value in zip(names, adjusted, strict=True)}
