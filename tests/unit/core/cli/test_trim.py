"""What ``trim`` leaves for the steps after it, and the stages that it runs."""

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from megtrim.core.chain.graph import REPORT, SIZE, VERDICT, Stage
from megtrim.core.chain.result_store import Store
from megtrim.core.chain.session import Session, TaskResults
from megtrim.core.chain.stage_result import StageResult, dump_result
from megtrim.core.cli.stage import (
    RESULTS_VERSION,
    make_results_schema,
    render_results,
)
from megtrim.core.stages import list_result_types
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from unit.core.cli.support import Answer, Shell
from unit.core.config.support import SMALL
from unit.core.trim.stages.results import SAMPLES, type_of
from unit.core.trim.stages.support import open_session

Trim = Callable[..., Answer]
FILES = {SIZE: ["sizes.json"], VERDICT: ["verdict.json"], REPORT: ["junit.xml", "index.html"]}


@pytest.fixture
def trim(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Trim:
    def call(
        *arguments: str,
        error: Exception | None = None,
        failed: dict[str, MegtrimError] | None = None,
        codes: tuple[int, ...] = (0,),
    ) -> Answer:
        def chain(*_: Any, **__: Any) -> tuple[Session, list[int]]:
            if error is not None:
                raise error
            made, _said = open_session(shell.folder)
            for task, names in FILES.items():
                if task not in (failed or {}):
                    made.results.done[task] = _folder(made.services.store, task, names)
            made.results.failed.update(failed or {})
            return made, list(codes)

        monkeypatch.setattr("megtrim.core.cli.trim.run_chain", chain)
        return shell("trim", "--out", "out", *arguments)

    return call


def _folder(store: Store, task: str, names: list[str]) -> Any:
    stage, _, name = task.partition("/")

    def produce(folder: Path) -> StageResult:
        for file in names:
            (folder / file).write_text(f"{task} {file}", encoding="utf-8")
        return SAMPLES[kind]

    kind = type_of(task)
    return store.ensure(stage, name, {}, produce, kind)[0]


def left(shell: Shell) -> dict[str, str]:
    final = shell.folder / "out" / "final"
    return {path.name: path.read_text(encoding="utf-8") for path in final.glob("[!.]*")}


LEFT = {name: f"{task} {name}" for task, names in FILES.items() for name in names}


@pytest.mark.parametrize(
    ("arguments", "failed", "codes", "status"),
    [
        ((), {}, (0, 0), 0),
        ((), {}, (0, 1, 3), 1),
        ((), {}, (0, 3), 3),
        (("--no-gate",), {}, (0, 1, 3), 0),
        # An engine that does not compile has no sizes.
        (("--no-gate",), {SIZE: ProductFailure("not measured")}, (1,), 0),
    ],
)
def test_a_verdict_is_left_under_fixed_names(
    trim: Trim,
    shell: Shell,
    arguments: tuple[str, ...],
    failed: dict[str, MegtrimError],
    codes: tuple[int, ...],
    status: int,
) -> None:
    assert trim(*arguments, failed=failed, codes=codes).status == status
    expected = {name: text for name, text in LEFT.items() if SIZE not in failed or name[0] != "s"}
    assert left(shell) == expected


def test_models_are_enough_for_a_first_trim(trim: Trim, shell: Shell) -> None:
    """A configuration is written for them; the next time they are found in it.

    Another one is not added: the file is someone's work. It has one toolchain, and is not called
    by it.
    """
    shell.sample("tiny-vgg.sample")
    shell.sample("tiny-quant.sample")
    first = trim("tiny-vgg.sample", "--config", "trim.yaml")
    again = trim("tiny-vgg.sample", "--config", "trim.yaml", "--quiet")
    other = trim("tiny-quant.sample", "--config", "trim.yaml")
    named = trim("tiny-vgg.sample", "--config", "new.yaml#desk", error=InputError("not reached"))

    assert [each.status for each in (first, again, other, named)] == [0, 0, 2, 2]
    assert first.err.splitlines() == [
        "wrote tiny-vgg.data.npy, for the input data Float32 (1, 3, 32, 32) of tiny-vgg.sample",
        "wrote trim.yaml and megtrim/models, for the sample engine",
    ]
    assert again.err == ""
    assert other.err == (
        "megtrim: trim.yaml has no model tiny-quant.sample\n"
        "  add it under `models`, or name another file with --config\n"
    )
    assert [path.name for path in shell.folder.glob("new*")] == ["new.yaml"]


@pytest.mark.parametrize(
    ("error", "status"), [(InputError("it is so", hint="do this"), 2), (ProductFailure("bad"), 1)]
)
def test_an_ending_before_the_verdict_is_shown(
    trim: Trim, shell: Shell, error: MegtrimError, status: int
) -> None:
    """The exit status stays what it is, and what an earlier run left says that it is of one.

    Where no step follows, and nothing was left, no ending is left either.
    """
    assert trim(error=error).status == status
    assert left(shell) == {}
    trim()
    before = left(shell)
    lines = ("megtrim: out/final is from an earlier run: this one has no verdict", str(error))
    trim(error=error).expect(status, *lines)
    assert {name: left(shell).get(name) for name in before} == before
    trim("--no-gate", error=error).expect(status, *lines)
    found = left(shell)
    assert {name: found[name] for name in before if name != "junit.xml"} == {
        name: text for name, text in before.items() if name != "junit.xml"
    }
    assert json.loads(found["ending.json"]) == {
        "version": 2,
        "config": "megtrim.yaml",
        "exit": status,
        "message": error.message,
        "hint": error.hint,
    }
    assert error.message in found["junit.xml"]


@pytest.mark.parametrize("task", [VERDICT, REPORT])
def test_a_report_that_cannot_be_made_is_an_ending(trim: Trim, shell: Shell, task: str) -> None:
    failure = InfrastructureFailure("the disk is full", hint="free some space")
    trim("--no-gate", failed={task: failure}, codes=(0, 3)).expect(3)
    assert sorted(left(shell)) == ["ending.json", "junit.xml"]
    assert json.loads(left(shell)["ending.json"])["message"] == "the disk is full"


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ZeroDivisionError("division by zero"), 70, "megtrim crashed"),
        (OSError(errno.ENOSPC, "No space left on device", "x"), 3, "x cannot be written"),
        (MemoryError(), 3, "not enough memory"),
    ],
)
def test_what_nobody_foresaw_is_an_ending(
    trim: Trim, shell: Shell, error: Exception, status: int, message: str
) -> None:
    """The gate of a job would otherwise take a bug for a machine that left no result."""
    trim("--no-gate", error=error).expect(status)
    ending = json.loads(left(shell)["ending.json"])
    assert ending["exit"] == status
    assert message in ending["message"]
    gate = shell("ci", "gate", "out/final")
    assert (gate.status, message in gate.out) == (status, True)


def test_several_toolchains_end_with_one_table(trim: Trim, shell: Shell) -> None:
    shell.sample("tiny-vgg.sample")
    assert trim("tiny-vgg.sample", "--config", "team.yaml").status == 0
    file = shell.folder / "team.yaml"
    text = file.read_text(encoding="utf-8")
    several = "toolchains: [{name: phone, kind: zig}, {name: desk, kind: host}]\n"
    file.write_text(text.replace("toolchain:\n  kind: auto\n", several), encoding="utf-8")
    given = ("tiny-vgg.sample", "--config", "team.yaml")
    answer = trim(*given, error=InputError("no compiler")).expect(2)
    assert answer.err.count("megtrim: no compiler\n") == 2
    rows = [line.split() for line in answer.out.splitlines()[2:] if line]
    assert rows == [[name, *("-",) * 5, "none"] for name in ("phone", "desk")]


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_names_its_command(shell: Shell, stage: Stage) -> None:
    answer = shell(*stage.verb.split(), "--help").expect(0)
    assert answer.out.startswith(f"Usage: megtrim {stage.verb.partition(' --')[0]} ")


def find_errors(document: Any) -> list[str]:
    validator = Draft202012Validator(make_results_schema())
    return [each.message for each in validator.iter_errors(document)]


STAGES = {kind: stage for stage in Stage for kind in list_result_types(stage)}


@pytest.mark.parametrize("kind", STAGES, ids=lambda kind: kind.__name__)
def test_each_kind_of_result_fits_the_schema(kind: type[StageResult]) -> None:
    found = {"folder": "f", "result": dump_result(SAMPLES[kind])}
    own = STAGES[kind]
    other = Stage.SIZE if STAGES[kind] is Stage.BUILD else Stage.BUILD
    document = {"version": RESULTS_VERSION, "failed": {}, "done": {f"{own}/a": found}}

    assert find_errors(document) == []
    assert find_errors(document | {"done": {f"{other}/a": found}})


def test_what_a_chain_prints_fits_the_schema() -> None:
    failed = TaskResults(failed={VERDICT: ProductFailure("it does not compile")})

    assert find_errors(json.loads(render_results(failed))) == []


@pytest.mark.parametrize(
    ("level", "record", "said"),
    [
        ("region", "", "megtrim.yaml:8: trim: no functions are deferred, so none is reached"),
        ("deferred", "half a line", "no line of the record is a build id and an address: 1 line"),
        ("deferred", f"{'0' * 40} 00001000\n", "there is no trimmed program in "),
    ],
)
def test_what_was_reached_is_read_before_all_else(
    shell: Shell, level: str, record: str, said: str
) -> None:
    shell.configure(f"{SMALL}trim: {{level: {level}}}\n").write("r", record)
    assert said in shell("trim", "--reached", "r").expect(2, out="").err
