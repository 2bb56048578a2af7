"""The JUnit file as the three common publishers of test results read it.

Each reader here takes what its publisher takes, from the places where that looks, and falls over
what that falls over: written from what is known of mikepenz/action-junit-report 6.4,
EnricoMi/publish-unit-test-result 2.24 and dorny/test-reporter 3.0 (``java-junit``).
"""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase

from megtrim.core.checks.check import Check
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.report import junit
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict
from unit.core.report.golden import COMMENTS, on_device, pull_request
from unit.core.verdict.examples import TUNED, big, failing, hostile, passing, unverified

LONGEST_MESSAGE_BYTES = 64_000
"""Of a message that EnricoMi's publisher still shows whole."""


def mixed() -> Verdict:
    checks = tuple(
        replace(on_device(status, f"it is {status}", f"{status}/x@c"), detail="at a(b.py:7)")
        for status in CheckStatus
    )
    return join(pull_request(checks=(*pull_request().checks, *checks)))


VERDICTS = (passing, failing, unverified, mixed, big, hostile, lambda: COMMENTS["hostile-names"])


def mikepenz(text: str) -> tuple[Counter[str], list[tuple[str, int, str, str]]]:
    """Read totals, and path, line, title and message of what is shown next to the code.

    Suites may be nested; a case stands at its own file and line, else at its suite's; cases of one
    name, class and file are taken for tries of one test. A skipped case wins over what else it
    has; what failed is found by its element, the message is the text, else the attribute.
    """
    totals: Counter[str] = Counter()
    annotated: list[tuple[str, int, str, str]] = []
    seen: set[tuple[str, ...]] = set()
    for suite in ET.fromstring(text).iter("testsuite"):
        for case in suite.findall("testcase"):
            totals["tests"] += 1
            file = case.get("file") or suite.get("file") or ""
            key = (case.attrib["name"], case.get("classname", ""), file)
            assert key not in seen, "a try of the same test, and one of the two would be lost"
            seen.add(key)
            assert case.get("status") is None, "it could say disabled or ignored"
            found = case.find("failure"), case.find("error")
            if case.find("skipped") is not None:
                totals["skipped"] += 1
                assert found == (None, None)
                continue
            problem = next((each for each in found if each is not None), None)
            if problem is None:
                totals["passed"] += 1
                continue
            totals[problem.tag] += 1
            line = problem.get("line") or case.get("line") or suite.get("line") or 1
            title = f"{suite.attrib['name']}.{case.attrib['name']}"
            message = (problem.text or "").strip() or problem.get("message", "")
            annotated.append((problem.get("file") or file, int(line), title, message))
    return totals, annotated


def enricomi(text: str) -> tuple[Counter[str], dict[str, list[str]]]:
    """Read totals, and the messages of each result.

    The totals of a suite are believed from its attributes, and its leaf suites are added up; the
    results are those of the cases, of which the most severe of a case counts.
    """
    read = JUnitXml.fromstring(text.encode())
    totals: Counter[str] = Counter()
    messages: dict[str, list[str]] = {"failure": [], "error": [], "skipped": []}
    for suite in read:
        assert not list(suite.testsuites())  # type: ignore[no-untyped-call]
        assert suite.name
        assert suite.time is not None
        totals["tests"] += suite.tests
        totals["failure"] += suite.failures
        totals["error"] += suite.errors
        totals["skipped"] += suite.skipped
        for case in suite:
            assert isinstance(case, TestCase)
            assert case.name
            assert case.classname
            assert len(case.result) <= 1, "the most severe would hide the other"
            for kind, name in ((Failure, "failure"), (Error, "error"), (Skipped, "skipped")):
                messages[name] += [
                    f"{result.message}\n{result.text}"
                    for result in case.result
                    if isinstance(result, kind)
                ]
    return totals, messages


def dorny(text: str) -> tuple[dict[str, dict[str, list[tuple[str, str]]]], float]:
    """Read the result of each case by suite and class, and the seconds of the whole.

    Only suites directly below the root and cases directly below a suite are seen; a suite without
    a name stops it, a time that is no number is shown as NaN.
    """
    root = ET.fromstring(text)
    assert root.tag == "testsuites"
    suites: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for suite in root.findall("testsuite"):
        groups = suites.setdefault(suite.attrib["name"].strip(), {})
        assert float(suite.attrib["time"]) > 0
        for case in suite.findall("testcase"):
            assert float(case.attrib["time"]) > 0
            if case.find("failure") is not None or case.find("error") is not None:
                result = "failed"
            else:
                result = "skipped" if case.find("skipped") is not None else "success"
            groups.setdefault(case.attrib["classname"], []).append((case.attrib["name"], result))
    return suites, float(root.attrib["time"])


def expected(verdict: Verdict) -> Counter[str]:
    names = {
        CheckStatus.PASS: "passed",
        CheckStatus.FAIL: "failure",
        CheckStatus.INFRASTRUCTURE: "error",
    }
    counted = Counter(names.get(check.status, "skipped") for check in verdict.checks)
    return counted + Counter(tests=len(verdict.checks))


@pytest.mark.parametrize("make", VERDICTS)
def test_each_publisher_counts_what_the_verdict_says(make: Callable[[], Verdict]) -> None:
    verdict = make()
    text = junit.render(verdict)
    counted = expected(verdict)

    totals, annotated = mikepenz(text)
    assert totals == counted
    assert len(annotated) == totals["failure"] + totals["error"]
    for path, line, _, message in annotated:
        assert path == "megtrim.yaml" and line >= 1 and message

    totals, messages = enricomi(text)
    assert totals + Counter(passed=counted["passed"]) == counted
    for name, texts in messages.items():
        assert len(texts) == totals[name]
        assert all(len(each.encode()) <= LONGEST_MESSAGE_BYTES for each in texts)

    suites, time_s = dorny(text)
    results = Counter(
        result for groups in suites.values() for cases in groups.values() for _, result in cases
    )
    assert results["failed"] == counted["failure"] + counted["error"]
    assert (results["skipped"], results["success"]) == (counted["skipped"], counted["passed"])
    assert time_s > 0


def test_mikepenz_shows_the_trap_where_its_scenario_stands() -> None:
    _, annotated = mikepenz(junit.render(failing()))
    ((*place, title, message),) = (each for each in annotated if "runs:" in each[2])

    assert (place, title) == (["megtrim.yaml", 22], f"megtrim.verify.runs:{TUNED}")
    assert message.startswith("trapped: 2 regions that it needs were not kept\nmodel: ")


def test_enricomi_shows_the_longest_message_whole() -> None:
    crab = "\U0001f980"
    check = replace(
        on_device(CheckStatus.FAIL, crab * 9_000),
        detail=crab * 99_000,
        hint=crab * 9_000,
        reproduce=crab * 2_000,
    )
    _, messages = enricomi(junit.render(join(pull_request(checks=(check,)))))

    (message,) = messages["failure"]
    assert 50_000 < len(message.encode()) <= LONGEST_MESSAGE_BYTES


def test_the_whole_has_a_name_and_totals() -> None:
    root = ET.fromstring(junit.render(mixed()))

    time_s = root.attrib.pop("time")
    assert root.attrib == {
        "name": "megtrim",
        "tests": "16",
        "failures": "1",
        "errors": "1",
        "skipped": "3",
        "disabled": "0",
    }
    assert float(time_s) == pytest.approx(sum(float(suite.attrib["time"]) for suite in root))


def test_entities_in_names_are_text() -> None:
    name = """"'<>&lt;&#64;]]>&xxe;<!ENTITY x "y">"""
    check = Check(
        id=name, kind=CheckKind.TRAP, subject=name, status=CheckStatus.FAIL, text=name, file=name
    )
    text = junit.render(join(pull_request(checks=(check,))))
    root = ET.fromstring(text)

    (case,) = (case for case in root.iter("testcase") if case.find("failure") is not None)
    assert (case.attrib["name"], case.attrib["file"]) == (f"runs:{name}", name)
    assert case[0].attrib["message"] == case[0].text == name
    assert "<!ENTITY" not in text
    assert "<!DOCTYPE" not in text
