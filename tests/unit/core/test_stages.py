"""Running a plan: once for equal inputs, what a failure ends and what goes on."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from megtrim.core import stages
from megtrim.core.chain import result_store as stores
from megtrim.core.chain.graph import PROFILE, Stage, Task
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import DurationLog, Session
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.stages import TaskState
from megtrim.core.trim import committed_keepset
from megtrim.libs.util.errors import (
    InfrastructureFailure,
    InputError,
    Interrupted,
    MegtrimError,
    ProductFailure,
)
from unit.core.trim.stages.support import changed, open_session

BUILD = Task(stage=Stage.BUILD, name="plain", needs=())
TRACE = Task(stage=Stage.PROFILE, name="m/s@any", needs=(BUILD.id,))
OTHER = Task(stage=Stage.PROFILE, name="m/t@any", needs=())
VERIFY = Task(stage=Stage.VERIFY, name="m/s@any", needs=(BUILD.id, TRACE.id))
VERDICT = Task(stage=Stage.VERDICT, name="verdict", needs=(), wants=(BUILD.id, TRACE.id, VERIFY.id))
TASKS = (BUILD, TRACE, OTHER, VERIFY, VERDICT)


class Found(StageResult):
    code: int

    @property
    def exit_code(self) -> int:
        return self.code


class Fake:
    """A stage module for every stage: what it was asked, and what each task shall do."""

    def __init__(self) -> None:
        self.worked: list[str] = []
        self.named: dict[str, Mapping[str, str]] = {}
        self.does: dict[str, MegtrimError | Found] = {}

    def inputs(self, task: Task, session: Session) -> dict[str, str]:
        rests = {need: session.done[need].key for need in task.needs}
        wanted = {want: str(want in session.done) for want in task.wants}
        return {"version": "1", **rests, **wanted, **self.named.get(task.id, {})}

    def work(self, task: Task, session: Session, folder: Path) -> Found:
        self.worked.append(task.id)
        done = self.does.get(task.id, Found(code=0))
        if isinstance(done, MegtrimError):
            raise done
        return done


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    made = Fake()
    monkeypatch.setattr(stages, "find_stage", lambda _stage: stages.StageSpec(module=made))
    yield made


def test_every_task_runs_once(fake: Fake, tmp_path: Path) -> None:
    first, said = open_session(tmp_path)
    assert stages.run(TASKS, first) == (5, [0] * 5)
    assert fake.worked == [task.id for task in TASKS]
    assert list(first.results.done) == fake.worked
    assert "  run   build/plain\n  done  build/plain in 0." in said.getvalue()

    second, said = open_session(tmp_path)
    assert stages.run(TASKS, second) == (0, [0] * 5)
    assert len(fake.worked) == 5
    first_three = ", ".join(task.id for task in TASKS[:3])
    assert said.getvalue() == f"  ok    5 results up to date: {first_three} and 2 more\n"


def test_what_is_to_be_done_took_some_time_before(fake: Fake, tmp_path: Path) -> None:
    log = DurationLog(tmp_path / "durations.json", "sample zig 1")
    first = changed(open_session(tmp_path)[0], durations=log)
    assert log.describe(stages.list_todo(TASKS, first)) == ""
    assert (fake.worked, first.results.done) == ([], {})

    stages.run(TASKS, first)
    again = changed(open_session(tmp_path)[0], durations=log)
    assert stages.list_todo(TASKS, again) == ()
    fake.named[BUILD.id] = {"engine": "another"}
    again = changed(open_session(tmp_path)[0], durations=log)
    assert log.describe(stages.list_todo(TASKS, again)).endswith(" last done on this machine")


@pytest.mark.parametrize(
    ("failure", "code"),
    [(ProductFailure("it crashed", hint="look"), 1), (InfrastructureFailure("no phone"), 3)],
)
def test_a_failure_ends_what_depends_on_it_and_is_tried_again(
    fake: Fake, tmp_path: Path, failure: MegtrimError, code: int
) -> None:
    fake.does[TRACE.id] = failure
    made, said = open_session(tmp_path)

    assert stages.run(TASKS, made) == (3, [0, code, 0, 0])

    assert fake.worked == [BUILD.id, TRACE.id, OTHER.id, VERDICT.id]
    assert list(made.results.done) == [BUILD.id, OTHER.id, VERDICT.id]
    assert made.results.failed == {TRACE.id: failure}
    text = said.getvalue()
    assert f"warning: {TRACE.id}: {failure}\n" in text
    assert f"  skip  {VERIFY.id}: {TRACE.id} did not succeed\n" in text
    fake.does.clear()
    fake.worked.clear()
    assert stages.run(TASKS, open_session(tmp_path)[0]) == (3, [0] * 5)
    assert fake.worked == [TRACE.id, VERIFY.id, VERDICT.id]


@pytest.mark.parametrize("error", [InputError("no such file"), Interrupted("Ctrl-C")])
def test_bad_input_and_ctrl_c_end_the_chain(
    fake: Fake, tmp_path: Path, error: MegtrimError
) -> None:
    fake.does[TRACE.id] = error
    made, _ = open_session(tmp_path)

    with pytest.raises(type(error)):
        stages.run(TASKS, made)

    assert fake.worked == [BUILD.id, TRACE.id]
    assert made.results.failed == {}


def test_a_result_can_be_a_failure(fake: Fake, tmp_path: Path) -> None:
    fake.does[VERIFY.id] = Found(code=1)

    assert stages.run(TASKS, open_session(tmp_path)[0]) == (5, [0, 0, 0, 1, 0])
    assert stages.run(TASKS, open_session(tmp_path)[0]) == (0, [0, 0, 0, 1, 0])


def test_a_keep_set_is_settled_each_time(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(stage=Stage.HEADER, name="keepset", needs=())
    settled: list[str] = []
    monkeypatch.setattr(committed_keepset, "settle", lambda _, folder: settled.append(folder.name))

    stages.run((task,), open_session(tmp_path)[0])
    stages.run((task,), open_session(tmp_path)[0])
    assert settled == ["keepset", "keepset"]

    monkeypatch.setattr(committed_keepset, "settle", Mock(side_effect=ProductFailure("it shrank")))
    made, _ = open_session(tmp_path)
    assert stages.run((task,), made) == (0, [1])
    assert (made.results.done, list(made.results.failed)) == ({}, [task.id])


def steps(tmp_path: Path) -> list[tuple[str, str, str]]:
    made, _ = open_session(tmp_path)
    return [(step.task, step.state.value, step.why) for step in stages.plan(TASKS, made)]


def test_a_plan_runs_nothing(fake: Fake, tmp_path: Path) -> None:
    assert steps(tmp_path) == [
        ("build/plain", "run", "there is no result yet"),
        ("profile/m/s@any", "waits", "on build/plain"),
        ("profile/m/t@any", "run", "there is no result yet"),
        ("verify/m/s@any", "waits", "on build/plain"),
        ("verdict/verdict", "waits", "on build/plain"),
    ]
    assert fake.worked == []
    assert not (tmp_path / "out").exists()


def test_a_plan_says_why_and_a_changed_input_redoes_the_rest(fake: Fake, tmp_path: Path) -> None:
    stages.run(TASKS, open_session(tmp_path)[0])
    fake.named[TRACE.id] = {"version": "2"}

    assert steps(tmp_path) == [
        ("build/plain", "done", "up to date"),
        ("profile/m/s@any", "run", "version changed (1 → 2)"),
        ("profile/m/t@any", "done", "up to date"),
        ("verify/m/s@any", "waits", "on profile/m/s@any"),
        ("verdict/verdict", "waits", "on profile/m/s@any"),
    ]
    fake.worked.clear()
    assert stages.run(TASKS, open_session(tmp_path)[0]) == (2, [0] * 5)
    assert fake.worked == [TRACE.id, VERIFY.id]


def test_a_plan_knows_results_of_another_megtrim(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages.run(TASKS, open_session(tmp_path)[0])
    monkeypatch.setattr(stores, "code_digest", lambda: "another")

    first, second, *_ = stages.plan(TASKS, open_session(tmp_path)[0])
    assert first.why == "another version of megtrim made its last result"
    assert second.why == "on build/plain"


def test_a_plan_names_the_folders_of_what_is_done(fake: Fake, tmp_path: Path) -> None:
    made, _ = open_session(tmp_path)
    stages.run((BUILD,), made)
    key = made.results.done[BUILD.id].key

    (step,) = stages.plan((BUILD,), open_session(tmp_path)[0])
    assert (step.task, step.stage, step.name) == ("build/plain", "build", "plain")
    assert (step.state, step.folder) == (TaskState.DONE, f"build/{key}")


def test_a_plan_goes_on_where_inputs_cannot_be_named(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake, "inputs", Mock(side_effect=InputError("m.mge cannot be read")))

    assert steps(tmp_path)[0] == ("build/plain", "waits", "m.mge cannot be read")


def asking(fake: Fake, monkeypatch: pytest.MonkeyPatch, task_id: str) -> list[StageFolder | None]:
    got: list[StageFolder | None] = []
    work = fake.work

    def asks(task: Task, session: Session, folder: Path) -> Found:
        if task.id == VERIFY.id:
            got.append(session.results.obtain(task_id))
        return work(task, session, folder)

    monkeypatch.setattr(fake, "work", asks)
    return got


def test_what_a_stage_asks_for_is_made_then(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = asking(fake, monkeypatch, PROFILE)
    made, said = open_session(tmp_path)

    assert stages.run(TASKS, made) == (5, [0] * 5)

    assert got == [made.results.done[PROFILE]]
    assert fake.worked == [BUILD.id, TRACE.id, OTHER.id, PROFILE, VERIFY.id, VERDICT.id]
    lines = said.getvalue()
    assert lines.index("run   verify/") < lines.index("run   build/profile\n")
    assert lines.index("done  build/profile in") < lines.index("done  verify/")


def test_what_is_there_is_not_made_again(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = Task(stage=Stage.BUILD, name="profile", needs=())
    got = asking(fake, monkeypatch, PROFILE)
    made, _ = open_session(tmp_path)
    stages.run((profile, *TASKS), made)
    assert got == [made.results.done[PROFILE]]
    assert fake.worked.count(PROFILE) == 1

    fake.named[VERIFY.id] = {"tolerance": "1"}
    later, _ = open_session(tmp_path)
    stages.run(TASKS, later)
    assert [folder and folder.key for folder in got] == [made.results.done[PROFILE].key] * 2
    assert fake.worked.count(PROFILE) == 1


def test_what_is_asked_for_brings_what_it_depends_on(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = asking(fake, monkeypatch, "profile/m/s@any")
    made, _ = open_session(tmp_path)
    stages.run((replace(VERIFY, needs=()),), made)

    assert fake.worked == ["build/profile", "profile/m/s@any", VERIFY.id]
    assert got == [made.results.done["profile/m/s@any"]]


def test_what_is_asked_for_may_fail(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = ProductFailure("it does not compile")
    fake.does[PROFILE] = failure
    got = asking(fake, monkeypatch, "profile/m/s@any")
    made, said = open_session(tmp_path)
    verify = replace(VERIFY, needs=())
    again = replace(VERIFY, name="m/t@any", needs=())
    stages.run((verify, again), made)

    assert got == [None]
    assert (made.results.failed, PROFILE in made.results.done) == ({PROFILE: failure}, False)
    assert fake.worked == [PROFILE, VERIFY.id, again.id]
    assert stages.obtain(PROFILE, made) is None
    assert fake.worked.count(PROFILE) == 1
    assert said.getvalue().count("does not compile") == 1
    assert "  skip  profile/m/s@any: build/profile did not succeed\n" in said.getvalue()


def test_without_a_chain_nothing_is_made(fake: Fake, tmp_path: Path) -> None:
    made, _ = open_session(tmp_path)
    assert made.results.obtain(BUILD.id) is None
    assert fake.worked == []

    stages.run((BUILD,), made)
    assert made.results.obtain(BUILD.id) is made.results.done[BUILD.id]


def test_every_stage_has_its_module() -> None:
    for stage in Stage:
        module = stages.find_module(stage)
        assert (module.__doc__ or "").startswith(f"Stage `{stage}`: ")
