"""Prices of models on the sample engine: attributed, and as a trim without them shows."""

import json

import pytest

from integration.conftest import MakeProject

pytestmark = [pytest.mark.chain]

WITHIN, WITHIN_BYTES = 0.05, 4096
"""How far an attributed price may be from the real one, of which the larger counts."""


def test_attributed_prices_are_near_the_real_ones(make_project: MakeProject) -> None:
    """At the margin and alone; what was trimmed before is still up to date."""
    sizes = {}
    project = make_project()
    for models in (("tiny-quant",), ("tiny-mobile",), ("tiny-quant", "tiny-mobile")):
        project = make_project(*models, name="-".join(models))
        project.expect("trim")
        (artifact,) = project.verdict()["artifacts"]
        sizes[models] = artifact["sizes"][-1]["size_bytes"]
    ended = project.expect("size prices --json")
    found = json.loads(ended.stdout)

    assert found["size_bytes"] == sizes["tiny-quant", "tiny-mobile"]
    assert {each["name"] for each in found["prices"]["model"]} == {"tiny-quant", "tiny-mobile"}
    for each in found["prices"]["model"]:
        (other,) = {"tiny-quant", "tiny-mobile"} - {each["name"]}
        real = found["size_bytes"] - sizes[other,]
        assert real > 0
        assert abs(each["margin_bytes"] - real) <= max(WITHIN * real, WITHIN_BYTES)
        assert abs(each["alone_bytes"] - sizes[each["name"],]) <= WITHIN_BYTES
    assert "nothing was built or run" in project.run("trim").stderr
