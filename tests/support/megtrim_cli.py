"""Running megtrim as a user does, on a copy of the sample engine's configuration."""

from __future__ import annotations

import json
import multiprocessing
import os
import pkgutil
import shutil
import subprocess  # noqa: TID251 - runs are started here to be cut off from outside
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import forkserver
from pathlib import Path
from typing import IO, Any, NoReturn
from unittest.mock import patch

import yaml

from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import find_files, read_folder
from megtrim.core.trim.committed_keepset import write_committed
from megtrim.libs.util.process import CompletedCommand
from megtrim.parts import PARTS
from megtrim.places.devices.device import DEFAULT_TIMEOUTS, DeviceSpec, Timeouts
from support.tally.sitecustomize import note

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "sample-engine"
ARGV = (sys.executable, "-m", "megtrim")


@dataclass(slots=True)
class Project:
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

    def change(self, **keys: Any) -> None:
        self.write(self.read() | keys)

    @contextmanager
    def changed(self, **keys: Any) -> Iterator[None]:
        before = self.read()
        self.change(**keys)
        try:
            yield
        finally:
            self.write(before)

    def argv(self, verb: str, *arguments: str) -> tuple[str, ...]:
        where = ("--config", str(self.config), "--out", str(self.out))
        return (*ARGV, *verb.split(), *where, *arguments)

    def run(
        self,
        verb: str,
        *arguments: str,
        timeout_s: float = 600,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
    ) -> CompletedCommand:
        words = self.argv(verb, *arguments)[len(ARGV) :]
        return run_megtrim(
            *words, cwd=self.folder, env=self.env, timeout_s=timeout_s, timeouts=timeouts
        )

    def expect(self, verb: str, *arguments: str, timeout_s: float = 600) -> CompletedCommand:
        ended = self.run(verb, *arguments, timeout_s=timeout_s)
        assert ended.rc == 0, ended.stderr
        return ended

    def start(
        self, verb: str, *arguments: str, stderr: IO[bytes] | int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.argv(verb, *arguments),
            cwd=self.folder,
            env={**os.environ, **self.env},
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )

    def verdict(self) -> dict[str, Any]:
        path = self.file("verdict/verdict", "verdict.json")
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return data

    def done(self) -> dict[str, Path]:
        """Return the folder of each task of this project.

        megtrim itself says where: other projects may share the folder of results.
        """
        reported = json.loads(self.run("report", "--json").stdout)
        return {task: Path(found["folder"]) for task, found in reported["done"].items()}

    def file(self, task: str, name: str) -> Path:
        return self.done()[task] / name


def read_verdict(ended: CompletedCommand) -> dict[str, Any]:
    """Return the verdict of a run with ``--json``; others may share its ``final``."""
    folder = json.loads(ended.stdout)["done"]["verdict/verdict"]["folder"]
    found: dict[str, Any] = json.loads(Path(folder, "verdict.json").read_text("utf-8"))
    return found


_ROOMS = ("core.cli", *(verb.place.rpartition(".")[0] for verb in PARTS.verbs))
"""Packages of verbs: the core's, and those that parts hand in."""
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        # megtrim itself loads these where it uses them.
        "jinja2",
        "scipy.optimize",
        "scipy.sparse.csgraph",
        "scipy.stats",
        "megtrim.__main__",
        *(
            each.name
            for room in dict.fromkeys(_ROOMS)
            for each in pkgutil.walk_packages(
                pkgutil.resolve_name(f"megtrim.{room}").__path__, f"megtrim.{room}."
            )
        ),
        "support.settled",
    ]
)


@cache
def start_server() -> None:
    """Start what megtrim is forked from, for all tests of this process.

    It finds modules by its own search path alone, and says nothing of one that it does not find.
    """
    path = os.pathsep.join(filter(None, (str(ROOT / "tests"), os.environ.get("PYTHONPATH"))))
    with patch.dict(os.environ, PYTHONPATH=path):
        forkserver.ensure_running()


def run_megtrim(
    *words: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 600,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
) -> CompletedCommand:
    """``timeouts`` are those of devices."""
    note("megtrim")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        streams = (Path(folder, "stdout"), Path(folder, "stderr"))
        given = ({**os.environ, **(env or {})}, cwd or Path.cwd(), streams, words, timeouts)
        start_server()
        process = CONTEXT.Process(target=_be_megtrim, args=given)
        process.start()
        process.join(timeout_s)
        timed_out = process.exitcode is None
        if timed_out:
            process.kill()
            process.join()
        rc = process.exitcode or 0
        process.close()
        stdout, stderr = (path.read_text("utf-8", "replace") for path in streams)
    return CompletedCommand(
        argv=("megtrim", *words),
        rc=rc if rc >= 0 else 128 - rc,
        stdout=stdout,
        stderr=stderr,
        wall_s=time.monotonic() - started,
        timed_out=timed_out,
    )


def _be_megtrim(
    env: Mapping[str, str],
    cwd: Path,
    streams: tuple[Path, Path],
    words: tuple[str, ...],
    timeouts: Timeouts,
) -> NoReturn:
    os.setsid()
    for number, path in enumerate((Path(os.devnull), *streams)):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["megtrim", *words]

    from megtrim.__main__ import run

    if timeouts != DEFAULT_TIMEOUTS:
        from megtrim.core.cli.session import device_specs

        specs = partial(DeviceSpec, timeouts=timeouts)
        patch.object(device_specs, "DeviceSpec", specs).start()
    run()
    sys.exit()


@dataclass(frozen=True, slots=True)
class KeepFolder:
    path: Path

    def read(self) -> KeepSet:
        return read_folder(self.path)

    def write(self, keep: KeepSet) -> None:
        write_committed(self.path, keep)

    def file(self, scenario: str) -> Path:
        return self.path / f"{scenario}.json"

    def texts(self) -> dict[str, str]:
        names = find_files(self.path)
        return {name: (self.path / name).read_text(encoding="utf-8") for name in names}

    def edit(self, change: Callable[[str], str]) -> None:
        before = self.texts()
        after = {name: change(text) for name, text in before.items()}
        assert after != before
        self.restore(after)

    def drop_lines(self, drop: Callable[[str], bool]) -> list[str]:
        lines = {line for text in self.texts().values() for line in text.splitlines(keepends=True)}
        self.edit(lambda text: "".join(x for x in text.splitlines(keepends=True) if not drop(x)))
        return sorted(filter(drop, lines))

    def restore(self, texts: dict[str, str]) -> None:
        for name, text in texts.items():
            (self.path / name).write_text(text, encoding="utf-8")

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
