"""Calling the command line in this process, in a folder of the test's own."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from megtrim.core.cli import main

MODELS = Path(__file__).parents[3] / "data" / "models"
SAMPLE_MODELS = Path(__file__).parents[4] / "examples" / "sample-engine" / "models"
SAMPLE_MODEL = (SAMPLE_MODELS / "tiny-vgg.sample").read_bytes()
"""A model that the sample engine runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    out: str
    err: str

    def expect(
        self, status: int, *errors: str, out: str | None = None, err: str | None = None
    ) -> Answer:
        """Expect an exit status, and what standard error holds, or what a stream is as a whole."""
        assert self.status == status, self.err
        for text in errors:
            assert text in self.err
        assert self.out == (self.out if out is None else out)
        assert self.err == (self.err if err is None else err)
        return self


@dataclass(frozen=True, slots=True)
class Shell:
    folder: Path
    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Answer:
        status = main._status(list(arguments))
        printed = self.capture.readouterr()
        # One test of the command line holds the line with the code of an error.
        err = re.sub(r"^  next: megtrim explain MT.*\n", "", printed.err, flags=re.MULTILINE)
        return Answer(status=status, out=printed.out, err=err)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def configure(self, text: str, model: str = "m.mge") -> Shell:
        """Leave a configuration, and the model that it names."""
        (self.folder / model).write_bytes(SAMPLE_MODEL)
        self.write("megtrim.yaml", text)
        return self

    def model(self, name: str) -> Path:
        return Path(shutil.copy(MODELS / name, self.folder / name))

    def sample(self, name: str) -> Path:
        return Path(shutil.copy(SAMPLE_MODELS / name, self.folder / name))


def walk(
    group: click.Group, before: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield all commands below a group with their words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*before, name), command
        if isinstance(command, click.Group):
            yield from walk(command, (*before, name))
