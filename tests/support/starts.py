"""How often each lane starts what costs it its time: counted in the run, and held.

tests/walls/weight.toml holds what a lane starts where it runs alone; a run of several shares
builds, and needs fewer. Machines differ by twice and more: seconds are not held.
"""

import os
import runpy
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.tally.sitecustomize import STARTS, VARIABLE
from support.weight import HELD

TALLY = Path(__file__).parent / "tally"
_ROOT = "FOLDER_OF_TALLIES"


def begin_counting(config: pytest.Config) -> None:
    """Let this process, its workers and all that they start count, until the run ends."""
    if hasattr(config, "workerinput"):
        return
    folder = tempfile.TemporaryDirectory(prefix="starts-")
    config.add_cleanup(folder.cleanup)
    os.environ[_ROOT] = folder.name
    runpy.run_path(str(TALLY / "sitecustomize.py"), run_name="sitecustomize")
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(TALLY), path)))


def count_for(lane: str) -> None:
    os.environ[VARIABLE] = str(Path(os.environ[_ROOT], lane))


def counting() -> dict[str, str]:
    return {"BASH_ENV": str(TALLY / "steps.sh"), VARIABLE: os.environ[VARIABLE]}


def read_starts() -> dict[str, Counter[str]]:
    tallies = sorted(Path(os.environ[_ROOT]).iterdir())
    return {path.name: Counter(path.read_text(encoding="utf-8").split()) for path in tallies}


def describe(counted: Mapping[str, int]) -> str:
    return "".join(f"{counted[what]:>6} {what}" for what in STARTS if what in counted)


def read_held() -> Mapping[str, Mapping[str, int]]:
    """Return how often each lane may start what; nothing is held in a copy of some tests."""
    text = HELD.read_text(encoding="utf-8") if HELD.is_file() else "starts = {}"
    held: Mapping[str, Mapping[str, int]] = tomllib.loads(text)["starts"]
    return held


def find_excess(
    starts: Mapping[str, Counter[str]], held: Mapping[str, Mapping[str, int]]
) -> list[str]:
    return [
        f"{lane} starts {what} {number} times, {number - limits[what]} more than "
        "tests/walls/weight.toml holds: share what another test has made, or raise the number "
        "in a commit that says for what"
        for lane, counted in starts.items()
        for what, number in sorted(counted.items())
        if what in (limits := held.get(lane, {})) and number > limits[what]
    ]


def fail_above_held(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return
    if excess := find_excess(read_starts(), read_held()):
        report_failure(session, "what tests start", "\n".join(excess))


def report_failure(session: pytest.Session, subject: str, text: str) -> None:
    report = pytest.TestReport(
        nodeid=subject,
        location=("", None, subject),
        keywords={},
        outcome="failed",
        longrepr=text,
        when="teardown",
    )
    session.config.hook.pytest_runtest_logreport(report=report)
    if session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
