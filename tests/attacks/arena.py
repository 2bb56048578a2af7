"""A team's project that is attacked: honest at first, and brought back to that each time.

It always lies in one folder, since build trees hold paths: so what was built once is built again
in seconds. The engine has two doors for attacks. It is *flaky* where a file of that name lies in
the arena, and it can be made *bad*: then the reduced program flips a bit of each output.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import junitparser

from megtrim.core.timing.spec import FEWEST_ROUNDS
from megtrim.libs.util.process import CompletedCommand
from support.megtrim_cli import SAMPLE, KeepFolder, Project, run_megtrim

MODELS = ("tiny-mobile", "tiny-quant")
SCENARIO = "tiny-mobile/default@any"
OTHER = "tiny-quant/default@any"
ARTIFACT = "load_and_run"
PROGRAM = f"bin/{ARTIFACT}"
REGION = "sample_pooling<float, 1, -465134378>"
"""One that the first scenario alone runs."""
BOARD = {"name": "board", "kind": "local", "class": "any", "runner": True}
PROOFS = "proofs.json"
JOIN = ("ci", "evidence", "join", "--verdict", "results", "--bundle", "bundle")
OWNER = {"MEGTRIM_HOST_RUNS_PROGRAMS": "yes"}
"""What the owner of the board allows, in its environment."""

_OUTPUTS = "src/load_and_run/outputs.cpp"
_WRITTEN = "    return out.append(tensor.as<char>(), tensor.bytes());\n"
_OPTIONS = "src/load_and_run/options.h"
_SLOWER = """\
#if SAMPLE_NO_EXCEPTIONS
#define SLOWER 200
#else
#define SLOWER 0
#endif
"""
_PLANT = """\
    out.append(tensor.as<char>(), tensor.bytes());
#if SAMPLE_NO_EXCEPTIONS
    if ({condition}) out.back() ^= 1;
#endif
    return out;
"""


@dataclass(slots=True)
class Arena:
    root: Path
    project: Project = field(init=False)

    def __post_init__(self) -> None:
        self.project = Project(self.root / "project")

    def start(self, state: str) -> None:
        self._flaky.unlink(missing_ok=True)
        kept = self.root / "states" / state
        if not kept.is_dir():
            STATES[state](self)
            shutil.copytree(self.folder, kept, symlinks=True)
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(kept, self.folder, symlinks=True)

    def kept(self, state: str) -> Path:
        kept = self.root / "states" / state
        if not kept.is_dir():
            self.start(state)
        return kept

    @property
    def folder(self) -> Path:
        return self.project.folder

    @property
    def source(self) -> Path:
        return self.folder / "engine" / _OUTPUTS

    @property
    def keep(self) -> KeepFolder:
        return KeepFolder(self.folder / "megtrim/keepset")

    @property
    def _flaky(self) -> Path:
        return self.root / "flaky"

    def make_flaky(self) -> None:
        self._flaky.touch()

    def make_steady(self) -> None:
        self._flaky.unlink()

    def make_bad(self) -> None:
        self.source.write_text(planted("true"), encoding="utf-8")

    def make_good(self) -> None:
        asked = f'std::fopen("{self._flaky}", "r") != nullptr'
        self.source.write_text(planted(asked), encoding="utf-8")

    def lose(self, line: str) -> None:
        assert self.keep.drop_lines(lambda each: line in each)

    def configure(self, **keys: Any) -> None:
        self.project.change(**keys)

    def run(self, *words: str, cwd: Path | None = None) -> CompletedCommand:
        return run_megtrim(*words, cwd=cwd or self.folder, env=OWNER)

    def stage(self, verb: str, *more: str) -> CompletedCommand:
        where = ("--config", str(self.project.config), "--out", str(self.project.out))
        return self.run(*verb.split(), *where, *more)

    def trim(self, *more: str) -> CompletedCommand:
        return self.stage("trim", *more)

    def gate(self, folder: str = "out/final") -> int:
        return self.run("ci", "gate", folder).rc

    def expect_red(self, *more: str) -> CompletedCommand:
        ended = self.trim(*more)
        assert (ended.rc, self.gate(), self.verdict()["verdict"]) == (1, 1, "fail"), ended.stderr
        return ended

    def expect_all_red(self, *more: str) -> None:
        ended = self.expect_red(*more)
        assert "verdict: pass" not in ended.stdout
        assert [self.stage(verb, *more).rc for verb in ("stage verdict", "report")] == [1, 1]
        assert junitparser.JUnitXml.fromfile(str(self.project.out / "final/junit.xml")).failures > 0

    def expect_refused(self, *more: str, codes: tuple[int, ...] = (2,)) -> None:
        ended = self.trim(*more)
        assert ended.rc in codes, ended.stderr
        assert self.gate() != 0

    def leave_no_room_for_runs(self) -> None:
        runs = self.project.out / "runs"
        shutil.rmtree(runs, ignore_errors=True)
        runs.write_text("no folder\n", encoding="utf-8")

    def result(self, task: str, *more: str) -> Path:
        """Return the folder that megtrim itself names for a task, as things are now."""
        done = json.loads(self.stage("report", "--json", *more).stdout)["done"]
        return Path(done[task]["folder"])

    def good_program(self) -> bytes:
        (program,) = self.kept("honest").glob(f"out/reduce/*/{PROGRAM}")
        return program.read_bytes()

    def bad_program(self) -> bytes:
        good = self.good_program()
        made = (each.read_bytes() for each in self.kept("bad").glob(f"out/reduce/*/{PROGRAM}"))
        (bad,) = (each for each in made if each != good)
        return bad

    def stored(self, stage: str, name: str) -> list[Path]:
        """Return the folders in the store of a task, whatever megtrim would say of them."""
        found = sorted((self.project.out / stage).glob("*/manifest.json"))
        names = (json.loads(path.read_text(encoding="utf-8"))["name"] for path in found)
        return [path.parent for path, each in zip(found, names, strict=True) if each == name]

    def only(self, stage: str, name: str) -> Path:
        (folder,) = self.stored(stage, name)
        return folder

    def verdict(self, folder: str = "out/final") -> dict[str, Any]:
        text = (self.folder / folder / "verdict.json").read_text(encoding="utf-8")
        data: dict[str, Any] = json.loads(text)
        return data

    def concluded(self) -> tuple[str, int]:
        return self.verdict("report")["verdict"], self.gate("report")

    def pack_with_proofs(self) -> dict[str, Any]:
        bundle = self.folder / "bundle"
        shutil.rmtree(bundle, ignore_errors=True)
        words = ("--committed", "--proofs", PROOFS, "--to", "bundle")
        ended = self.stage("ci evidence pack", *words)
        if ended.rc != 0:
            return {"scenarios": [], "proven": [], "refused": ended.stderr}
        data: dict[str, Any] = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
        return data


def planted(condition: str) -> str:
    text = (SAMPLE / _OUTPUTS).read_text(encoding="utf-8")
    assert text.count(_WRITTEN) == 1
    return "#include <cstdio>\n" + text.replace(_WRITTEN, _PLANT.format(condition=condition))


def _honest(arena: Arena) -> None:
    Project.of_sample(arena.folder, models=MODELS)
    arena.configure(toolchain={"kind": "host"}, budgets=[{"artifact": ARTIFACT, "max": "64 MiB"}])
    # No one waits for these builds but the tests.
    build = arena.folder / "engine/CMakeLists.txt"
    build.write_text(build.read_text(encoding="utf-8").replace('"-O2 ', '"-O0 '), encoding="utf-8")
    arena.make_good()
    ended = arena.trim()
    assert (ended.rc, arena.gate()) == (0, 0), ended.stderr


def _bad(arena: Arena) -> None:
    """The honest one's results, and those of the bad engine after it: red by parity."""
    arena.start("honest")
    arena.make_bad()
    ended = arena.trim()
    assert (ended.rc, arena.gate()) == (1, 1), ended.stderr


def _trapping(arena: Arena) -> None:
    """Results of an honest keep set, and of a committed one in which a region is missing."""
    arena.start("honest")
    arena.lose(f'"region {REGION}"')
    ended = arena.trim("--committed")
    assert (ended.rc, arena.gate()) == (1, 1), ended.stderr


def _by_function(arena: Arena) -> None:
    arena.start("honest")
    arena.configure(trim={"level": "function"})
    ended = arena.trim("--accept")
    assert (ended.rc, arena.gate()) == (0, 0), ended.stderr


def _proven(arena: Arena) -> None:
    """The honest one by its committed keep set, proven on the team's board: bundle and evidence."""
    arena.start("honest")
    arena.configure(devices=[BOARD])
    prove(arena)
    # Else attempts on what was brought would prove nothing.
    assert arena.concluded() == ("pass", 0)


def _spared(arena: Arena) -> None:
    """The proven one on the next pull request: its proofs are kept, so no device is asked."""
    arena.start("proven")
    shutil.copy(arena.folder / "report/evidence.json", arena.folder / PROOFS)
    for name in ("results", "bundle", "evidence", "report"):
        shutil.rmtree(arena.folder / name)
    spared = [each["id"] for each in arena.pack_with_proofs()["proven"]]
    assert spared[:1] == [SCENARIO]


def _slower(arena: Arena) -> None:
    """The honest one, whose trimmed program takes three times as long: red by its times."""
    arena.start("honest")
    options = arena.folder / "engine" / _OPTIONS
    text = options.read_text(encoding="utf-8")
    assert text.count("slow_down = 0;") == 1
    slow = text.replace("slow_down = 0;", "slow_down = SLOWER;")
    options.write_text(f"{_SLOWER}{slow}", encoding="utf-8")
    perf = {
        "experiments": ["baseline"],
        "scenarios": [SCENARIO.partition("@")[0]],
        "trimming": True,
        "budget": {"rounds": FEWEST_ROUNDS},
        "threshold": "50%",
        "other_load": "any",
    }
    arena.configure(devices=[BOARD], perf=perf)
    prove(arena, "--times")
    assert arena.concluded() == ("fail", 1)


def prove(arena: Arena, *more: str) -> None:
    ended = arena.trim("--committed", "--no-gate")
    assert ended.rc == 0, ended.stderr
    shutil.copytree(arena.project.out / "final", arena.folder / "results", dirs_exist_ok=True)
    packed = arena.stage("ci evidence pack", "--committed", "--to", "bundle", *more)
    assert packed.rc == 0, packed.stderr
    digest = packed.stdout.strip().rpartition("bundle-sha256=")[2]
    words = ("ci", "evidence", "run", "bundle", "--sha256", digest, "--class", "any")
    ended = arena.run(*words, "--to", "evidence")
    assert ended.rc == 0, ended.stderr
    arena.run(*JOIN, "--evidence", "evidence", "--to", "report")


STATES: dict[str, Callable[[Arena], None]] = {
    "honest": _honest,
    "bad": _bad,
    "trapping": _trapping,
    "by function": _by_function,
    "proven": _proven,
    "spared": _spared,
    "slower": _slower,
}
