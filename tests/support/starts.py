"""What a run of the tests must not do: change the checkout, or start more than is held.

How often each lane starts what costs it its time is counted in the run, and held:
tests/walls/weight.toml holds what a lane starts where it runs alone; a run of several shares
builds, and needs fewer. Machines differ by twice and more: seconds are not held.
"""

import os
import runpy
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from megtrim.libs.util.process import Command, ProcessRunner
from support.tally.sitecustomize import STARTS, VARIABLE
from support.weight import HELD

TALLY = Path(__file__).parent / "tally"
_ROOT = "FOLDER_OF_TALLIES"
_CHECKOUT = Path(__file__).parents[2]
_BEFORE = pytest.StashKey[frozenset[str] | None]()
_CACHES = (
    "__pycache__/",
    ".hypothesis/",
    ".import_linter_cache/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
)
"""What Python and the checkers keep next to what they read; ignored by git."""


def begin_counting(config: pytest.Config) -> None:
    """Let this process, its workers and all that they start count, until the run ends."""
    if hasattr(config, "workerinput"):
        return
    folder = tempfile.TemporaryDirectory(prefix="starts-")
    config.add_cleanup(folder.cleanup)
    config.stash[_BEFORE] = _state()
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


def _state() -> frozenset[str] | None:
    """Return what git says of the checkout, or None where there is no git or no repository."""
    if shutil.which("git") is None:
        return None
    argv = ("git", "--no-optional-locks", "status", "--porcelain", "--ignored")
    reported = ProcessRunner(os.environ).run(Command(argv=argv, cwd=_CHECKOUT, timeout_s=60))
    lines = frozenset(line for line in reported.stdout.splitlines() if not line.endswith(_CACHES))
    return lines if reported.ok else None


def fail_excess(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return
    if excess := find_excess(read_starts(), read_held()):
        report_failure(session, "what tests start", "\n".join(excess))
    before = session.config.stash.get(_BEFORE, None)
    if before is not None and (changed := sorted((_state() or before) ^ before)):
        said = "\n".join(("changed while the tests ran:", *changed))
        report_failure(session, "the checkout", said)
