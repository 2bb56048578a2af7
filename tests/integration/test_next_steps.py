"""Every next step that is printed is typed, twice in a row: it works, or is not printed again.

In a fresh tree of git with one trim, which each case spoils. The same tree shows what only looks.
"""

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from megtrim.core.cli.main import main
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import SAMPLE, KeepFolder, Project, run_megtrim
from support.source_forge import GIT_ENV

pytestmark = [pytest.mark.chain]

MODEL = "tiny-mobile"
SCENARIO = f"{MODEL}/default@any"
KEEP_SET = f"megtrim/keepset/{SCENARIO}.json"
OTHER = "other.sample"
PROCESSES = ProcessRunner(GIT_ENV)
_VERBS = "|".join(main.list_commands(click.Context(main)))
_TYPED = re.compile(rf"\bmegtrim (?:{_VERBS})\b(?:'[^']*'|[^`;,\n'])*|^git add [^\n]*")
_SAID = re.compile(r"^(?:next: | {2,}|megtrim[: ]|git ).*", re.MULTILINE)
"""Lines of next steps and hints; others show what was done."""
_FOR_THE_READER = re.compile(r"\b[A-Z]{4,}\b|…")
"""A name to replace."""


def find_printed(ended: CompletedCommand) -> Iterator[str]:
    for line in _SAID.findall(f"{ended.stdout}\n{ended.stderr}"):
        for command in _TYPED.findall(line):
            if not _FOR_THE_READER.search(command):
                yield command.strip()


class Tree:
    def __init__(self, folder: Path) -> None:
        self.project = Project.of_sample(folder, models=(MODEL,))
        self.folder = folder
        self.keep_set = folder / KEEP_SET
        self.keep = KeepFolder(folder / "megtrim/keepset")

    def type(self, line: str) -> CompletedCommand:
        """Run a line as a person's shell does."""
        if line.startswith("megtrim "):
            return run_megtrim(*shlex.split(line)[1:], cwd=self.folder)
        argv = ("sh", "-c", line)
        return PROCESSES.run(Command(argv=argv, timeout_s=60, cwd=self.folder))

    def git(self, *words: str) -> str:
        return PROCESSES.capture("git", "-C", str(self.folder), *words)

    def restore(self) -> None:
        self.git("reset", "--quiet", "--hard")
        self.git("clean", "-fdq")

    def set_arguments(self, *arguments: str) -> None:
        config = self.project.read()
        config["models"][0]["scenarios"][0]["args"] = list(arguments)
        self.project.write(config)


@pytest.fixture(scope="module")
def trimmed(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The first steps: what each pass prints is typed, until nothing is left to do."""
    tree = Tree(tmp_path_factory.mktemp("next") / "team")
    config = tree.project.read() | {"toolchain": {"kind": "host"}}
    del config["budgets"]
    tree.project.write(config)
    tree.git("init", "--quiet")
    for key, value in (("name", "me"), ("email", "me@example.invalid")):
        tree.git("config", f"user.{key}", value)
    passed = tree.type("megtrim trim")
    assert passed.rc == 0, passed.stderr
    (commit,) = find_printed(passed)
    assert [*find_printed(tree.type("megtrim trim"))] == [commit]  # until it is done
    assert tree.type(commit).rc == 0

    passed = tree.type("megtrim trim")
    assert [*find_printed(passed)] == []  # what was committed is not to be committed again
    found = re.search(r"^next: set a budget, in megtrim.yaml:\n(.*)$", passed.stdout, re.MULTILINE)
    assert found is not None
    with tree.project.config.open("a", encoding="utf-8") as file:
        file.write(f"{found[1]}\n")
    (export,) = find_printed(tree.type("megtrim trim"))
    assert tree.type(export).rc == 0
    passed = tree.type("megtrim trim")
    assert "next: " not in passed.stdout  # neither the budget nor the export, which is there
    tree.git("add", "--all")
    tree.git("commit", "--quiet", "--message", "All of it")
    return tree


@pytest.fixture
def tree(trimmed: Tree) -> Iterator[Tree]:
    yield trimmed
    trimmed.restore()


@dataclass(frozen=True, slots=True)
class Case:
    spoil: Callable[[Tree], object]
    asked: str
    status: int
    """How it ends before what is printed was typed, and ``mended`` after that."""
    mended: int = 0


def limit(tree: Tree) -> None:
    tree.project.change(budgets=[{"artifact": "load_and_run", "max": "50 KiB"}])


def change_arguments(tree: Tree) -> None:
    tree.set_arguments("--cpu", "--iter", "3")


def take_wrong_arguments(tree: Tree) -> None:
    tree.set_arguments("--cpu", "--iter", "x")


def lose_keep_set(tree: Tree) -> None:
    tree.keep.remove()


def damage_keep_set(tree: Tree) -> None:
    tree.keep.edit(lambda text: text.replace('"region ', '"regoin '))


def lose_region(tree: Tree) -> None:
    tree.keep.drop_lines(lambda line: "sample_conv_depthwise" in line)


def trim_functions(tree: Tree) -> None:
    tree.project.change(trim=tree.project.read()["trim"] | {"level": "function"})


def bring_model(tree: Tree) -> None:
    shutil.copy(SAMPLE / "models/tiny-vgg.sample", tree.folder / OTHER)


CASES = {
    "too large": Case(limit, "megtrim trim", 1, 1),
    "too large, measured": Case(limit, "megtrim size", 1, 1),
    "stale, in a job": Case(change_arguments, "megtrim trim --committed", 1),
    "stale, here": Case(change_arguments, "megtrim trim", 1),
    "wrong arguments": Case(take_wrong_arguments, "megtrim trim", 1, 1),
    "no keep set, in a job": Case(lose_keep_set, "megtrim trim --committed", 2),
    "no keep set, checked": Case(lose_keep_set, "megtrim check", 2),
    "no keep set, explained": Case(lose_keep_set, f"megtrim explain {MODEL}", 2),
    "damaged keep set": Case(damage_keep_set, "megtrim trim", 2),
    "a region is missing": Case(lose_region, "megtrim trim --committed", 1),
    "no functions yet": Case(trim_functions, "megtrim stage header --accept", 2, 2),
    "what a probe lacks": Case(bring_model, f"megtrim probe {OTHER} -- --cpu", 1, 1),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_printed_works_twice(tree: Tree, case: Case) -> None:
    case.spoil(tree)
    asked = tree.type(case.asked)
    assert asked.rc == case.status, asked.stdout + asked.stderr
    printed = [*find_printed(asked)]
    assert printed, asked.stdout + asked.stderr

    for command in dict.fromkeys(printed):
        for _ in range(2):
            typed = tree.type(command)
            assert typed.rc in (0, case.mended), f"{command}\n{typed.stdout}{typed.stderr}"
    again = tree.type(case.asked)
    assert again.rc == case.mended, again.stdout + again.stderr


def test_times_join_a_history_twice(tree: Tree) -> None:
    """What is printed about them leads from nothing to a history that is the same the next time."""
    asked = tree.type("megtrim perf append run.json")
    assert asked.rc == 2
    (measure,) = re.findall("`(megtrim perf run [^`]*)`", asked.stderr)
    perf = {"experiments": ["fast-run-cache"], "inconclusive": "warn", "other_load": "any"}
    tree.project.change(perf=perf)
    refused = tree.type(f"{measure} --rounds 12")
    assert (refused.rc, "commit the configuration" in refused.stderr) == (2, True)
    tree.git("commit", "--quiet", "--all", "--message", "Measure")

    measured = tree.type(f"{measure} --rounds 12")
    assert measured.rc == 0, measured.stdout + measured.stderr
    (run,) = re.findall("^run: (.*)$", measured.stdout, re.MULTILINE)
    nothing_new = tree.type(f"{measure} --rounds 12")
    assert "run: " not in nothing_new.stdout.replace("perf run: ", "")
    for _ in range(2):
        assert tree.type(f"megtrim perf append {run}").rc == 0
    assert tree.type("megtrim perf history").stdout.startswith("1 run, ")


LOOKING = (
    "plan",
    "check",
    "size",
    "size prices",
    "size why main",
    "verify",
    "report",
    "stage build",
    "stage profile",
    "stage reduce",
    "stage verdict",
    f"explain {SCENARIO}",
    "explain verdict",
    f"probe {MODEL} -- --cpu",
    "clean --dry-run",
)


def forget_graph(tree: Tree) -> None:
    """Leave what an earlier version wrote: the next trim would complete it."""
    tree.keep.edit(lambda text: re.sub(r', "graph_sha256": "[0-9a-f]*"', "", text))


@pytest.mark.parametrize("spoil", [lose_keep_set, forget_graph])
def test_what_only_looks_writes_no_keep_set(tree: Tree, spoil: Callable[[Tree], None]) -> None:
    spoil(tree)
    before = tree.git("status", "--porcelain", "megtrim", "megtrim.yaml"), tree.keep.texts()
    assert before[0]

    for verb in LOOKING:
        ended = tree.type(f"megtrim {verb}")
        after = tree.git("status", "--porcelain", "megtrim", "megtrim.yaml"), tree.keep.texts()
        assert after == before, verb
        assert ended.rc in (0, 2), f"{verb}\n{ended.stdout}{ended.stderr}"

    assert tree.type("megtrim trim").rc == 0
    assert tree.keep.texts() != before[1]
