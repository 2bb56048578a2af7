"""Prices of models on the sample engine: attributed, and as it is really built without them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from integration.conftest import MakeProject
from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain]

WITHIN, WITHIN_BYTES = 0.05, 4096
"""How far an attributed price may be from the real one, of which the larger counts."""


@pytest.fixture
def project(make_project: MakeProject) -> Project:
    """A project of two models, trimmed by regions."""
    made = make_project("tiny-quant", "tiny-mobile")
    ended = made.run("trim")
    assert ended.rc == 0, ended.stderr
    return made


def ask(project: Project, *words: str) -> Any:
    """Return what the command prints as JSON."""
    ended = project.run("size prices", *words, "--json")
    assert ended.rc == 0, ended.stderr
    return json.loads(ended.stdout)


def test_attributed_prices_are_near_the_real_ones(project: Project) -> None:
    """At the margin and alone; what was trimmed before is still up to date."""
    found = ask(project, "--by", "model", "--exact", "2")

    assert found["size_bytes"] == found["levels"][-1]["size_bytes"]
    assert [each["name"] for each in found["levels"]] == ["plain", "reduced"]
    assert {each["name"] for each in found["prices"]["model"]} == {"tiny-quant", "tiny-mobile"}
    for each in found["prices"]["model"]:
        real = each["built_margin_bytes"]
        assert real > 0
        assert abs(each["margin_bytes"] - real) <= max(WITHIN * real, WITHIN_BYTES)
        assert abs(each["alone_bytes"] - each["built_alone_bytes"]) <= WITHIN_BYTES
    assert "nothing was built or run" in project.run("trim").stderr
