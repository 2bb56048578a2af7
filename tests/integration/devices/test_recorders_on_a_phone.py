"""The sample engine's committed keep set: an emulator recorded it, a phone records the same."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from megtrim.util.process import Command, ProcessRunner
from support.megtrim_cli import SAMPLE, KeepFolder

COMMITTED = "megtrim/functions.keepset"


@dataclass(frozen=True, slots=True)
class Demo:
    """A copy of the sample engine, and the environment of whoever trims it."""

    folder: Path
    out: Path
    environment: dict[str, str]

    def trim(self, *more: str) -> list[bytes]:
        """Trim as the demo does; return the lists of functions and the program that ships."""
        config = ("--config", str(self.folder / "functions.yaml"), "--out", str(self.out))
        argv = (sys.executable, "-m", "megtrim", "trim", *config, "--json", *more)
        ended = ProcessRunner(self.environment).run(Command(argv=argv, timeout_s=1800))
        assert ended.rc == 0, ended.stderr
        assert "is not what was traced now" not in ended.stderr
        done = {
            task: Path(reported["folder"])
            for task, reported in json.loads(ended.stdout)["done"].items()
        }
        lists = [done[task] / "functions.txt" for task in sorted(done) if "functions/tiny" in task]
        assert len(lists) == 4
        files = [*lists, done["reduce/reduced"] / "bin/load_and_run"]
        return [each.read_bytes() for each in files]


@pytest.fixture
def demo(tmp_path: Path, shared_out: Path, phone_environment: dict[str, str]) -> Demo:
    shutil.copytree(SAMPLE, tmp_path / "sample")
    state = {"MEGTRIM_STATE": str(tmp_path / "state")}
    return Demo(tmp_path / "sample", shared_out, {**os.environ, **phone_environment, **state})


@pytest.mark.usefixtures("phone_root")
def test_the_demo_on_a_phone_agrees_with_what_is_committed(demo: Demo) -> None:
    """`demo --device virtual-phone` on a fresh clone passes, and ships what the demo ships."""
    keep = KeepFolder(demo.folder / COMMITTED)
    committed = keep.texts()
    phone, emulator = demo.trim("--device", "virtual-phone"), demo.trim()

    assert phone == emulator
    assert keep.texts() == committed != {}
