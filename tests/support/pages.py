"""What the pages print for a reader to type: blocks of commands, and how each of them is tested.

A comment before a block, which no reader sees, says one of two things:

    <!-- run: LANE -->  or  <!-- run: LANE, exit 1 -->
        it is run as it stands, in the folder that this lane makes for the pages
    <!-- needs: WHAT; WHO -->
        it needs what no lane has; WHO is the file, or the FILE::TEST, that does the same there,
        or "no one"

A paragraph that begins with a command is a block of one.
"""

import os
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import click

from megtrim.core.cli.lazy_group import LazyGroup
from megtrim.core.cli.main import main as megtrim
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import SAMPLE, Project
from support.source_forge import KIT_SHA, make_kit
from virtual_phone.cli import main as virtual_phone

ROOT = Path(__file__).parents[2]
GENERATED = ("docs/reference/command-line.md",)
"""Its examples are those of ``--help``; they are held to the command line as well."""
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/*.md"))
    if path.name != "CHANGELOG.md"
)
_PROGRAMS = r"(?:megtrim|virtual-phone|sudo|python3?|pip|git|docker|adb|nox|\.venv/bin/nox)"
_BLOCK = re.compile(
    r"(?:^ *<!-- *(?P<kind>run|needs): *(?P<what>[^\n]*?) *-->\n)?"
    r"(?:^(?P<indent> *)```(?P<language>[a-z]*)\n(?P<text>.*?)^(?P=indent)```$"
    rf"|^ *(?:(?:\d+\.|[-*]) +)?`(?P<inline>{_PROGRAMS} [^`\n]+)`)",
    re.MULTILINE | re.DOTALL,
)
_RUN = re.compile(r"(?P<lane>[a-z_]+)(?:, exit (?P<status>\d+))?")


@cache
def read_noxfile() -> dict[str, Any]:
    """Return the names of the noxfile; nox registers each session of a process once."""
    return runpy.run_path(str(ROOT / "noxfile.py"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Commands that belong together. ``mark`` is ``run``, ``needs`` or empty."""

    page: str
    line: int
    script: str
    mark: str
    what: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def lane(self) -> str:
        found = _RUN.fullmatch(self.what) if self.mark == "run" else None
        return found["lane"] if found else ""

    @property
    def status(self) -> int:
        found = _RUN.fullmatch(self.what) if self.mark == "run" else None
        return int(found["status"] or 0) if found else 0

    @property
    def who(self) -> str:
        return self.what.partition("; ")[2] if self.mark == "needs" else ""


def blocks_of(page: str, text: str) -> Iterator[Block]:
    for found in _BLOCK.finditer(text):
        script = found["inline"] or _script(found["language"] or "", found["text"] or "")
        if script:
            begin = found.start("inline" if found["inline"] else "indent")
            yield Block(
                page=page,
                line=text.count("\n", 0, begin) + 1,
                script=script,
                mark=found["kind"] or "",
                what=found["what"] or "",
            )


def _script(language: str, text: str) -> str:
    if language == "sh":
        return text
    if language == "console":
        return "".join(f"{line[2:]}\n" for line in text.splitlines() if line.startswith("$ "))
    return ""


BLOCKS = tuple(
    block
    for path in PAGES
    if (name := str(path.relative_to(ROOT))) not in GENERATED
    for block in blocks_of(name, path.read_text(encoding="utf-8"))
)


def blocks_in(lane: str) -> tuple[Block, ...]:
    return tuple(block for block in BLOCKS if block.lane == lane)


PROGRAMS: dict[str, click.Command] = {"megtrim": megtrim, "virtual-phone": virtual_phone}


def find_refusal(line: str) -> str:
    said = re.split(r" {3}| [|>] ", line, maxsplit=1)[0].replace(" DIGEST", f" {'0' * 64}")
    program, *words = shlex.split(said, comments=True)
    command = PROGRAMS[program]
    context = click.Context(command, info_name=program, help_option_names=["-h", "--help"])
    try:
        while isinstance(command, click.Group):
            named = words and not words[0].startswith("-")
            if isinstance(command, LazyGroup) and command.alone and not named:
                break  # a group that is a verb, too
            found = command.get_command(context, words[0]) if words else None
            if found is None:
                return f"no verb {words[:1]}"
            command = found
            words = words[1:]
        if words:  # a verb alone may be spoken of
            command.make_context(program, words, parent=context)
    except click.exceptions.Exit:
        return ""  # --help
    except click.UsageError as error:
        return error.format_message()
    return ""


MODEL = "tiny-mobile"
"""Of the sample engine; it plays the pages' resnet50."""
LONGEST_S = 900
_PLACEHOLDERS = {"OWNER": "team", " SHA ": f" {KIT_SHA} "}
_KIT = "team/megtrim"
_KIT_VERSION = "v0.2.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    def type(self, block: Block) -> CompletedCommand:
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
    shutil.copytree(SAMPLE, parent / "MegEngine")
    server = make_kit(parent / "forge", _KIT_VERSION, name=_KIT)
    settings = parent / "settings"
    (settings / "git").mkdir(parents=True)
    instead = f'[url "{server}/"]\n\tinsteadOf = https://github.com/\n'
    (settings / "git/config").write_text(instead, encoding="utf-8")
    place = Place(folder=parent / "team", env={"XDG_CONFIG_HOME": str(settings)})
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
