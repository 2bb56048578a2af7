"""The tasks of a trim: which there are, what each needs, and in which order they can run."""

from __future__ import annotations

import pytest

from megtrim.chain.graph import Stage, Task, tasks, tasks_up_to, with_dependencies
from unit.chain.support import config, model

TWO = config(model("a", {"name": "x"}, {"name": "y", "fast_run": True}), model("b"))


def by_id(every: tuple[Task, ...]) -> dict[str, Task]:
    return {task.id: task for task in every}


def test_two_models_make_these_tasks() -> None:
    """One for each variant, trace and verification; one search for a scenario with fast_run."""
    assert [task.id for task in tasks(TWO)] == [
        "build/plain",
        "build/profile",
        "profile/a/x@any",
        "profile/a/y@any#search",
        "profile/a/y@any",
        "profile/b/s@any",
        "header/keepset",
        "reduce/reduced",
        "verify/a/x@any",
        "verify/a/y@any",
        "verify/b/s@any",
        "size/artifacts",
        "verdict/verdict",
        "report/report",
    ]


def test_what_each_task_needs() -> None:
    """A trace runs on the profile build, a search on the plain one: its timings are true."""
    found = by_id(tasks(TWO))
    builds = ("build/plain", "build/profile")

    assert found["build/plain"].needs == found["build/profile"].needs == ()
    assert found["profile/a/x@any"].needs == ("build/profile",)
    assert found["profile/a/y@any#search"].needs == ("build/plain",)
    assert found["profile/a/y@any"].needs == ("build/profile", "profile/a/y@any#search")
    assert found["header/keepset"].needs == (
        "profile/a/x@any",
        "profile/a/y@any",
        "profile/b/s@any",
    )
    assert found["reduce/reduced"].needs == ("header/keepset",)
    assert found["verify/a/x@any"].needs == ("build/plain", "header/keepset", "reduce/reduced")
    assert found["verify/a/y@any"].needs == (
        "build/plain",
        "profile/a/y@any#search",
        "header/keepset",
        "reduce/reduced",
    )
    assert found["size/artifacts"].needs == (*builds, "reduce/reduced")
    assert found["report/report"].needs == ("verdict/verdict",)


def test_a_verdict_needs_nothing_and_wants_everything() -> None:
    """It speaks of what failed, too, so that it is never skipped."""
    every = tasks(TWO)
    verdict = by_id(every)["verdict/verdict"]

    assert verdict.needs == ()
    before = {task.id for task in every if task.stage not in (Stage.VERDICT, Stage.REPORT)}
    assert set(verdict.wants) == before
    assert all(task.wants == () for task in every if task is not verdict)


def test_everything_stands_behind_what_it_depends_on() -> None:
    """The order of the tasks is one in which they can run, and that of the stages."""
    every = tasks(TWO)
    seen: set[str] = set()
    for task in every:
        assert {*task.needs, *task.wants} <= seen
        seen.add(task.id)

    stages = [task.stage for task in every]
    assert stages == sorted(stages, key=list(Stage).index)


@pytest.mark.parametrize(
    ("settings", "searches"),
    [
        ({}, False),
        ({"fast_run": True}, True),
        ({"fast_run": True, "algo_cache": "a.cache"}, False),
        ({"algo_cache": "a.cache"}, False),
    ],
)
def test_a_search_is_made_only_where_no_cache_was_recorded(
    settings: dict[str, object], searches: bool
) -> None:
    """A search is timing: a recorded cache is used as it is."""
    found = by_id(tasks(config(model("m", {"name": "s", **settings}))))

    assert ("profile/m/s@any#search" in found) == searches
    trace = found["profile/m/s@any"]
    assert ("profile/m/s@any#search" in trace.needs) == searches
    assert trace.scenario is not None
    assert trace.scenario.id == "m/s@any"


def test_each_cpu_class_has_its_own_tasks() -> None:
    """A trace of one class proves nothing about another."""
    found = tasks(config(model("m"), classes=[{"name": "v8"}, {"name": "v82"}]))

    verified = [task.name for task in found if task.stage is Stage.VERIFY]
    assert verified == ["m/s@v8", "m/s@v82"]


RECORDED = config(
    model("a", {"name": "x"}, {"name": "y", "fast_run": True, "algo_cache": "a.cache"}), model("b")
)


def test_a_committed_keep_set_needs_no_trace() -> None:
    """No profile build, no run of it: the keep set is a file."""
    every = tasks(RECORDED, committed=True)

    assert [task.id for task in every] == [
        "build/plain",
        "header/keepset",
        "reduce/reduced",
        "verify/a/x@any",
        "verify/a/y@any",
        "verify/b/s@any",
        "size/artifacts",
        "verdict/verdict",
        "report/report",
    ]
    found = by_id(every)
    assert found["header/keepset"].needs == ()
    assert found["reduce/reduced"].needs == ("header/keepset",)
    assert found["verify/a/x@any"].needs == ("build/plain", "header/keepset", "reduce/reduced")
    assert found["size/artifacts"].needs == ("build/plain", "reduce/reduced")
    assert found["verdict/verdict"].wants == tuple(task.id for task in every[:-2])
    assert tasks_up_to(Stage.PROFILE, every) == ()
    assert [task.id for task in tasks_up_to(Stage.BUILD, every)] == ["build/plain"]


@pytest.mark.parametrize(
    ("variant", "profiled"), [("plain", False), ("profile", True), ("reduced", False)]
)
def test_a_budget_of_the_profile_build_has_it_made(variant: str, profiled: bool) -> None:
    budget = {"artifact": "load_and_run", "variant": variant, "max": "9 MiB"}
    every = by_id(tasks(config(model("m"), budgets=[budget]), committed=True))

    builds = ("build/plain", "build/profile") if profiled else ("build/plain",)
    assert tuple(id_ for id_ in every if id_.startswith("build/")) == builds
    assert every["size/artifacts"].needs == (*builds, "reduce/reduced")
    assert ("build/profile" in every["verdict/verdict"].wants) == profiled
    assert "build/profile" not in every["verify/m/s@any"].needs


def test_what_some_tasks_rest_on() -> None:
    """Those themselves and all before them, in order; no one else."""
    every = tasks(TWO)

    assert [task.id for task in with_dependencies(["build/profile"], every)] == ["build/profile"]
    assert [
        task.id for task in with_dependencies(["profile/a/y@any", "profile/b/s@any"], every)
    ] == [
        "build/plain",
        "build/profile",
        "profile/a/y@any#search",
        "profile/a/y@any",
        "profile/b/s@any",
    ]
    assert with_dependencies(["no/task"], every) == ()


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (Stage.BUILD, ["build/plain", "build/profile"]),
        (
            Stage.PROFILE,
            [
                *("build/plain", "build/profile", "profile/a/x@any"),
                *("profile/a/y@any#search", "profile/a/y@any", "profile/b/s@any"),
            ],
        ),
    ],
)
def test_a_stage_runs_with_what_it_depends_on(stage: Stage, expected: list[str]) -> None:
    assert [task.id for task in tasks_up_to(stage, tasks(TWO))] == expected


def test_a_header_without_a_search_needs_no_plain_build() -> None:
    every = tasks(config(model("m")))

    assert [task.id for task in tasks_up_to(Stage.HEADER, every)] == [
        "build/profile",
        "profile/m/s@any",
        "header/keepset",
    ]
    size = [task.id for task in tasks_up_to(Stage.SIZE, every)]
    assert "verify/m/s@any" not in size
    assert size[-1] == "size/artifacts"


def test_the_report_depends_on_everything() -> None:
    every = tasks(TWO)

    assert tasks_up_to(Stage.REPORT, every) == every
    assert tasks_up_to(Stage.VERDICT, every) == every[:-1]


def test_where_functions_are_trimmed_the_base_is_linked_again() -> None:
    """The build by regions comes first; what ships keeps its name, so nothing behind it changes."""
    found = by_id(tasks(config(model("a"), trim={"level": "function"})))

    assert found["reduce/region"].needs == ("header/keepset",)
    assert found["functions/linked"].needs == ("reduce/region", "header/keepset")
    assert found["functions/a/s@any"].needs == ("functions/linked",)
    assert found["functions/keepset"].needs == (
        "header/keepset",
        "functions/linked",
        "functions/a/s@any",
    )
    assert found["reduce/reduced"].needs == (
        "reduce/region",
        "header/keepset",
        "functions/linked",
        "functions/keepset",
    )
    assert found["verify/a/s@any"].needs == ("build/plain", "functions/keepset", "reduce/reduced")
    assert found["size/artifacts"].needs == (
        "build/plain",
        "build/profile",
        "reduce/region",
        "reduce/reduced",
    )


def test_functions_alone_need_neither_profile_build_nor_header() -> None:
    every = tasks(config(model("a"), trim={"level": "function", "base": "plain"}))

    assert [task.id for task in every] == [
        "build/plain",
        "functions/linked",
        "functions/a/s@any",
        "functions/keepset",
        "reduce/reduced",
        "verify/a/s@any",
        "size/artifacts",
        "verdict/verdict",
        "report/report",
    ]
    assert by_id(every)["reduce/reduced"].needs == (
        "build/plain",
        "functions/linked",
        "functions/keepset",
    )


def test_the_committed_keep_set_names_the_functions_too() -> None:
    """Nothing runs before the last link, which is held against the list's own."""
    found = by_id(tasks(config(model("a"), trim={"level": "function"}), committed=True))

    assert "functions/a/s@any" not in found
    assert found["functions/keepset"].needs == ("header/keepset", "functions/linked")


def test_neighbours_are_run_where_someone_asks() -> None:
    """Behind the verification of each scenario; the verdict wants them."""
    asked = tasks(TWO, neighbours=True)
    found = by_id(asked)

    assert not any(task.stage is Stage.NEIGHBOURS for task in tasks(TWO))
    assert [task.name for task in asked if task.stage is Stage.NEIGHBOURS] == [
        *("a/x@any", "a/y@any", "b/s@any"),
    ]
    assert found["neighbours/a/y@any"].needs == (
        *("build/plain", "profile/a/y@any#search", "header/keepset", "reduce/reduced"),
        "verify/a/y@any",
    )
    assert "neighbours/b/s@any" in found["verdict/verdict"].wants
    assert not any("neighbours" in need for need in found["size/artifacts"].needs)
    through_them = {task.stage for task in tasks_up_to(Stage.NEIGHBOURS, asked)}
    assert {Stage.SIZE, Stage.VERDICT} & through_them == set()


def test_neighbours_are_run_at_every_level() -> None:
    """By a committed keep set as well; by function, the build by regions is tried, too."""
    region, function, plain = (
        by_id(tasks(config(model("m"), trim=trim), committed=True, neighbours=True))
        for trim in (
            {},
            {"level": "function"},
            {"level": "function", "base": "plain"},
        )
    )

    assert [
        "reduce/region" in every["neighbours/m/s@any"].needs for every in (region, function, plain)
    ] == [False, True, False]
    for every in (region, function, plain):
        assert {"build/plain", "reduce/reduced"} < set(every["neighbours/m/s@any"].needs)
