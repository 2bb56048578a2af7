"""Attempts on the report: the last thing that is read before a change is let in."""

import shutil
from collections.abc import Callable
from typing import Any

import junitparser
import pytest

from attacks.arena import ARTIFACT, Arena
from attacks.tampering import edit
from megtrim.core.evidence.fields import EarlyExit
from megtrim.libs.util.strict_json import dump

pytestmark = [pytest.mark.chain]


class Report:
    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.folder = arena.root / "report"
        self.verdict = self.folder / "verdict.json"

    def start(self, state: str) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        reports = shutil.ignore_patterns("bin")
        shutil.copytree(self.arena.kept(state) / "out/final", self.folder, ignore=reports)

    def change(self, change: Callable[[dict[str, Any]], Any]) -> None:
        edit(self.verdict, change)

    def gate(self) -> int:
        return self.arena.run("ci", "gate", "report", cwd=self.arena.root).rc


@pytest.fixture
def report(arena: Arena) -> Report:
    made = Report(arena)
    made.start("trapping")
    assert made.gate() == 1
    return made


def test_a_red_run_in_junit(arena: Arena) -> None:
    for state, more in (("trapping", ("--committed",)), ("bad", ()), ("honest", ())):
        arena.start(state)
        if state == "honest":
            arena.configure(budgets=[{"artifact": ARTIFACT, "max": "1 KiB"}])
        codes = [arena.stage(verb, *more).rc for verb in ("trim", "stage verdict", "report")]
        suites = junitparser.JUnitXml.fromfile(str(arena.project.out / "final/junit.xml"))

        assert (*codes, arena.gate()) == (1, 1, 1, 1)
        assert suites.failures > 0


def paint_checks(verdict: dict[str, Any]) -> None:
    for check in verdict["checks"]:
        if check["status"] == "fail":
            check["status"] = "pass"
    verdict["verdict"] = "pass"
    assert "trap" in {each["status"] for each in verdict["scenarios"]}


def drop_checks(verdict: dict[str, Any]) -> None:
    verdict["checks"] = [each for each in verdict["checks"] if each["status"] == "pass"]
    verdict["verdict"] = "pass"


def say_twice(report: Report) -> None:
    text = report.verdict.read_text(encoding="utf-8").rstrip().removesuffix("}").rstrip()
    report.verdict.write_text(text + ',\n "verdict": "pass",\n "checks": []\n}\n', "utf-8")


ATTEMPTS: dict[str, Callable[[Report], None]] = {
    "a_verdict_that_contradicts_its_checks": lambda report: report.change(
        lambda data: data.update(verdict="pass")
    ),
    "a_verdict_that_contradicts_its_scenarios": lambda report: report.change(paint_checks),
    "a_verdict_without_a_check": lambda report: report.change(drop_checks),
    "a_key_that_stands_twice": say_twice,
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_attempt(report: Report, attempt: str) -> None:
    ATTEMPTS[attempt](report)

    assert report.gate() == 2


def test_a_verdict_that_contradicts_its_budgets(report: Report) -> None:
    report.start("honest")
    assert report.gate() == 0
    report.change(lambda data: data["budgets"][0].update(status="fail"))

    assert report.gate() == 2
    report.change(lambda data: data["budgets"][0].update(status="pass", limit=1))
    assert report.gate() == 2


def test_a_report_cut_off(report: Report) -> None:
    report.start("honest")
    whole = report.verdict.read_text(encoding="utf-8")
    for length in (0, 1, 40, len(whole) // 2, len(whole) - 3):
        report.verdict.write_text(whole[:length], encoding="utf-8")
        assert report.gate() == 2, length


def test_a_report_that_is_empty(report: Report) -> None:
    for file in report.folder.iterdir():
        file.unlink()
    assert report.gate() == 3
    report.folder.rmdir()

    assert report.gate() == 3


def test_an_ending_next_to_a_verdict(report: Report) -> None:
    report.start("honest")
    ending = EarlyExit(exit=2, message="no configuration", hint="")
    (report.folder / "ending.json").write_text(dump(ending), encoding="utf-8")

    assert report.gate() != 0


def test_a_verdict_by_a_link(report: Report) -> None:
    report.verdict.unlink()
    report.verdict.symlink_to(report.arena.kept("honest") / "out/final/verdict.json")

    assert report.gate() != 0
