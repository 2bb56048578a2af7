"""The tasks of a trim and their order, and the matrix of device jobs."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from megtrim.core.chain.graph import Stage, Task, tasks, tasks_up_to, with_dependencies
from megtrim.core.chain.matrix import MOST_JOBS, MatrixEntry, Shard, entries
from megtrim.core.config.model import Config
from megtrim.libs.util.errors import InputError
from unit.core.chain.support import config, model

TWO = config(model("a", {"name": "x"}, {"name": "y", "fast_run": True}), model("b"))


RECORDED = config(
    model("a", {"name": "x"}, {"name": "y", "fast_run": True, "algo_cache": "a.cache"}), model("b")
)
FUNCTION = config(model("a"), trim={"level": "function"})
DEFERRED = config(model("a"), trim={"level": "deferred", "base": "plain"})
OPERATOR = config({"name": "a", "file": "a.mge"}, trim={"level": "operator"})
SEARCHING = config(model("a", {"name": "y", "fast_run": True}), trim={"level": "operator"})
TWO_SEARCHES = (
    model("a", {"name": "y", "fast_run": True}),
    model("b", {"name": "y", "fast_run": True}),
)
JOINED = config(*TWO_SEARCHES, model("c"), trim={"caches": "joined"})
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
            "header/keepset": (
                "profile/a/x@any", "profile/a/y@any#search", "profile/a/y@any", "profile/b/s@any",
            ),
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
        # Nothing runs before the build.
        (OPERATOR, False, {
            "build/plain": (),
            "header/keepset": (),
            "reduce/reduced": ("header/keepset",),
            "verify/a/generated@any": VERIFIED,
            "size/artifacts": ("build/plain", "reduce/reduced"),
            **END,
        }),
        # The keep set says which algorithm cache each scenario was recorded with.
        (SEARCHING, False, {
            "build/plain": (),
            "profile/a/y@any#search": ("build/plain",),
            "header/keepset": ("profile/a/y@any#search",),
            "reduce/reduced": ("header/keepset",),
            "verify/a/y@any": ("build/plain", "profile/a/y@any#search", *VERIFIED[1:]),
            "size/artifacts": ("build/plain", "reduce/reduced"),
            **END,
        }),
    ],
    ids=[
        "two models",
        "committed",
        "functions",
        "committed functions",
        "functions alone",
        "operators",
        "operators and a search",
    ],
)  # fmt: skip
def test_tasks_stand_in_order_with_what_each_needs(
    configuration: Config, committed: bool, needs: dict[str, tuple[str, ...]]
) -> None:
    every = tasks(configuration, committed=committed)

    assert [(task.id, task.needs) for task in every] == list(needs.items())


def test_deferred_functions_are_called_once_scenarios_were_verified() -> None:
    task = by_id(tasks(DEFERRED))["verify/deferral"]

    assert task.needs == ("build/plain", "functions/linked", "functions/keepset", "reduce/reduced")
    assert task.wants == ("verify/a/s@any",)
    assert "verify/deferral" not in by_id(tasks(FUNCTION_ALONE))


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


def test_joined_caches_are_what_all_that_search_run_with() -> None:
    """All searches come before the first run with what they found; what does not search waits for
    none of them.
    """
    found = by_id(tasks(JOINED))
    searches = ("profile/a/y@any#search", "profile/b/y@any#search")

    assert found["profile/any#joined"].needs == searches
    for name in ("a/y@any", "b/y@any"):
        assert found[f"profile/{name}"].needs == ("build/profile", "profile/any#joined")
        assert found[f"verify/{name}"].needs == ("build/plain", "profile/any#joined", *VERIFIED[1:])
    assert found["profile/c/s@any"].needs == ("build/profile",)
    assert found["verify/c/s@any"].needs == VERIFIED


def test_a_cpu_class_has_a_joined_cache_of_its_own() -> None:
    two = config(
        *TWO_SEARCHES,
        classes=[{"name": "v8"}, {"name": "v82"}],
        trim={"caches": "joined", "level": "function", "base": "plain"},
    )
    found = by_id(tasks(two))

    assert found["profile/v8#joined"].needs == ("profile/a/y@v8#search", "profile/b/y@v8#search")
    assert found["functions/a/y@v82"].needs == ("functions/linked", "profile/v82#joined")


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

    assert [task.name for task in found if task.stage is Stage.VERIFY] == ["m/s@v8", "m/s@v82"]


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


@pytest.mark.parametrize("asked", [{"memory": {}}, {"work": {}}, {"memory": {}, "work": {}}])
def test_use_is_counted_where_the_configuration_asks(asked: Any) -> None:
    found = by_id(tasks(config(model("m"), **asked)))

    assert found["count/m/s@any"].needs == ("build/plain", "reduce/reduced")
    assert found["size/artifacts"].wants == ("count/m/s@any",)
    assert "count/m/s@any" in found["verdict/verdict"].wants
    assert not any("count" in each for each in by_id(tasks(TWO)))


def test_neighbours_are_run_where_someone_asks() -> None:
    asked = tasks(TWO, neighbours=True)
    found = by_id(asked)

    assert not any(task.stage is Stage.NEIGHBOURS for task in tasks(TWO))
    assert [task.name for task in asked if task.stage is Stage.NEIGHBOURS] == [
        "a/x@any",
        "a/y@any",
        "b/s@any",
    ]
    assert found["neighbours/a/y@any"].needs == (
        "build/plain",
        "profile/a/y@any#search",
        "header/keepset",
        "reduce/reduced",
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


def reported(counts: dict[str, int], per_job: int = 20) -> list[str]:
    return [each.as_json()["name"] for each in entries(counts, per_job=per_job, artifact="x")]


@pytest.mark.parametrize(
    ("config", "count", "expected"),
    [
        ("megtrim.yaml", 21, [
            ("pixel 1/2", "1/2", "x-pixel-1"), ("pixel 2/2", "2/2", "x-pixel-2"),
        ]),
        # Several may be in one run: their jobs are waited for, their artifacts found one by one.
        ("android/megtrim.yaml", 1, [("android pixel 1/1", "1/1", "x.android.pixel-1")]),
    ],
)  # fmt: skip
def test_an_entry_is_what_a_workflow_reads(
    config: str, count: int, expected: list[tuple[str, str, str]]
) -> None:
    found = entries({"pixel": count}, per_job=20, artifact="x", config=config)

    assert [each.as_json() for each in found] == [
        {"name": name, "class": "pixel", "shard": shard, "artifact": artifact}
        for name, shard, artifact in expected
    ]


@pytest.mark.parametrize(
    ("counts", "per_job", "names"),
    [
        ({}, 20, []),
        ({"a": 0}, 20, []),
        ({"b": 1, "a": 20}, 20, ["a 1/1", "b 1/1"]),
        ({"a": 41}, 20, ["a 1/3", "a 2/3", "a 3/3"]),
        ({"a": 2}, 1, ["a 1/2", "a 2/2"]),
    ],
)
def test_jobs_are_as_many_as_needed(counts: dict[str, int], per_job: int, names: list[str]) -> None:
    assert reported(counts, per_job) == names


def test_beyond_the_limit_jobs_grow() -> None:
    """Evenly: 5,121 scenarios make jobs of 21, not one job that is left out."""
    assert len(reported({"a": 5120})) == 256
    assert len(reported({"a": 5121})) == 244
    assert len(reported({"a": 5120, "b": 1})) == 245


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(0, 4000), max_size=MOST_JOBS), st.integers(1, 50))
def test_the_limit_holds(sizes: list[int], per_job: int) -> None:
    counts = {f"c{number}": size for number, size in enumerate(sizes)}
    jobs = entries(counts, per_job=per_job, artifact="x")

    assert len(jobs) <= MOST_JOBS
    assert len({each.artifact for each in jobs}) == len(jobs)
    shards: dict[str, list[Shard]] = {name: [] for name in counts}
    for each in jobs:
        shards[each.cpu_class].append(each.shard)
    for name, count in counts.items():
        parts = [each.of(range(count)) for each in shards[name]]
        assert sorted(item for part in parts for item in part) == list(range(count))
        assert max(map(len, parts), default=0) - min(map(len, parts), default=0) <= 1


def test_more_classes_than_jobs_are_refused() -> None:
    assert len(reported({f"c{number}": 1 for number in range(256)})) == 256
    with pytest.raises(InputError, match="found 257 CPU classes, expected at most 256"):
        reported({f"c{number}": 1 for number in range(257)})


@pytest.mark.parametrize("name", ["", "a b", "${{ x }}", "a\n", "-a", 'a"', "x" * 201])
def test_a_class_that_could_be_more_than_a_name_is_refused(name: str) -> None:
    """It becomes a runner label and part of an artifact's name."""
    with pytest.raises(InputError, match=r"cannot be part of a job's name"):
        reported({name: 1})


def test_a_shard_is_read_as_it_is_written() -> None:
    assert Shard.parse("2/3") == Shard(index=2, count=3)
    assert str(Shard.parse("256/256")) == "256/256"
    assert Shard.parse("2/3").of("abcdefg") == ("b", "e")
    assert MatrixEntry(cpu_class="a", shard=Shard(index=1, count=1), artifact="x").as_json()[
        "shard"
    ] == ("1/1")


@pytest.mark.parametrize("text", ["", "0/1", "2/1", "1/257", "1", "1/1/1", "01/2", "1/-1", "1/2\n"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Shard.parse(text)
    assert caught.value.message == (
        f"--shard: found {text!r}, expected I/N such as 1/3, of at most 256"
    )
