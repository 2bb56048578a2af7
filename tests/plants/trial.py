"""Plants each defect in a copy of the tree and runs the tests that should notice.

The checkout is only read. A lane is a copy with its share of the plants; before the first is
planted, the lane's tests run on the copy as it is: what fails there can tell nothing.
"""

import os
import re
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from plants.plant import ROOT, Misfit, Plant, planted

WANTED = 0.97
"""The share of plants that tests must kill."""


_NOT_COPIED = (".git", ".nox", ".venv", "out", "__pycache__", ".*_cache", ".hypothesis")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_PASSED = 0
_SOME_FAILED = 1
"""What pytest ends with."""
_LONGEST_SOUND_S = 3600.0
"""How long all tests of a lane may take on the copy as it is."""


class Fate(StrEnum):
    KILLED = "killed"
    SURVIVED = "survived"
    MISFIT = "does not apply"
    VOID = "void"
    """Nothing can be said: its tests fail without it, do not end, or do not even start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    name: str
    fate: Fate
    text: str
    """The test that killed it; the defect that survived; else what is wrong with the plant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    processes: ProcessRunner
    timeout_s: float
    root: Path = ROOT


def try_plants(
    plants: Sequence[Plant], settings: Settings, *, jobs: int, tell: Callable[[Result], None]
) -> tuple[Result, ...]:
    """Try all plants in so many lanes; return what came of them, by name.

    ``tell`` hears each result as it comes. An interrupt ends the tests and removes the copies.
    """
    stop = threading.Event()
    lock = threading.Lock()

    def run_lane(share: Sequence[Plant]) -> list[Result]:
        found = []
        for result in _lane(share, settings, stop):
            with lock:
                tell(result)
            found.append(result)
        return found

    with ThreadPoolExecutor(jobs) as pool:
        try:
            lanes = list(pool.map(run_lane, _shares(plants, jobs)))
        finally:
            stop.set()
    return tuple(sorted((each for lane in lanes for each in lane), key=lambda each: each.name))


def _shares(plants: Sequence[Plant], count: int) -> list[Sequence[Plant]]:
    ordered = sorted(plants, key=lambda plant: (plant.tests, plant.name))
    size = -(-len(ordered) // count) or 1
    return [ordered[first : first + size] for first in range(0, len(ordered), size)]


def _lane(share: Sequence[Plant], settings: Settings, stop: threading.Event) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="megtrim-plants-") as scratch:
        tree = Path(scratch) / "tree"
        ignored = shutil.ignore_patterns(*_NOT_COPIED)
        shutil.copytree(settings.root, tree, symlinks=True, ignore=ignored)
        tests = sorted({test for plant in share for test in plant.tests})
        unbound = replace(settings, timeout_s=_LONGEST_SOUND_S)
        sound = _run_tests(tests, tree, unbound, stop, first_only=False)
        for plant in share:
            reason = _unsound(plant, sound)
            result = _void(plant, reason) if reason else _try(plant, tree, settings, stop)
            if stop.is_set():
                return
            yield result


def _unsound(plant: Plant, sound: CompletedCommand) -> str:
    if sound.rc not in (_PASSED, _SOME_FAILED) or sound.timed_out:
        return f"tests do not run without any plant: {_last_words(sound)}"
    failed = [name for name in _failed(sound) if any(_holds(test, name) for test in plant.tests)]
    return f"fails without it, too: {', '.join(failed)}" if failed else ""


def _holds(test: str, name: str) -> bool:
    return name == test or name.startswith((f"{test}::", f"{test}["))


def _failed(outcome: CompletedCommand) -> list[str]:
    return _FAILED.findall(outcome.stdout) if outcome.rc == _SOME_FAILED else []


def _last_words(outcome: CompletedCommand) -> str:
    lines = [line for line in outcome.stdout.splitlines() if line.strip()]
    reported = [line for line in lines if line.startswith("ERROR")] or lines
    return f"pytest ended with {outcome.rc}: {reported[-1] if reported else 'it said nothing'}"


def _void(plant: Plant, reason: str) -> Result:
    return Result(name=plant.name, fate=Fate.VOID, text=reason)


def _try(plant: Plant, tree: Path, settings: Settings, stop: threading.Event) -> Result:
    try:
        with planted(plant, tree):
            outcome = _run_tests(plant.tests, tree, settings, stop, first_only=True)
    except Misfit as misfit:
        return Result(name=plant.name, fate=Fate.MISFIT, text=str(misfit))
    if outcome.timed_out:
        return _void(plant, f"its tests did not end within {settings.timeout_s:.0f} s")
    if failed := _failed(outcome):
        return Result(name=plant.name, fate=Fate.KILLED, text=failed[0])
    if outcome.rc == _PASSED:
        return Result(name=plant.name, fate=Fate.SURVIVED, text=plant.defect)
    return _void(plant, _last_words(outcome))


def _run_tests(
    tests: Sequence[str], tree: Path, settings: Settings, stop: threading.Event, *, first_only: bool
) -> CompletedCommand:
    options = ["-q", "--tb=no", "-p", "no:cacheprovider"]
    if first_only:
        options.append("-x")
    scratch = ("--basetemp", str(tree.parent / "tmp"))
    # The copy's code wins over the package that is installed; a lane that cannot run must fail.
    path = os.pathsep.join((str(tree / "ci"), str(tree / "tests")))
    return settings.processes.run(
        Command(
            argv=(sys.executable, "-m", "pytest", *options, *scratch, *tests),
            cwd=tree,
            env={"PYTHONPATH": path, "MEGTRIM_LANES": "required"},
            timeout_s=settings.timeout_s,
            merge_stderr=True,
            abort=stop,
        )
    )


def passes(results: Sequence[Result]) -> bool:
    counts = Counter(each.fate for each in results)
    tried = counts[Fate.KILLED] + counts[Fate.SURVIVED]
    return tried == len(results) and counts[Fate.KILLED] >= WANTED * len(results)


def summarize(results: Sequence[Result]) -> Iterator[str]:
    for each in results:
        if each.fate is not Fate.KILLED:
            yield describe(each)
    counts = Counter(each.fate for each in results)
    share = counts[Fate.KILLED] / len(results) if results else 0.0
    sums = ", ".join(f"{fate}: {counts[fate]}" for fate in Fate if counts[fate])
    yield f"plants: {len(results)}, {sums}; {share:.1%} killed, expected {WANTED:.0%}"


def describe(result: Result) -> str:
    joint = " by " if result.fate is Fate.KILLED else ": "
    return f"{result.name}: {result.fate}{joint}{result.text}"


def encode(results: Sequence[Result]) -> dict[str, object]:
    rows = [{"name": each.name, "fate": each.fate.value, "text": each.text} for each in results]
    return {"version": 1, "passes": passes(results), "plants": rows}
