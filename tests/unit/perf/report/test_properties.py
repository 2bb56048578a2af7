"""The JUnit cases of times: one for each row, and their numbers as properties of the suite."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from junitparser import JUnitXml

from megtrim.perf.report.properties import LIMIT, properties
from megtrim.perf.rows.model import Performance
from megtrim.report import junit
from megtrim.verdict.join import join
from unit.verdict.examples import HOSTILE, facts, passing
from unit.verdict.performance_examples import (
    hostile_performance,
    many,
    performance,
    row,
    timed,
)


def suite(what: Performance) -> ET.Element:
    """Return the suite of times."""
    root = ET.fromstring(junit.render(join(facts(performance=what))))
    (found,) = (each for each in root if each.attrib["name"] == "megtrim.perf")
    return found


def test_a_case_for_each_row() -> None:
    """A regression fails with its numbers; what was skipped or unproven says why."""
    cases = {case.attrib["name"]: case for case in suite(performance()).iter("testcase")}
    by_row = {name.partition(" ")[2]: [child.tag for child in case if child.tag != "system-out"]
              for name, case in cases.items() if "tuned" not in name}  # fmt: skip

    assert by_row == {
        "baseline": [], "fast-run": [], "full-run": [], "nchw44": ["failure"], "nchw88": [],
        "weight-preprocess": ["skipped"], "nchw44-dot": ["skipped"],
        "layout-transform": ["failure"], "fuse": ["failure"], "load_and_run trimming": [],
    }  # fmt: skip
    regressed = cases["latency:resnet18-s/default@any nchw44"].find("failure")
    skipped = cases["latency:resnet18-s/default@any nchw44-dot"].find("skipped")
    unproven = cases["latency:resnet18-s/default@any weight-preprocess"].find("skipped")
    assert regressed is not None and "1.051 (1.031 to 1.071)" in regressed.attrib["message"]
    assert skipped is not None
    assert skipped.attrib["message"] == "skipped: the device has no dot product"
    assert unproven is not None
    assert unproven.attrib["message"].startswith("inconclusive: unproven: 20 minutes")


def test_numbers_are_properties() -> None:
    """By row, stage and name, for tools that plot them."""
    found = {
        each.attrib["name"]: each.attrib["value"] for each in suite(performance()).iter("property")
    }
    name = "resnet18-s/default@any nchw44"

    assert found[f"{name}.status"] == "regressed"
    assert found[f"{name}.inference.median_ms"] == "4.9"
    assert found[f"{name}.inference.upper_ms"] == "4.998"
    assert found[f"{name}.inference.against main at 2981d114c5d7.ratio"] == "1.051"
    assert found[f"{name}.inference.against baseline.exceeds"] == "yes"
    assert found["resnet18-s/default@any load_and_run trimming.reduced.median_ms"] == "5.18"


@pytest.mark.parametrize("what", [many(1), many(), hostile_performance()])
def test_another_reader_reads_it(what: Performance) -> None:
    """As many cases as rows, whatever their names."""
    text = junit.render(join(facts(performance=what)))
    found = {each.name: each for each in JUnitXml.fromstring(text.encode())}

    assert found["megtrim.perf"].tests == len(what.all_rows)
    assert len(text.encode()) <= junit.LIMIT


def test_properties_are_bounded() -> None:
    """Rows that do not fit are left out as a whole."""
    rows = tuple(row(f"e{number}", scenario="&" * 400 + str(number)) for number in range(500))
    found = properties(performance(rows=rows))
    bytes_ = sum(len(name) + len(value) for name, value in found.items()) * 6

    assert 0 < bytes_ <= LIMIT
    assert f"{rows[0].subject}.status" in found
    assert f"{rows[-1].subject}.status" not in found


def test_without_times_there_are_none() -> None:
    """The document is what it was."""
    assert "median_ms" not in junit.render(passing())
    assert "median_ms" in junit.render(timed())
    assert HOSTILE not in junit.render(replace(timed(), warnings=(HOSTILE,)))
