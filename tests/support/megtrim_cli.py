"""Running megtrim as a user does, on a copy of the sample engine's configuration."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from megtrim.util.process import CompletedCommand
from support.fork_server import run_megtrim

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "sample-engine"
ARGV = (sys.executable, "-m", "megtrim")


@dataclass(slots=True)
class Project:
    """A team's folder: a configuration with its models, and the folder of results next to it."""

    folder: Path
    out: Path = field(init=False)
    env: dict[str, str] = field(default_factory=dict)
    """Added to the environment of every run."""

    def __post_init__(self) -> None:
        self.out = self.folder / "out"

    @classmethod
    def of_sample(cls, folder: Path, *, models: tuple[str, ...] = ()) -> Project:
        """Copy the sample's configuration; keep only ``models`` where some are named."""
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(SAMPLE, folder / "engine", dirs_exist_ok=True)
        project = cls(folder)
        config = yaml.safe_load((SAMPLE / "megtrim.yaml").read_text(encoding="utf-8"))
        config["engine"]["source"] = "engine"
        for model in config["models"]:
            model["file"] = f"engine/{model['file']}"
            if "strip_info" in model:
                model["strip_info"] = f"engine/{model['strip_info']}"
            for scenario in model["scenarios"]:
                named = scenario.get("inputs", {})
                scenario["inputs"] = {name: f"engine/{path}" for name, path in named.items()}
                # The search is exercised, not only what it once found.
                scenario.pop("algo_cache", None)
        if models:
            config["models"] = [m for m in config["models"] if m["name"] in models]
        project.write(config)
        return project

    @property
    def config(self) -> Path:
        return self.folder / "megtrim.yaml"

    def read(self) -> dict[str, Any]:
        data: dict[str, Any] = yaml.safe_load(self.config.read_text(encoding="utf-8"))
        return data

    def write(self, config: dict[str, Any]) -> None:
        self.config.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")

    def argv(self, verb: str, *arguments: str) -> tuple[str, ...]:
        """Return the command line of a verb, such as ``stage build``, on this project."""
        where = ("--config", str(self.config), "--out", str(self.out))
        return (*ARGV, *verb.split(), *where, *arguments)

    def run(self, verb: str, *arguments: str, timeout_s: float = 600) -> CompletedCommand:
        words = self.argv(verb, *arguments)[len(ARGV) :]
        return run_megtrim(*words, cwd=self.folder, env=self.env, timeout_s=timeout_s)

    def verdict(self) -> dict[str, Any]:
        path = self.file("verdict/verdict", "verdict.json")
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return data

    def file(self, task: str, name: str) -> Path:
        """Return a file that a task of this project left.

        megtrim itself says where: other projects may share the folder of results.
        """
        reported = json.loads(self.run("report", "--json").stdout)
        return Path(reported["done"][task]["folder"]) / name
