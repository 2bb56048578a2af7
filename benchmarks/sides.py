"""Several ways to trim one configuration, built side by side in one folder of results."""

import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from megtrim.core import stages
from megtrim.core.chain.graph import Stage, tasks, tasks_up_to
from megtrim.core.chain.session import Session, TaskResults
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.setup import open_session
from megtrim.core.parts import hand_in
from megtrim.parts import PARTS

RECIPE_KEYS = ("minimum_size", "switches", "layout")
"""Of ``trim``: what the documented recipe has as well."""


class Sides:
    def __init__(self, config: Path, out: Path, engine: Path | None, jobs: int | None) -> None:
        self._config = config
        self._options = Options(config=config, out=out, engine=engine, jobs=jobs, quiet=False)

    def recipe(self) -> Session:
        trim = self._data().get("trim", {})
        return self._open("recipe", {key: trim[key] for key in RECIPE_KEYS if key in trim})

    def functions(self) -> Session:
        return self._open("functions", self._data().get("trim", {}) | {"level": "function"})

    def quick(self) -> Session:
        # As `megtrim trim --quick`: what is for a full trim stands in the file, and does not count.
        return self._open("quick", self._data().get("trim", {}), quick=True)

    def _data(self) -> dict[str, Any]:
        data: dict[str, Any] = yaml.safe_load(self._config.read_text(encoding="utf-8"))
        return data

    def _open(self, name: str, trim: Mapping[str, Any], *, quick: bool = False) -> Session:
        # Where a keep set is committed, none of the three may write it, or wait for a person.
        kept = self._options.results / f"{name}.keepset"
        shutil.rmtree(kept, ignore_errors=True)
        own = {"trim": dict(trim), "keep_set": str(kept), "budgets": [], "waivers": []}
        with _written(self._config.parent, self._data() | own) as path:
            hand_in(PARTS)
            return open_session(replace(self._options, config=path, quick=quick))


@contextmanager
def _written(folder: Path, data: Mapping[str, Any]) -> Iterator[Path]:
    """Write a configuration beside another one, whose paths are relative to its folder."""
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".", suffix=".yaml") as stream:
        yaml.safe_dump(dict(data), stream, sort_keys=False)
        stream.flush()
        yield Path(stream.name)


def run(session: Session) -> None:
    stages.run(tasks_up_to(Stage.VERIFY, tasks(session.config)), session)
    for failure in session.results.failed.values():
        raise failure


def forget(session: Session, kept: Collection[str]) -> None:
    """Remove what a side left but the tasks in ``kept``, so that its time can be taken."""
    throwaway = replace(session, results=TaskResults())
    for step in stages.plan(tasks(session.config), throwaway):
        if step.folder and step.task not in kept:
            shutil.rmtree(session.services.store.root / step.folder)
