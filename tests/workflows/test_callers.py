from dataclasses import replace
from typing import Any

import pytest

from megtrim.config.templates import (
    NIGHT,
    REFRESH,
    RELEASE,
    SIZE_CHECK,
    Callers,
    Kit,
    Provision,
    workflows,
)
from workflows.documents import Document, parse, workflow
from workflows.rules import RULES, Rule

CALLERS = Callers(
    kit=Kit(repository="megtrim/kit", sha="0123456789" * 4, version="v1.2.3"),
    branch="main",
    config="megtrim.yaml",
    keep_set="megtrim/keepset",
    packages="clang-14 g++-aarch64-linux-gnu",
    releases=True,
)
CALLED = {
    SIZE_CHECK: "size-check",
    REFRESH: "trace-refresh",
    NIGHT: "nightly-performance",
    RELEASE: "release",
}
SEVERAL = replace(
    CALLERS,
    packages="",
    releases=False,
    toolchains={
        "android-arm64": Provision(recipe="android-arm64"),
        "linux": Provision(packages="g++"),
    },
)
_ORDER = {"read": 1, "write": 2}
# Rules about jobs that call nothing: a caller's key words are few.
_CALLER_RULES = [rule for rule in RULES if rule.__name__ != "kit_known_first"]


def caller(path: str) -> Document:
    return parse(workflows(CALLERS)[path], name=path)


def main_job(path: str) -> dict[str, Any]:
    first, *more = caller(path).jobs.values()
    assert len(more) == (path == SIZE_CHECK)
    return first


@pytest.mark.parametrize("path", CALLED)
@pytest.mark.parametrize("rule", _CALLER_RULES, ids=lambda rule: rule.__name__)
def test_a_caller_keeps_the_rules(rule: Rule, path: str) -> None:
    assert list(rule(caller(path))) == []


@pytest.mark.parametrize("path", CALLED)
def test_a_caller_grants_what_the_called_jobs_ask_for(path: str) -> None:
    """Less fails when the run starts, more is a gift."""
    asked: dict[str, str] = {}
    for job in workflow(CALLED[path]).jobs.values():
        for scope, level in job["permissions"].items():
            asked[scope] = max(level, asked.get(scope, "read"), key=_ORDER.__getitem__)
    job = main_job(path)

    assert job["permissions"] == asked


@pytest.mark.parametrize("path", CALLED)
def test_a_caller_gives_only_what_the_called_takes(path: str) -> None:
    job = main_job(path)
    inputs = workflow(CALLED[path]).events["workflow_call"]["inputs"]

    assert set(job["with"]) <= set(inputs)
    assert job["uses"] == (f"megtrim/kit/.github/workflows/{CALLED[path]}.yml@{CALLERS.kit.sha}")
    assert sorted(job) == ["name", "permissions", "uses", "with"]


def test_events_of_the_size_check() -> None:
    events = caller(SIZE_CHECK).events

    assert sorted(events) == ["merge_group", "pull_request", "push", "workflow_dispatch"]
    assert events["push"] == {"branches": ["main"]}
    assert list(events["workflow_dispatch"]["inputs"]) == ["pull-request"]


def test_events_of_the_refresh() -> None:
    events = caller(REFRESH).events

    assert sorted(events) == ["schedule", "workflow_dispatch"]
    assert [each["cron"].split()[2:] for each in events["schedule"]] == [["*", "*", "1"]]


def test_events_of_the_night() -> None:
    events = caller(NIGHT).events

    assert sorted(events) == ["schedule", "workflow_dispatch"]
    assert [each["cron"].split()[2:] for each in events["schedule"]] == [["*", "*", "*"]]


def test_events_of_a_release() -> None:
    events = caller(RELEASE).events

    assert sorted(events) == ["push", "workflow_dispatch"]
    assert events["push"] == {"tags": ["v[0-9]*"]}


def test_the_required_check_is_the_documented_one() -> None:
    job = main_job(SIZE_CHECK)

    assert f"{job['name']} / {workflow('size-check').jobs['verdict']['name']}" == "size / verdict"


def test_the_refresh_starts_the_caller_of_the_size_check() -> None:
    inputs = workflow("trace-refresh").events["workflow_call"]["inputs"]

    assert inputs["size-check"]["default"] == SIZE_CHECK.rpartition("/")[2]


@pytest.mark.parametrize("path", CALLED)
def test_the_callers_of_a_second_configuration_differ_in_names_alone(path: str) -> None:
    android = replace(CALLERS, config="android/megtrim.yaml", keep_set="android/megtrim/keepset")
    own = path.replace(".yml", ".android.yml")
    first = caller(path)
    second = parse(workflows(android)[own], name=own)
    one, other = next(iter(first.jobs.values())), next(iter(second.jobs.values()))

    tags = {**first.events, "push": {"tags": ["android-v[0-9]*"]}}
    assert second.events == (tags if path == RELEASE else first.events)
    assert (other["uses"], other["permissions"]) == (one["uses"], one["permissions"])
    assert other["name"] == f"{one['name']} android"
    inputs = workflow(CALLED[path]).events["workflow_call"]["inputs"]
    assert set(other["with"]) <= set(inputs)


@pytest.mark.parametrize("path", [REFRESH, NIGHT])
def test_several_toolchains_have_a_leg_each(path: str) -> None:
    one = main_job(path)
    document = parse(workflows(SEVERAL)[path], name=path)
    for rule in _CALLER_RULES:
        assert list(rule(document)) == []
    (first,) = document.jobs.values()
    inputs = workflow(CALLED[path]).events["workflow_call"]["inputs"]

    assert first["strategy"] == {
        "fail-fast": "false",
        "matrix": {
            "include": [
                {"toolchain": "android-arm64", "packages": "", "recipe": "android-arm64"},
                {"toolchain": "linux", "packages": "g++", "recipe": ""},
            ]
        },
    }
    assert (first["uses"], first["permissions"]) == (one["uses"], one["permissions"])
    assert first["name"] == f"{one['name']} ${{{{ matrix.toolchain }}}}"
    assert first["with"]["config"] == "megtrim.yaml#${{ matrix.toolchain }}"
    assert set(first["with"]) <= set(inputs)


def test_several_toolchains_have_one_check_and_one_comment() -> None:
    document = parse(workflows(SEVERAL)[SIZE_CHECK], name="caller")
    for rule in _CALLER_RULES:
        assert list(rule(document)) == []
    *every, _, summary = document.jobs.values()
    called, ids = workflow("size-summary"), ["size-android-arm64", "size-linux"]

    assert f"{summary['name']} / {called.jobs['verdict']['name']}" == "size / verdict"
    assert (summary["needs"], summary["if"]) == (ids, "always()")
    outputs = [f"${{{{ needs.{job_id}.outputs.report }}}}" for job_id in ids]
    assert summary["with"]["reports"] == ",".join(outputs)
    assert "report" in workflow("size-check").events["workflow_call"]["outputs"]
    assert [job["name"] for job in every] == ["size android-arm64", "size linux"]
    needs = [(job["with"].get("packages"), job["with"].get("image-recipe")) for job in every]
    assert needs == [(None, "android-arm64"), ("g++", None)]
    (one,) = {job["uses"] for job in every}
    assert one == main_job(SIZE_CHECK)["uses"]
    assert summary["permissions"] == called.jobs["verdict"]["permissions"]
    assert set(summary["with"]) <= set(called.events["workflow_call"]["inputs"])
    assert summary["with"]["toolchains"] == "android-arm64 linux"
    assert {job["with"]["comment"] for job in every} == {"false"}
    refresh = parse(workflows(SEVERAL)[REFRESH], name="caller").jobs["refresh"]
    assert refresh["with"]["keep-set"] == "megtrim/keepset/${{ matrix.toolchain }}"


@pytest.mark.parametrize("callers", [CALLERS, SEVERAL], ids=["one", "several"])
def test_sizes_join_the_history_after_a_push(callers: Callers) -> None:
    document = parse(workflows(callers)[SIZE_CHECK], name="caller")
    (*sizes, size), job = (
        [each for name, each in document.jobs.items() if name.startswith("size")],
        document.jobs["history"],
    )
    called = workflow("size-history")

    assert (job["needs"], job["if"]) == (
        ["size-android-arm64", "size-linux"] if sizes else "size",
        "${{ !cancelled() && github.event_name == 'push' }}",
    )
    assert job["permissions"] == called.jobs["history"]["permissions"] == {"contents": "write"}
    assert size["permissions"]["contents"] == "read"
    leg = "#${{ matrix.toolchain }}" if sizes else ""
    assert job["with"] == {"config": f"megtrim.yaml{leg}"}
    assert job["uses"].startswith("megtrim/kit/.github/workflows/size-history.yml@")


def test_a_team_writes_few_lines() -> None:
    for path, text in workflows(CALLERS).items():
        lines = [line.strip() for line in text.splitlines()]
        most = 20 if path == SIZE_CHECK else 13
        assert len([line for line in lines if line and not line.startswith("#")]) <= most
