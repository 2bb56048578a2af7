"""The kit's workflows and actions as values: every scalar stays the text that was written.

Its scripts are modules here: they lie in no package, since they run before there is one.
"""

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
ACTIONS = ROOT / ".github" / "actions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    name: str
    text: str
    data: dict[str, Any]

    @property
    def jobs(self) -> dict[str, dict[str, Any]]:
        return dict(self.data.get("jobs", {}))

    @property
    def events(self) -> dict[str, Any]:
        on = self.data.get("on", {})
        if isinstance(on, str):
            on = [on]
        return dict.fromkeys(on) if isinstance(on, list) else dict(on)

    def steps(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for step in self.data.get("runs", {}).get("steps", ()):
            yield "runs", step
        for job_id, job in self.jobs.items():
            for step in job.get("steps", ()):
                yield job_id, step


def parse(text: str, *, name: str = "sample.yml") -> Document:
    """Read a text; ``on`` and ``true`` stay words."""
    data = yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506
    return Document(name=name, text=text, data=data)


def read(path: Path) -> Document:
    return parse(path.read_text(encoding="utf-8"), name=path.relative_to(ROOT).as_posix())


def workflow(name: str) -> Document:
    return read(WORKFLOWS / f"{name}.yml")


def action(name: str) -> Document:
    return read(ACTIONS / name / "action.yml")


def workflows() -> list[Document]:
    return [read(path) for path in sorted(WORKFLOWS.iterdir())]


def actions() -> list[Document]:
    return [read(path) for path in sorted(ACTIONS.glob("*/action.yml"))]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A script finds its neighbours, as when it is started.
    with patch.object(sys, "path", [str(ROOT / "scripts"), *sys.path]):
        spec.loader.exec_module(module)
    return module
