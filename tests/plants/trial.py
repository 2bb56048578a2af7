"""Plants each defect in a copy of the tree and runs the tests that should notice.

The checkout is only read. A lane is a copy with its share of the plants; before the first is
planted, the lane's tests must pass on the copy as it is.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from megtrim.process import Command, Outcome, Processes
from plants.plant import ROOT, Misfit, Plant, planted
from plants.result import Fate, Result

_NOT_COPIED = (".git", ".nox", ".venv", "out", "__pycache__", ".*_cache", ".hypothesis")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_TAIL_CHARACTERS = 2000
_PASSED, _SOME_FAILED = 0, 1
"""What pytest ends with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all lanes share."""

    processes: Processes
    timeout_s: float
    """Of one run of tests."""
    root: Path = ROOT
    """The tree that is copied."""


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
    """Divide the plants; those of the same tests stay together, so that these run sound once."""
    ordered = sorted(plants, key=lambda plant: (plant.tests, plant.name))
    size = -(-len(ordered) // count) or 1
    return [ordered[first : first + size] for first in range(0, len(ordered), size)]


def _lane(share: Sequence[Plant], settings: Settings, stop: threading.Event) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="megtrim-plants-") as scratch:
        tree = Path(scratch) / "tree"
        ignored = shutil.ignore_patterns(*_NOT_COPIED)
        shutil.copytree(settings.root, tree, symlinks=True, ignore=ignored)
        tests = sorted({test for plant in share for test in plant.tests})
        sound = _run_tests(tests, tree, settings, stop, first_only=False)
        for plant in share:
            result = _try(plant, tree, settings, stop) if sound.ok else _unsound(plant, sound)
            if stop.is_set():
                return
            yield result


def _unsound(plant: Plant, sound: Outcome) -> Result:
    text = f"tests fail without any plant:\n{sound.stdout[-_TAIL_CHARACTERS:]}"
    return Result(name=plant.name, fate=Fate.VOID, text=text)


def _try(plant: Plant, tree: Path, settings: Settings, stop: threading.Event) -> Result:
    try:
        with planted(plant, tree):
            outcome = _run_tests(plant.tests, tree, settings, stop, first_only=True)
    except Misfit as misfit:
        return Result(name=plant.name, fate=Fate.MISFIT, text=str(misfit))
    if outcome.timed_out:
        text = f"its tests did not end within {settings.timeout_s:.0f} s"
        return Result(name=plant.name, fate=Fate.VOID, text=text)
    failed = _FAILED.search(outcome.stdout)
    if outcome.rc == _SOME_FAILED and failed:
        return Result(name=plant.name, fate=Fate.KILLED, text=failed[1])
    if outcome.rc == _PASSED:
        return Result(name=plant.name, fate=Fate.SURVIVED, text=plant.defect)
    text = f"pytest ended with {outcome.rc}:\n{outcome.stdout[-_TAIL_CHARACTERS:]}"
    return Result(name=plant.name, fate=Fate.VOID, text=text)


def _run_tests(
    tests: Sequence[str],
    tree: Path,
    settings: Settings,
    stop: threading.Event,
    *,
    first_only: bool,
) -> Outcome:
    options = ("-q", "--tb=no", "-p", "no:cacheprovider", *(("-x",) if first_only else ()))
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
