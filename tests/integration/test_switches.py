"""What the switches of the sample engine buy, with a real compiler, and what is refused."""

from __future__ import annotations

import json

import pytest

from integration.conftest import MakeProject

pytestmark = [pytest.mark.chain]


def test_each_switch_is_measured_on_one_keep_set(make_project: MakeProject) -> None:
    """None alone makes the program larger, all together save most; a second run builds nothing."""
    project = make_project("tiny-mobile")
    config = project.read()
    config["trim"] = {"measure": ["rtti", "exceptions"]}
    project.write(config)
    ended = project.run("trim", timeout_s=1500)
    again = project.run("stage switches", "--json")
    verdict = project.verdict()
    rows = {row["build"]: row for row in verdict["switches"]}
    reduced = next(
        row["size_bytes"] for row in verdict["artifacts"][0]["sizes"] if row["variant"] == "reduced"
    )

    assert ended.rc == 0, ended.stderr
    assert list(rows) == ["all-on", "rtti-off", "exceptions-off", "all-off"]
    saved = {name: row["saved_bytes"] for name, row in rows.items()}
    assert saved["all-on"] == 0
    # A linker fills segments up to whole pages, so that little may look like nothing.
    assert saved["rtti-off"] >= 0
    assert saved["exceptions-off"] > 4096
    assert saved["all-off"] > saved["exceptions-off"]
    assert rows["all-off"]["size_bytes"] == reduced
    assert {row["note"] for row in rows.values()} == {""}
    assert again.rc == 0, again.stderr
    assert "everything is up to date" in again.stderr
    assert (
        json.loads(again.stdout)["done"]["switches/table"]["result"]["rows"] == verdict["switches"]
    )
    page = project.file("report/report", "index.html").read_text(encoding="utf-8")
    assert 'id="switches"' in page
    assert "exceptions-off" in project.file("report/report", "report.md").read_text("utf-8")


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
    assert verdict["switches"] == []
    assert all(o["equal"] for s in verdict["scenarios"] for o in s["outputs"])
    log = project.file("verify/tiny-mobile/default@any", "reduced.log").read_text("utf-8")
    assert "iter" in log


def test_what_the_engine_cannot_switch_is_refused_before_any_build(
    make_project: MakeProject,
) -> None:
    """Its models are its own, with no reader that could be left out; and no measure, no table."""
    project = make_project("tiny-mobile")
    without = project.run("stage switches")
    config = project.read()
    config["trim"] = {"measure": ["flatbuffers"]}
    project.write(config)
    refused = project.run("trim")

    assert without.rc == 2
    assert "trim.measure names no switch, so there is nothing to measure" in without.stderr
    assert refused.rc == 2
    assert "trim.measure: flatbuffers: the engine at" in refused.stderr
    assert "has no option MGB_WITH_FLATBUFFERS" in refused.stderr
    assert "  run   " not in refused.stderr
