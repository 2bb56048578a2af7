"""What a plan says of the files that a reduced build would compile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from megtrim.build_spec import BuildSpec
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.pipeline.committed_keepset import write_committed
from megtrim.pipeline.session import Session
from megtrim.plan.graph import HEADER, PLAIN, REDUCED, Stage, Task
from megtrim.process import ProcessRunner
from megtrim.stages import reduce, runner
from unit.engines.support import TOOLCHAIN
from unit.stages.built import finish
from unit.stages.support import changed, keep_set, open_session

TASK = Task(stage=Stage.REDUCE, name="reduced", needs=(HEADER,))


class Foreteller:
    """A builder that would compile one file, and remembers what it was asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, BuildSpec]] = []

    def predict(self, spec: BuildSpec, *, work: Path) -> tuple[str, ...]:
        self.asked.append((work.name, spec))
        return ("kern.cpp",)


@pytest.fixture
def builder() -> Foreteller:
    return Foreteller()


@pytest.fixture
def now(tmp_path: Path, processes: ProcessRunner, builder: Foreteller) -> Session:
    """A session with the sample engine and a committed keep set; nothing was made yet."""
    made, _ = open_session(tmp_path)
    write_committed(made.request.path(made.request.config.keep_set), keep_set(1))
    engine = SampleEngine(find_embedded_source(), processes)
    return changed(made, engine=engine, toolchain=TOOLCHAIN, builder=cast(Any, builder))


def test_the_header_that_was_made_reports(now: Session, builder: Foreteller) -> None:
    """In the tree that the build would go on in, with the files as they are included."""
    finish(
        now,
        HEADER,
        {"include/bin_reduce.h": "forced", "include/megtrim/tags/sample_matmul.h": "one"},
        named={},
    )

    assert reduce.forecast(TASK, now) == "1 file is compiled: kern.cpp"
    ((tree, spec),) = builder.asked
    assert tree == f"sample-{TOOLCHAIN.kind}-{TOOLCHAIN.machine}-reduced"
    assert spec.include == (("megtrim/tags/sample_matmul.h", "one"),)
    assert [name for name, _ in spec.overrides] == [
        "src/bin_reduce_cmake.h",
        "src/kernels/matmul/matmul.cpp",
    ]


def test_a_committed_keep_set_reports_without_a_header(now: Session, builder: Foreteller) -> None:
    """What the header would be follows from the file alone."""
    assert reduce.forecast(TASK, changed(now, committed=True)) == "1 file is compiled: kern.cpp"
    ((_, spec),) = builder.asked
    assert dict(spec.include)["midout.h"].count("kern") > 0


def test_nothing_is_shown_before_the_traces(now: Session, builder: Foreteller) -> None:
    """No one knows yet which regions there will be."""
    assert (reduce.forecast(TASK, now), builder.asked) == ("", [])


def test_functions_alone_compile_nothing(now: Session, builder: Foreteller) -> None:
    """What ships is linked again from objects that are there."""
    config = now.request.config
    trim = config.trim.model_copy(update={"level": "function"})
    loaded = replace(now.request.loaded, config=config.model_copy(update={"trim": trim}))
    trims_functions = changed(now, loaded=loaded)

    assert TASK.id == REDUCED
    assert reduce.forecast(TASK, trims_functions) == "no file is compiled"
    assert builder.asked == []


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (replace(TASK, needs=(PLAIN,)), "on build/plain; 1 file is compiled: kern.cpp"),
        (Task(stage=Stage.SIZE, name="artifacts", needs=(PLAIN,)), "on build/plain"),
    ],
)
def test_a_plan_adds_it_to_the_reason(now: Session, task: Task, why: str) -> None:
    """For the reduced build only."""
    (step,) = runner.plan([task], changed(now, committed=True))

    assert step.why == why
