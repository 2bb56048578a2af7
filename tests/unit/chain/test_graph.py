"""The tasks of a trim: which there are, what each needs, and in which order they can run."""

import pytest

from megtrim.chain.graph import Stage, Task, tasks, tasks_up_to, with_dependencies
from megtrim.config.model import Config
from unit.chain.support import config, model

TWO = config(model("a", {"name": "x"}, {"name": "y", "fast_run": True}), model("b"))


RECORDED = config(
    model("a", {"name": "x"}, {"name": "y", "fast_run": True, "algo_cache": "a.cache"}), model("b")
)
FUNCTION = config(model("a"), trim={"level": "function"})
FUNCTION_ALONE = config(model("a"), trim={"level": "function", "base": "plain"})
BUILDS = ("build/plain", "build/profile")
VERIFIED = ("build/plain", "header/keepset", "reduce/reduced")
END = {"verdict/verdict": (), "report/report": ("verdict/verdict",)}
LINKED = {
    "functions/linked": ("reduce/region", "header/keepset"),
    "functions/a/s@any": ("functions/linked",),
    "functions/keepset": ("header/keepset", "functions/linked", "functions/a/s@any"),
    "reduce/reduced": ("reduce/region", "header/keepset", "functions/linked", "functions/keepset"),
    "verify/a/s@any": ("build/plain", "functions/keepset", "reduce/reduced"),
    "size/artifacts": (*BUILDS, "reduce/region", "reduce/reduced"),
    **END,
}
REDUCED = {"header/keepset": (), "reduce/region": ("header/keepset",)}


def by_id(every: tuple[Task, ...]) -> dict[str, Task]:
    return {task.id: task for task in every}


@pytest.mark.parametrize(
    ("configuration", "committed", "needs"),
    [
        # A trace runs on the profile build, a search on the plain one: its timings are true.
        (TWO, False, {
            **dict.fromkeys(BUILDS, ()),
            "profile/a/x@any": ("build/profile",),
            "profile/a/y@any#search": ("build/plain",),
            "profile/a/y@any": ("build/profile", "profile/a/y@any#search"),
            "profile/b/s@any": ("build/profile",),
            "header/keepset": ("profile/a/x@any", "profile/a/y@any", "profile/b/s@any"),
            "reduce/reduced": ("header/keepset",),
            "verify/a/x@any": VERIFIED,
            "verify/a/y@any": ("build/plain", "profile/a/y@any#search", *VERIFIED[1:]),
            "verify/b/s@any": VERIFIED,
            "size/artifacts": (*BUILDS, "reduce/reduced"),
            **END,
        }),
        # No profile build, no run of it: the keep set is a file.
        (RECORDED, True, {
            "build/plain": (),
            "header/keepset": (),
            "reduce/reduced": ("header/keepset",),
            **dict.fromkeys(("verify/a/x@any", "verify/a/y@any", "verify/b/s@any"), VERIFIED),
            "size/artifacts": ("build/plain", "reduce/reduced"),
            **END,
        }),
        # The build by regions comes first; what ships keeps its name, so nothing behind it changes.
        (FUNCTION, False, {
            **dict.fromkeys(BUILDS, ()),
            "profile/a/s@any": ("build/profile",),
            **REDUCED,
            "header/keepset": ("profile/a/s@any",),
            **LINKED,
        }),
        # Nothing runs before the last link, which is held against the list's own.
        (FUNCTION, True, {
            "build/plain": (),
            **REDUCED,
            **{task: needed for task, needed in LINKED.items() if task != "functions/a/s@any"},
            "functions/keepset": ("header/keepset", "functions/linked"),
            "size/artifacts": ("build/plain", "reduce/region", "reduce/reduced"),
        }),
        (FUNCTION_ALONE, False, {
            "build/plain": (),
            "functions/linked": ("build/plain",),
            "functions/a/s@any": ("functions/linked",),
            "functions/keepset": ("functions/linked", "functions/a/s@any"),
            "reduce/reduced": ("build/plain", "functions/linked", "functions/keepset"),
            "verify/a/s@any": ("build/plain", "functions/keepset", "reduce/reduced"),
            "size/artifacts": ("build/plain", "reduce/reduced"),
            **END,
        }),
    ],
    ids=["two models", "committed", "functions", "committed functions", "functions alone"],
)  # fmt: skip
def test_tasks_stand_in_order_with_what_each_needs(
    configuration: Config, committed: bool, needs: dict[str, tuple[str, ...]]
) -> None:
    every = tasks(configuration, committed=committed)

    assert [(task.id, task.needs) for task in every] == list(needs.items())


@pytest.mark.parametrize("every", [tasks(TWO), tasks(RECORDED, committed=True)])
def test_a_verdict_wants_everything_and_nothing_else_does(every: tuple[Task, ...]) -> None:
    """It speaks of what failed, too, so that it needs nothing and is never skipped."""
    verdict = by_id(every)["verdict/verdict"]

    assert verdict.wants == tuple(task.id for task in every[:-2])
    assert all(task.wants == () for task in every if task is not verdict)


def test_everything_stands_behind_what_it_depends_on() -> None:
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
    found = tasks(config(model("m"), classes=[{"name": "v8"}, {"name": "v82"}]))

    verified = [task.name for task in found if task.stage is Stage.VERIFY]
    assert verified == ["m/s@v8", "m/s@v82"]


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


SEARCHED = ["build/plain", "build/profile", "profile/a/y@any#search", "profile/a/y@any"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (["build/profile"], ["build/profile"]),
        (["profile/a/y@any", "profile/b/s@any"], [*SEARCHED, "profile/b/s@any"]),
        (["no/task"], []),
    ],
)
def test_what_some_tasks_rest_on(wanted: list[str], expected: list[str]) -> None:
    assert [task.id for task in with_dependencies(wanted, tasks(TWO))] == expected


EVERY = [task.id for task in tasks(TWO)]


@pytest.mark.parametrize(
    ("every", "stage", "expected"),
    [
        (tasks(TWO), Stage.BUILD, EVERY[:2]),
        (tasks(TWO), Stage.PROFILE, EVERY[:6]),
        (tasks(TWO), Stage.VERDICT, EVERY[:-1]),
        (tasks(TWO), Stage.REPORT, EVERY),
        (tasks(config(model("b"))), Stage.HEADER, [EVERY[1], EVERY[5], "header/keepset"]),
        (tasks(config(model("b"))), Stage.SIZE, [
            *EVERY[:2], EVERY[5], "header/keepset", "reduce/reduced", "size/artifacts"
        ]),
        (tasks(RECORDED, committed=True), Stage.BUILD, ["build/plain"]),
        (tasks(RECORDED, committed=True), Stage.PROFILE, []),
    ],
)  # fmt: skip
def test_a_stage_runs_with_what_it_depends_on(
    every: tuple[Task, ...], stage: Stage, expected: list[str]
) -> None:
    assert [task.id for task in tasks_up_to(stage, every)] == expected


def test_neighbours_are_run_where_someone_asks() -> None:
    asked = tasks(TWO, neighbours=True)
    found = by_id(asked)

    assert not any(task.stage is Stage.NEIGHBOURS for task in tasks(TWO))
    assert [task.name for task in asked if task.stage is Stage.NEIGHBOURS] == [
        *("a/x@any", "a/y@any", "b/s@any")
    ]
    assert found["neighbours/a/y@any"].needs == (
        *("build/plain", "profile/a/y@any#search", "header/keepset", "reduce/reduced"),
        "verify/a/y@any",
    )
    assert "neighbours/b/s@any" in found["verdict/verdict"].wants
    assert not any("neighbours" in need for need in found["size/artifacts"].needs)
    through_them = {task.stage for task in tasks_up_to(Stage.NEIGHBOURS, asked)}
    assert {Stage.SIZE, Stage.VERDICT} & through_them == set()


@pytest.mark.parametrize(
    ("trim", "by_region"),
    [({}, False), ({"level": "function"}, True), ({"level": "function", "base": "plain"}, False)],
)
def test_neighbours_are_run_at_every_level(trim: dict[str, str], by_region: bool) -> None:
    """By a committed keep set as well; by function, the build by regions is tried, too."""
    every = by_id(tasks(config(model("m"), trim=trim), committed=True, neighbours=True))
    needs = set(every["neighbours/m/s@any"].needs)

    assert needs > {"build/plain", "reduce/reduced"}
    assert ("reduce/region" in needs) is by_region
