from __future__ import annotations

import pytest

from megtrim.config.model import Budget


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, "load_and_run"),
        ({"variant": "plain"}, "load_and_run/plain"),
        ({"size": "loaded"}, "load_and_run loaded"),
        ({"section": ".text", "variant": "plain"}, "load_and_run/plain section .text"),
        ({"component": "kernels/x86"}, "load_and_run component kernels/x86"),
        ({"model": "resnet50"}, "load_and_run model resnet50"),
    ],
)
def test_the_name_of_a_budget(keys: dict[str, str], expected: str) -> None:
    assert Budget.model_validate({"artifact": "load_and_run", "max": 1, **keys}).id == expected
