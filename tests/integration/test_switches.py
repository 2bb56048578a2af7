"""The switches of the sample engine, with a real compiler, and what is refused."""

from __future__ import annotations

import pytest

from integration.conftest import MakeProject

pytestmark = [pytest.mark.chain]


def test_one_switch_alone_is_proven_like_any_build(make_project: MakeProject) -> None:
    """With the log in, errors in words and no type information, outputs stay equal."""
    project = make_project("tiny-mobile")
    config = project.read()
    config["trim"] = {"minimum_size": False, "switches": {"rtti": False}}
    project.write(config)
    ended = project.run("trim")
    verdict = project.verdict()

    assert ended.rc == 0, ended.stderr
    assert verdict["verdict"] == "pass"
    assert verdict["trim"]["switched_off"] == ["rtti"]
    assert all(o["equal"] for s in verdict["scenarios"] for o in s["outputs"])
    log = project.file("verify/tiny-mobile/default@any", "reduced.log").read_text("utf-8")
    assert "iter" in log


def test_what_the_engine_cannot_switch_is_refused_before_any_build(
    make_project: MakeProject,
) -> None:
    """Its models are its own, with no reader that could be left out."""
    project = make_project("tiny-mobile")
    config = project.read()
    config["trim"] = {"switches": {"flatbuffers": False}}
    project.write(config)
    refused = project.run("trim")

    assert refused.rc == 2
    assert "trim.switches.flatbuffers: the engine at" in refused.stderr
    assert "has no option MGB_WITH_FLATBUFFERS" in refused.stderr
    assert "  run   " not in refused.stderr
