"""Searches of several scenarios, joined into the one cache that all of them run with."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.core.chain.graph import FUNCTIONS, LINKED, Stage, Task, tasks
from megtrim.core.chain.session import Session
from megtrim.core.proof import stage as verify
from megtrim.core.trim.results import JoinResult
from megtrim.core.trim.runs.scenario_runs import cache_of
from megtrim.core.trim.stages import profile
from megtrim.engines.sample_caches import SampleCaches
from megtrim.libs.util.errors import InputError
from unit.core.trim.stages.built import CONFIG, built, finish
from unit.core.trim.stages.support import changed

JOINING = CONFIG.replace("threads: 2", "fast_run: true").replace(
    "{name: t,", "{name: t, fast_run: true,"
)
HEADING = "sample algorithm cache v1\n"
ONE = f"{HEADING}conv -> A\n"
OTHER = f"{HEADING}conv -> B\npool -> C\n"
CLASH = "conv: A (m/s@any) is kept, and not B (m/t@any)"


def searched(folder: Path, *, trim: str = "caches: joined", other: str = OTHER) -> Session:
    made = built(folder, config=f"{JOINING}trim: {{{trim}}}\n")
    engine = cast("Any", SimpleNamespace(**vars(made.services.engine), caches=SampleCaches()))
    for name, text in (("m/s@any", ONE), ("m/s@big", ONE), ("m/t@any", other)):
        finish(made, f"profile/{name}#search", {"algo.cache": text})
    return changed(made, engine=engine)


def find_task(session: Session, id_: str) -> Task:
    return next(task for task in tasks(session.config) if task.id == id_)


def test_the_first_scenarios_answer_is_kept_and_both_are_named(tmp_path: Path) -> None:
    session = searched(tmp_path / "made")
    task = find_task(session, "profile/any#joined")

    assert profile.work(task, session, tmp_path) == JoinResult(
        caches=2, answers=2, clashes=(CLASH,)
    )
    assert (tmp_path / "algo.cache").read_text() == f"{HEADING}conv -> A\npool -> C\n"
    assert (tmp_path / "run.log").read_text() == f"{CLASH}\n"


def test_what_is_joined_depends_on_each_search_of_its_class(tmp_path: Path) -> None:
    first = searched(tmp_path / "first")
    other = searched(tmp_path / "other", other=ONE)
    of_all, of_big = (find_task(first, f"profile/{name}#joined") for name in ("any", "big"))

    assert profile.inputs(of_all, first) != profile.inputs(of_all, other)
    assert profile.inputs(of_big, first) == profile.inputs(of_big, other)


def test_every_run_that_searched_has_the_joined_file_and_no_other(tmp_path: Path) -> None:
    session = searched(tmp_path)
    joined = finish(session, "profile/any#joined", {"algo.cache": "joined"})
    for done in (LINKED, FUNCTIONS):
        finish(session, done, {"keepset.json": "k"})

    for id_ in ("m/s@any", "m/t@any"):
        task = find_task(session, f"verify/{id_}")
        assert task.scenario is not None
        assert cache_of(task.scenario, session) == joined.path / "algo.cache"
        trace = find_task(session, f"profile/{id_}")
        for named in (profile.inputs(trace, session), verify.inputs(task, session)):
            assert named["algorithm cache"] == joined.files["algo.cache"]


def test_a_class_is_joined_alone(tmp_path: Path) -> None:
    session = searched(tmp_path)
    task = find_task(session, "profile/big#joined")
    (tmp_path / "work").mkdir()

    found = profile.work(task, session, tmp_path / "work")

    assert found == JoinResult(caches=1, answers=1, clashes=())


def test_each_search_has_a_cache_of_its_own_unless_asked(tmp_path: Path) -> None:
    session = searched(tmp_path, trim="caches: each")
    task = find_task(session, "verify/m/t@any")
    assert task.scenario is not None

    assert cache_of(task.scenario, session) is not None
    assert all("#joined" not in each.id for each in tasks(session.config))


def test_a_kind_whose_caches_are_not_read_is_refused(tmp_path: Path) -> None:
    session = searched(tmp_path)
    engine = cast("Any", SimpleNamespace(**{**vars(session.services.engine), "caches": None}))
    task = Task(stage=Stage.PROFILE, name="any#joined", needs=())

    with pytest.raises(InputError, match="caches of kind sample cannot be joined"):
        profile.work(task, changed(session, engine=engine), tmp_path)


def test_a_device_job_that_searches_alone_is_refused(tmp_path: Path) -> None:
    session = searched(tmp_path)

    with pytest.raises(InputError, match=r"trim\.caches: found joined, and a device job searches"):
        profile.expect_own_caches(session.request.loaded)
    profile.expect_own_caches(searched(tmp_path / "each", trim="caches: each").request.loaded)


@pytest.mark.parametrize(
    ("clashes", "text"),
    [
        ((), ""),
        (("a",), "searches found different algorithms for a"),
        (("a", "b", "c"), "searches found different algorithms for a; 2 more in its run.log"),
    ],
)
def test_what_the_verdict_says_of_it(clashes: tuple[str, ...], text: str) -> None:
    assert JoinResult(caches=2, answers=1, clashes=clashes).describe() == text
