import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml

from megtrim.core.build_spec import Origin
from megtrim.core.checks.check import Check
from megtrim.core.checks.statuses import CheckKind, CheckStatus, decide
from megtrim.core.evidence.fields import EarlyExit
from megtrim.core.report import junit
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict
from unit.core.verdict.examples import (
    RESNET,
    TUNED,
    build_check,
    crashed,
    facts,
    failing,
    hostile,
    passing,
    scenario,
    trapped,
    unverified,
)


def cases(verdict: Verdict) -> dict[str, ET.Element]:
    root = ET.fromstring(junit.render(verdict))
    found = list(root.iter("testcase"))
    named = {case.attrib["name"]: case for case in found}
    assert len(named) == len(found) == len(verdict.checks)
    return named


def outcome(case: ET.Element) -> str:
    tags = {child.tag for child in case} - {"system-out"}
    return tags.pop() if tags else "passed"


def test_suites_are_flat_and_in_the_order_of_the_stages() -> None:
    checks = tuple(
        replace(build_check("x", 1.0), kind=kind, id=f"{kind}:x")
        for kind in reversed(list(CheckKind))
    )
    root = ET.fromstring(junit.render(replace(passing(), checks=checks)))

    assert {suite.tag for suite in root} == {"testsuite"}
    assert {suite.attrib["name"]: len(suite.findall("testcase")) for suite in root} == {
        "megtrim.build": 1,
        "megtrim.profile": 1,
        "megtrim.header": 2,
        "megtrim.reduce": 2,
        "megtrim.verify": 5,
        "megtrim.perf": 1,
        "megtrim.size": 2,
    }
    assert {child.tag for suite in root for child in suite} == {"properties", "testcase"}


def test_each_suite_says_what_it_is_of() -> None:
    origin = replace(passing().origin, committed_at="", changed=True, project='<&"> camera')
    for suite in ET.fromstring(junit.render(replace(passing(), origin=origin))):
        assert {each.attrib["name"]: each.attrib["value"] for each in suite.iter("property")} == {
            "project": '<&"> camera',
            "config": "megtrim.yaml",
            "commit": origin.commit,
            "changed": "yes",
            "pull_request": "17",
            "megtrim": "1.0.0",
        }


def test_a_failure_says_everything_that_is_known() -> None:
    (failure,) = cases(failing())[f"runs:{TUNED}"]

    assert failure.attrib == {
        "type": "trap",
        "message": "trapped: 2 regions that it needs were not kept",
    }
    assert failure.text is not None
    lines = failure.text.splitlines()
    assert lines[0] == "trapped: 2 regions that it needs were not kept"
    assert "  megdnn_gi_conv_f32<7, megdnn::ConvBiasForward>" in lines
    assert lines[-2].startswith("what to do: if that is intended, run ")
    assert lines[-1] == f"to reproduce: {trapped().reproduce}"


def test_skipped_says_which_kind_of_nothing_it_is() -> None:
    named = cases(unverified())

    (coverage,) = named[f"coverage:{TUNED}"]
    (parity,) = named[f"parity:{TUNED}"]
    (error,) = named["device:mobilenet-s/default@any"]
    assert coverage.attrib["message"] == "unverified, last proof 3 days old"
    assert parity.attrib["message"] == "skipped: not reached, see coverage"
    assert error.attrib["type"] == "infrastructure"


def test_every_case_has_a_place_and_a_time() -> None:
    """A time of nothing would be left out, and a reader would make NaN of it.

    Equal verdicts give equal bytes, without clock or host.
    """
    named = cases(passing())
    text = junit.render(passing())

    assert text == junit.render(passing())
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="megtrim" ')
    assert text.endswith("</testsuites>\n")
    assert "timestamp" not in text
    assert "hostname" not in text

    assert {case.attrib["file"] for case in named.values()} == {"megtrim.yaml"}
    assert named[f"runs:{RESNET}"].attrib["line"] == "21"
    assert named[f"runs:{RESNET}"].attrib["time"] == "1.250000"
    assert named["size:load_and_run/reduced"].attrib["time"] == "0.001000"
    assert all(float(case.attrib["time"]) > 0 for case in named.values())


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (CheckStatus.FAIL, "failure"),
        (CheckStatus.INFRASTRUCTURE, "error"),
        (CheckStatus.UNVERIFIED, "skipped"),
        (CheckStatus.INCONCLUSIVE, "skipped"),
        (CheckStatus.SKIPPED, "skipped"),
    ],
)
@pytest.mark.parametrize("text", ["", " \n", "\x1b[31m\x1b[0m"])
def test_a_check_without_a_message_does_not_turn_green(
    status: CheckStatus, expected: str, text: str
) -> None:
    silent = Check(id="trap:x", kind=CheckKind.TRAP, subject="x", status=status, text=text, file="")
    case = cases(join(facts(checks=(silent,), budgets=(), scenarios=())))["runs:x"]

    assert outcome(case) == expected
    assert case[0].attrib["message"].endswith(f"trap {status}")
    assert (case[0].text, case.attrib["file"]) == (f"trap {status}", "megtrim.yaml")


def test_a_case_that_passes_is_not_called_a_trap_and_no_word_is_said_twice() -> None:
    built = replace(build_check("x", 1.0), id="build:build/plain", subject="build/plain")
    found = cases(join(facts(checks=(built,))))

    assert "build/plain" in found
    assert [name for name in found if name.startswith("trap:") or name == built.id] == []
    assert f"parity:{RESNET}" in found


def test_hostile_texts_survive_as_text() -> None:
    text = junit.render(hostile())

    text.encode()
    assert "<script" not in text
    assert "[31m" not in text
    (failure,) = cases(hostile())[next(name for name in cases(hostile()) if "runs:" in name)]
    assert failure.attrib["message"] == (
        "@admin see #1 <script>alert(1)</script> | `x` ]]> \ufffdred \ufffd \ufffd"
    )


def test_a_crash_and_a_time_that_does_not_count_are_in_the_output() -> None:
    conditions = crashed().conditions
    found = cases(join(facts(scenarios=(crashed(), scenario(RESNET, conditions=conditions)))))
    note = "time not valid: throttled after the run: policy4 is held to 1800 MHz of 2400 MHz"

    (failure,) = found[f"engine:{TUNED}"]
    assert failure.tag == "failure"
    assert f"  {note}\ncrash:\n  ended by signal 11 (SIGSEGV)\n" in (failure.text or "")
    (out,) = found[f"runs:{RESNET}"]
    assert out.tag == "system-out"
    assert (out.text or "").startswith(f"ran to its end, no trap; {note}\nto reproduce: ")


def test_a_log_of_ten_megabytes_is_cut() -> None:
    long = replace(trapped(), log_tail="start" + "x" * 10_000_000 + "the cause")
    text = junit.render(join(facts(scenarios=(long,))))

    assert len(text) < 40_000
    assert "start" in text
    assert "the cause" in text
    assert "characters left out" in text


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (("a", "a\x1b[0m", "a\x1b[1m", " a"), ["a", "a (2)", "a (3)", "a (4)"]),
        (("a", "a (2)", "a\x1b[0m", "a\x1b[1m"), ["a", "a (2)", "a (2) (2)", "a (3)"]),
    ],
)
def test_names_that_look_the_same_are_distinguished(ids: tuple[str, ...], names: list[str]) -> None:
    """A reader merges equal names; a number is not given twice, not even to who has it by name."""
    checks = tuple(replace(build_check("x", 1.0), id=each) for each in ids)

    assert sorted(cases(replace(passing(), checks=checks))) == names


def bomb(statuses: tuple[CheckStatus, ...], count: int, detail: str, text: str = "x") -> Verdict:
    checks = tuple(
        replace(build_check("x", 1.0), id=f"{status}:{n}", status=status, detail=detail, text=text)
        for n in range(count)
        for status in statuses
    )
    return replace(passing(), checks=checks, verdict=decide(statuses))


def test_a_bomb_of_details_loses_those_of_the_mildest() -> None:
    text = junit.render(bomb((CheckStatus.PASS, CheckStatus.FAIL), 1_500, "&" * 10_000_000))

    assert 15_000_000 < len(text.encode()) <= junit.LIMIT == 16 * 1024 * 1024
    cases = [*ET.fromstring(text).iter("testcase")]
    whole = [each.attrib["name"] for each in cases if len("".join(each.itertext())) > 9_000]
    assert (len(cases), whole[0]) == (3_000, "fail:0")
    assert 200 < len(whole) < 330
    assert all(name.startswith("fail") for name in whole)


def test_a_bomb_of_checks_is_one_case_for_those_without_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(junit, "LIMIT", 100_000)
    spec = (CheckStatus.PASS, CheckStatus.INFRASTRUCTURE, CheckStatus.FAIL)
    text = junit.render(bomb(spec, 100, "", '"' * 500))
    root = ET.fromstring(text)

    assert 45_000 < len(text.encode()) <= 100_000
    (further,) = root[-1].findall("testcase")
    shown = int(root.attrib["tests"]) - 1
    assert (root[-1].attrib["name"], further.attrib["name"]) == ("megtrim.report", "further checks")
    assert outcome(further) == "failure"
    assert further[0].attrib == {
        "type": "further",
        "message": f"{300 - shown} more checks than this file holds: verdict.json has all",
    }
    assert further.attrib["classname"] == "megtrim.report"
    assert [case.attrib["name"] for case in root[0].findall("testcase")] == sorted(
        f"fail:{n}" for n in range(shown)
    )


def test_the_other_checks_end_as_the_worst_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "LIMIT", 100_000)
    few = bomb((CheckStatus.FAIL, CheckStatus.PASS), 1, "")
    many = bomb((CheckStatus.INFRASTRUCTURE, CheckStatus.PASS), 150, "")
    both = replace(few, checks=few.checks + many.checks[2:], verdict=decide([CheckStatus.FAIL]))
    (further,) = ET.fromstring(junit.render(both))[-1].findall("testcase")
    assert outcome(further) == "error"

    calm = bomb((CheckStatus.PASS,), 1_000, "")
    (further,) = ET.fromstring(junit.render(calm))[-1].findall("testcase")
    assert outcome(further) == "passed"


def test_the_package_reads_no_xml() -> None:
    """What parses no XML can be blown up by none; one library writes it, in one place."""
    package = Path(junit.__file__).parents[1]
    texts = {
        str(path.relative_to(package)): path.read_text(encoding="utf-8")
        for path in package.rglob("*.py")
    }
    parsers = r"^\s*(?:import|from)\s+(?:xml|lxml|defusedxml|junitparser|bs4)\b"
    words = re.compile(parsers, re.MULTILINE)

    assert [name for name, text in texts.items() if words.search(text)] == []
    assert [name for name, text in texts.items() if "junit_xml" in text] == ["report/junit.py"]
    assert words.search("    from xml.dom import minidom")


@settings(max_examples=50)
@given(st.text(st.characters(exclude_categories=[])), st.sampled_from(CheckStatus))
def test_any_text_is_written_and_read_back(text: str, status: CheckStatus) -> None:
    check = replace(build_check("x", 1.0), id=text, text=text, detail=text, status=status)
    verdict = join(facts(checks=(check,), scenarios=(scenario(RESNET),), budgets=()))
    suite, _ = ET.fromstring(junit.render(verdict))
    (case,) = suite.findall("testcase")

    expected = {CheckStatus.PASS: "passed", CheckStatus.FAIL: "failure"}
    error = "error" if status is CheckStatus.INFRASTRUCTURE else "skipped"
    assert outcome(case) == expected.get(status, error)


@pytest.mark.parametrize("message", ["k.json:2: a merge\x00 <conflict>", ""])
@pytest.mark.parametrize(
    ("status", "tag", "kind"),
    [
        (1, "failure", "no verdict"),
        (2, "error", "exit status 2"),
        (130, "error", "exit status 130"),
    ],
)
def test_an_ending_before_the_verdict_is_not_green(
    status: int, tag: str, kind: str, message: str
) -> None:
    """The library takes an error without a text for a success."""
    origin = Origin(project="vision", commit="1" * 40, pull_request=17)
    text = junit.render_ending(EarlyExit(exit=status, message=message, hint="mend it"), origin)
    (case,) = ET.fromstring(text).iter("testcase")
    known = {each.get("name"): each.get("value") for each in ET.fromstring(text).iter("property")}
    assert known == {"project": "vision", "commit": "1" * 40, "pull_request": "17"}

    assert (case.attrib["classname"], case.attrib["name"]) == ("megtrim.report", "verdict")
    assert (outcome(case), case[0].attrib["type"]) == (tag, kind)
    assert case[0].attrib["message"].startswith("k.json:2: a merge" if message else "no verdict")
    assert "mend it" in (case[0].text or "")
    (suite,) = JUnitXml.fromstring(text.encode())
    totals = (suite.tests, suite.failures, suite.errors)
    assert totals == (1, int(tag == "failure"), int(tag == "error"))


def test_results_of_two_configurations_are_two_tests() -> None:
    """A publisher takes cases of one class and name for retries of one test."""
    verdict = passing()
    other = replace(verdict.invocation, config="android/megtrim.yaml")
    texts = [junit.render(each) for each in (verdict, replace(verdict, invocation=other))]
    ending = EarlyExit(config="android/megtrim.yaml", exit=2, message="no models", hint="")
    texts.append(junit.render_ending(ending))
    one, two, ended = (
        {f"{case.get('classname')} {case.get('name')}" for case in root.iter("testcase")}
        for root in map(ET.fromstring, texts)
    )
    suites = [suite for text in texts for suite in ET.fromstring(text)]
    for suite in suites:
        assert {case.get("classname") for case in suite.iter("testcase")} == {suite.get("name")}

    assert not one & two
    assert {name.replace("megtrim.android", "megtrim") for name in two} == one
    assert ended == {"megtrim.android.report verdict"}
    roots = [ET.fromstring(text).get("name") for text in texts]
    assert roots == ["megtrim", "megtrim.android", "megtrim.android"]
