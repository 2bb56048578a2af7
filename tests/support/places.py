"""The folders in which the pages' commands are run: a team's, as the pages speak of it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from megtrim.util.process import Command, CompletedCommand, ProcessRunner
from support.kit_repository import KIT_SHA, make_kit
from support.megtrim_cli import SAMPLE, Project
from support.pages import Block

MODEL = "tiny-mobile"
"""Of the sample engine; it plays the pages' resnet50."""
LONGEST_S = 900
_PLACEHOLDERS = {"OWNER": "team", " SHA ": f" {KIT_SHA} "}
_KIT, _KIT_VERSION = "team/megtrim", "v0.2.0"
"""The kit, and the version that the pages call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A reader's folder, with what the pages take for granted around it."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    def type(self, block: Block) -> CompletedCommand:
        """Type the commands, as a reader does in bash; end at the first that fails."""
        return ProcessRunner(os.environ).run(self._command(block.script))

    @contextmanager
    def companion(self, block: Block, log: Path) -> Iterator[None]:
        """Type them in another terminal, which is closed with the block; ``log`` shows it."""
        log.touch()
        with ProcessRunner(os.environ).background(self._command(f"exec {block.script}", log)):
            yield

    def _command(self, script: str, log: Path | None = None) -> Command:
        for name, value in _PLACEHOLDERS.items():
            script = script.replace(name, value)
        argv = ("bash", "-e", "-o", "pipefail", "-c", script)
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        env = {"PATH": path, **self.env}
        return Command(argv=argv, timeout_s=LONGEST_S, cwd=self.folder, env=env, log=log)


def new_folder(parent: Path) -> Place:
    """Return a repository with a model and its input, next to a checkout of the engine."""
    shutil.copytree(SAMPLE, parent / "MegEngine")
    server = make_kit(parent / "forge", _KIT_VERSION, name=_KIT)
    place = Place(folder=parent / "team", env={"GITHUB_SERVER_URL": server})
    for source, target in (
        (f"{MODEL}.sample", "models/resnet50.mge"),
        (f"{MODEL}.sample.json", "models/resnet50.mge.json"),
        (f"{MODEL}.data.npy", "inputs/cat.npy"),
    ):
        path = place.folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SAMPLE / "models" / source, path)
    ProcessRunner(os.environ).capture("git", "init", "--quiet", str(place.folder))
    return place


def configured_folder(parent: Path, out: Path, *, toolchain: str) -> tuple[Place, Project]:
    """Return such a folder with a configuration, whose results lie where others share them."""
    place = new_folder(parent)
    project = Project.of_sample(place.folder, models=(MODEL,))
    config = project.read()
    (model,) = config["models"]
    model |= {"name": "resnet50", "file": "models/resnet50.mge"}
    model["strip_info"] = "models/resnet50.mge.json"
    model["scenarios"][0]["inputs"] = {"data": "inputs/cat.npy"}
    project.write({**config, "toolchain": {"kind": toolchain}, "budgets": []})
    out.mkdir(exist_ok=True)
    (place.folder / "megtrim-out").symlink_to(out)
    return place, project
