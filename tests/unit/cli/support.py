"""Calling the command line in this process, in a folder of the test's own."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from megtrim.cli import main

MODELS = Path(__file__).parents[2] / "data" / "models"
SAMPLE_MODELS = Path(__file__).parents[3] / "examples" / "sample-engine" / "models"
SAMPLE_MODEL = (SAMPLE_MODELS / "tiny-vgg.sample").read_bytes()
"""A model that the sample engine runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    out: str
    err: str

    def expect(self, status: int, *errors: str) -> Answer:
        """Expect an exit status, and what standard error holds."""
        assert self.status == status, self.err
        for text in errors:
            assert text in self.err
        return self


@dataclass(frozen=True, slots=True)
class Shell:
    folder: Path
    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Answer:
        status = main._status(list(arguments))
        printed = self.capture.readouterr()
        # One test of the command line holds the line with the code of an error.
        err = re.sub(r"^  (MT\d{4}): megtrim explain \1\n", "", printed.err, flags=re.MULTILINE)
        return Answer(status=status, out=printed.out, err=err)

    def model(self, name: str) -> Path:
        return Path(shutil.copy(MODELS / name, self.folder / name))

    def sample(self, name: str) -> Path:
        return Path(shutil.copy(SAMPLE_MODELS / name, self.folder / name))
