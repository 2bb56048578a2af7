import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.hosting.caller_texts import (
    FORKS,
    NIGHT,
    REFRESH,
    RELEASE,
    SIZE_CHECK,
    Callers,
    Kit,
    Provision,
    workflows,
)
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from workflows.documents import ROOT, Document, parse, workflow
from workflows.rules import RULES, Rule

CALLERS = Callers(
    kit=Kit(repository="megtrim/kit", sha="0123456789" * 4, version="v1.2.3"),
    branch="main",
    config="megtrim.yaml",
    keep_set="megtrim/keepset",
    packages="clang-14 g++-aarch64-linux-gnu",
    nights=("",),
    releases=True,
)
CALLED = {
    SIZE_CHECK: "size-check",
    FORKS: "fork-comment",
    REFRESH: "trace-refresh",
    NIGHT: "nightly-performance",
    RELEASE: "release",
}
SEVERAL = replace(
    CALLERS,
    packages="",
    releases=False,
    nights=("android-arm64", "linux"),
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
def test_a_caller_grants_and_gives_what_the_called_asks_for(path: str) -> None:
    """Fewer rights fail when the run starts, more are a gift."""
    asked: dict[str, str] = {}
    for job in workflow(CALLED[path]).jobs.values():
        for scope, level in job["permissions"].items():
            asked[scope] = max(level, asked.get(scope, "read"), key=_ORDER.__getitem__)
    job = main_job(path)

    assert job["permissions"] == asked
    assert set(job["with"]) <= set(workflow(CALLED[path]).events["workflow_call"]["inputs"])
    assert job["uses"] == f"megtrim/kit/.github/workflows/{CALLED[path]}.yml@{CALLERS.kit.sha}"
    assert sorted(job) == ["name", "permissions", "uses", "with"]


@pytest.mark.parametrize(
    ("path", "events"),
    [
        (SIZE_CHECK, ["merge_group", "pull_request", "push", "workflow_dispatch"]),
        (FORKS, ["workflow_run"]),
        (REFRESH, ["schedule", "workflow_dispatch"]),
        (NIGHT, ["schedule", "workflow_dispatch"]),
        (RELEASE, ["push", "workflow_dispatch"]),
    ],
)
def test_events_of_a_caller(path: str, events: list[str]) -> None:
    found = caller(path).events
    days = [each["cron"].split()[2:] for each in found.get("schedule", ())]

    assert sorted(found) == events
    assert days == {REFRESH: [["*", "*", "1"]], NIGHT: [["*", "*", "*"]]}.get(path, [])
    if path in (SIZE_CHECK, RELEASE):
        release = {"tags": ["v[0-9]*"]}
        assert found["push"] == (release if path == RELEASE else {"branches": ["main"]})
    if path == SIZE_CHECK:
        assert list(found["workflow_dispatch"]["inputs"]) == ["pull-request"]


@pytest.mark.parametrize("config", ["megtrim.yaml", "android/megtrim.yaml"])
@pytest.mark.parametrize("callers", ["CALLERS", "SEVERAL"])
def test_a_comment_follows_the_size_check_of_its_configuration(config: str, callers: str) -> None:
    texts = workflows(replace(globals()[callers], config=config))
    check, forks = ((path, parse(text, name=path)) for path, text in list(texts.items())[:2])
    job = forks[1].jobs["comment"]

    started = {"workflows": [check[1].data["name"]], "types": ["completed"]}
    assert forks[1].events == {"workflow_run": started}
    assert job["with"].get("size-check", "megtrim.yml") == check[0].rpartition("/")[2]
    names = " ".join(SEVERAL.toolchains) if callers == "SEVERAL" else None
    assert (job["with"]["config"], job["with"].get("toolchains")) == (config, names)


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
    one = next(iter(first.jobs.values()))
    other = next(iter(second.jobs.values()))

    tags = {**first.events, "push": {"tags": ["android-v[0-9]*"]}}
    after = {"workflow_run": {"workflows": ["megtrim android"], "types": ["completed"]}}
    assert second.events == {RELEASE: tags, FORKS: after}.get(path, first.events)
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
    called = workflow("size-summary")
    ids = ["size-android-arm64", "size-linux"]

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
    (*sizes, size) = [each for name, each in document.jobs.items() if name.startswith("size")]
    job = document.jobs["history"]
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


ZIZMOR = (
    "zizmor",
    "--offline",
    "--persona=auditor",
    "--strict-collection",
    "--no-progress",
    "--color=never",
    "--no-exit-codes",
)
# Without releases, as most teams begin.
CHECKED = replace(CALLERS, releases=False)


def _run(processes: ProcessRunner, folder: Path, *argv: str) -> CompletedCommand:
    return processes.run(Command(argv=argv, cwd=folder, timeout_s=120))


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def team(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    _write(tmp_path, workflows(CHECKED))
    android = {"config": "android/megtrim.yaml", "keep_set": "android/megtrim/keepset"}
    _write(tmp_path, workflows(replace(CHECKED, **android)))  # type: ignore[arg-type]
    several = {"arm64": Provision(recipe="linux-arm64"), "desk": Provision(packages="g++")}
    both = replace(CHECKED, config="both/megtrim.yaml", packages="", toolchains=several, nights=())
    _write(tmp_path, workflows(both))
    return tmp_path


def test_zizmor_finds_nothing(processes: ProcessRunner) -> None:
    outcome = _run(processes, ROOT, *ZIZMOR[:-1], ".")

    assert outcome.rc == 0, outcome.stdout + outcome.stderr
    assert "No findings to report" in outcome.stdout
    assert outcome.stderr.count("completed ./.github/") >= 8


def test_actionlint_finds_nothing(processes: ProcessRunner) -> None:
    outcome = _run(processes, ROOT, "actionlint")

    assert (outcome.rc, outcome.stdout, outcome.stderr) == (0, "", "")


def test_the_callers_are_clean(processes: ProcessRunner, team: Path) -> None:
    lint = _run(processes, team, "actionlint")
    audit = _run(processes, team, *ZIZMOR[:-1], ".")

    assert (lint.rc, lint.stdout, lint.stderr) == (0, "", "")
    assert audit.rc == 0, audit.stdout
    assert "No findings to report. Good job! (3 ignored" in audit.stdout
    texts = workflows(CHECKED)
    assert [path for path, text in texts.items() if "ignore[" in text] == [FORKS]
    assert texts[FORKS].count(" # zizmor: ignore[dangerous-triggers] ") == 1


def test_the_recipe_for_a_page_is_clean(processes: ProcessRunner, team: Path) -> None:
    pages = (ROOT / "docs/how-to/gate-pull-requests.md").read_text(encoding="utf-8")
    recipe = pages[pages.index("  page:\n    name: page\n") :].partition("```")[0]
    path = team / ".github" / "workflows" / "megtrim.yml"
    path.write_text(path.read_text(encoding="utf-8") + recipe, encoding="utf-8")
    (team / "zizmor.yml").write_bytes((ROOT / "zizmor.yml").read_bytes())

    lint = _run(processes, team, "actionlint")
    audit = _run(processes, team, *ZIZMOR[:-1], ".")

    assert (lint.rc, lint.stdout, lint.stderr) == (0, "", "")
    assert audit.rc == 0, audit.stdout


@pytest.mark.parametrize(
    ("old", "new", "audit"),
    [
        ("permissions: {}\n", "", "excessive-permissions"),
        (f"@{CALLERS.kit.sha} # v1.2.3", "@main", "unpinned-uses"),
        ("  pull_request:\n", "  pull_request_target:\n", "dangerous-triggers"),
        ("    with: {config", "    secrets: inherit\n    with: {config", "secrets-inherit"),
    ],
)
def test_zizmor_is_at_work(
    processes: ProcessRunner, team: Path, old: str, new: str, audit: str
) -> None:
    """A defect is found, so finding nothing means something."""
    path = team / ".github" / "workflows" / "megtrim.yml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")

    outcome = _run(processes, team, *ZIZMOR, ".")

    assert f"[{audit}]" in outcome.stdout


@pytest.mark.parametrize("reference", ["inputs.request", "needs.size", "steps.none.outputs.x"])
def test_actionlint_is_at_work(processes: ProcessRunner, team: Path, reference: str) -> None:
    """A name that no one sets is an empty text on GitHub, not an error."""
    path = team / ".github" / "workflows" / "megtrim.yml"
    text = path.read_text(encoding="utf-8").replace("inputs.pull-request", reference)
    path.write_text(text, encoding="utf-8")

    outcome = _run(processes, team, "actionlint")

    assert outcome.rc == 1
    assert "is not defined" in outcome.stdout or "is not allowed here" in outcome.stdout


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("zizmor.yml", r"(disable|ignore|config):"),
        (".github/actionlint.yaml", r"ignore:|- megtrim"),
    ],
)
def test_every_suppression_has_its_reason(name: str, key: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    places = [i for i, line in enumerate(lines) if re.match(rf" +{key}", line)]

    assert places
    for i in places:
        assert "# " in lines[i - 1] + lines[i] + lines[i + 1], lines[i]


def test_nothing_is_suppressed_in_the_files_themselves() -> None:
    found = [
        path.name
        for path in sorted((ROOT / ".github").rglob("*.yml"))
        if "zizmor:" in path.read_text(encoding="utf-8")
    ]

    assert found == []
