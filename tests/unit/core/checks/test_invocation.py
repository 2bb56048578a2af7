import shlex
from pathlib import Path
from typing import Any, get_args

import pytest

from megtrim.core.checks.check import Check
from megtrim.core.checks.invocation import (
    Invocation,
    Options,
    ScenarioKind,
    render_invocation,
    suggest_after,
    suggest_for_budget,
    suggest_for_keep_set,
    suggest_for_other_link,
    suggest_for_probe,
    suggest_for_scenario,
    suggest_next,
)
from megtrim.core.checks.statuses import CheckKind, CheckStatus

REPORT = "megtrim-report{}/baseline.json"

EVERYTHING = Invocation(
    config="trim it/$(id).yaml",
    out="../results",
    engine="../MegEngine",
    image="megtrim/x@sha256:0",
    no_docker=True,
    device="virtual-phone",
    baseline="sizes.json",
    committed=True,
)


def test_a_command_says_everything_that_was_asked() -> None:
    words = shlex.split(EVERYTHING.verify("m/s@any"))

    assert words == [
        "megtrim",
        "verify",
        "--config",
        "trim it/$(id).yaml",
        "--out",
        "../results",
        "--engine",
        "../MegEngine",
        "--image",
        "megtrim/x@sha256:0",
        "--no-docker",
        "--committed",
        "--device",
        "virtual-phone",
        "--scenario",
        "m/s@any",
        "--again",
    ]
    # Who verifies may well have no baseline at hand.
    assert EVERYTHING.again("size").endswith(" --baseline sizes.json")
    assert Invocation().again("size") == "megtrim size --config megtrim.yaml"
    assert Invocation().again("stage build") == "megtrim stage build --config megtrim.yaml"
    assert Invocation(quick=True).again("size") == "megtrim size --config megtrim.yaml --quick"


def test_accepting_leaves_the_mode_out() -> None:
    assert shlex.split(EVERYTHING.accept()) == [
        "megtrim",
        "trim",
        *EVERYTHING.place,
        "--device",
        "virtual-phone",
        "--accept",
    ]
    assert "--committed" not in EVERYTHING.place


def test_traces_from_elsewhere_are_a_matter_of_the_whole_chain() -> None:
    """No single stage takes them; without them it would be another trace."""
    asked = Invocation(traces=("a", "b"))

    reported = "megtrim trim --config megtrim.yaml --traces a --traces b"
    assert (asked.again("stage header"), asked.verify("m/s@any")) == (reported, reported)
    assert asked.accept() == f"{reported} --accept"


COMMITTED = Invocation(config="trim/a.yaml", committed=True, keep_set="trim/megtrim/keepset")
TRACED = Invocation(config="trim/a.yaml")
COMMIT = "commit the configuration and the keep set"
WAY_OUT = (
    "run `megtrim trim --config trim/a.yaml --accept` "
    "and commit `trim/megtrim/keepset`; the workflow megtrim refresh proposes the same"
)


@pytest.mark.parametrize("kind", [CheckKind.TRAP, CheckKind.TRACE])
def test_a_committed_keep_set_that_does_not_fit_is_accepted_and_committed(
    kind: ScenarioKind,
) -> None:
    """A trim alone would leave the file as it is, and the next run as red."""
    assert suggest_for_scenario(kind, COMMITTED).endswith(WAY_OUT)
    assert "--accept" not in suggest_for_scenario(kind, TRACED)


def test_what_else_a_committed_file_does_not_fit_ends_the_same_way() -> None:
    """An automatic toolchain may have found another compiler."""
    other_link = suggest_for_other_link(COMMITTED)

    assert suggest_for_keep_set(COMMITTED).endswith(WAY_OUT)
    assert suggest_for_probe(COMMITTED) == (
        f"if users may run it like this, add it to trim/a.yaml as a scenario, {WAY_OUT}"
    )
    assert WAY_OUT in other_link
    assert "pip install ziglang" in other_link
    assert other_link.endswith("name one as toolchain.kind, for all machines")


@pytest.mark.parametrize("invocation", [COMMITTED, TRACED])
@pytest.mark.parametrize("kind", get_args(ScenarioKind))
def test_nothing_leaves_a_person_without_a_step(kind: ScenarioKind, invocation: Invocation) -> None:
    said = suggest_for_scenario(kind, invocation)

    assert said
    assert "\n" not in said
    assert said.count("megtrim trim") == said.count("megtrim trim --config")


def test_a_waiver_that_lapsed_is_its_owners_to_renew() -> None:
    assert "renew" in suggest_for_budget(lapsed=True)
    assert "add a waiver" in suggest_for_budget(lapsed=False)


@pytest.mark.parametrize(
    ("options", "in_job", "expected"),
    [
        ({}, False, {}),
        (
            {
                "config": Path("/here/trim/a.yaml"),
                "out": Path("../out"),
                "engine": Path("/engine"),
                "baseline": Path("base/sizes.json"),
                "traces": (Path("/t"),),
                "quick": True,
            },
            False,
            {
                "config": "trim/a.yaml",
                "out": "../out",
                "engine": "/engine",
                "baseline": "base/sizes.json",
                "traces": ("/t",),
                "quick": True,
                "keep_set": "trim/megtrim/keepset",
            },
        ),
        (
            {"out": Path("../out"), "baseline": Path("../out/baseline/sizes.json")},
            True,
            {"baseline": REPORT.format("")},
        ),
        (
            {"config": Path("android/megtrim.yaml"), "baseline": Path("/x/sizes.json")},
            True,
            {
                "config": "android/megtrim.yaml",
                "baseline": REPORT.format(".android"),
                "keep_set": "android/megtrim/keepset",
            },
        ),
    ],
    ids=["usual", "person", "job", "job-android"],
)
def test_paths_are_those_from_where_the_reader_stands(
    options: dict[str, Any], in_job: bool, expected: dict[str, Any]
) -> None:
    """What is usual is left out, but for the configuration: it may be pasted next to another one.

    A person stands in the folder of the call. A job is read at the top of a checkout: the runner's
    own folders are nowhere else, and the baseline comes with the report.
    """
    made = render_invocation(
        Options(**options), here=Path("/here"), in_job=in_job, keep_set=Path("megtrim/keepset")
    )

    assert made == Invocation(**expected)


@pytest.mark.parametrize(
    ("commits", "limited", "start", "rest"),
    [
        (True, True, COMMIT, "git -C trim add -- a.yaml megtrim && git -C trim commit "),
        (False, False, "set a budget, in trim/a.yaml", "budgets: [{artifact: app, max: 103 KiB}]"),
        (
            False,
            True,
            "export it",
            "megtrim export --config trim/a.yaml --committed out/app-trimmed",
        ),
    ],
)
def test_what_comes_next(*, commits: bool, limited: bool, start: str, rest: str) -> None:
    """Each is done in the first hour's test, as it is printed."""
    line = suggest_next(COMMITTED, "app", 100_000, results="out", commits=commits, limited=limited)
    assert line.startswith(f"{start}: {rest}")


def test_a_commit_has_the_files_that_git_does_not_know_yet() -> None:
    """What stands next to the keep set is named once, by its folder."""
    line = suggest_next(
        COMMITTED,
        "app",
        100_000,
        results="out",
        commits=True,
        limited=True,
        files=("a.yaml", "megtrim/models/m.yaml", "models/m.mge", "models/m.data.npy"),
    )
    added = "-- a.yaml megtrim models/m.mge models/m.data.npy"
    assert line.startswith(f"{COMMIT}: git -C trim add {added} && git -C trim commit ")
    assert line.endswith(added)


ACCEPT_IT = f"if the change is intended, accept it: {COMMITTED.accept()}"
MEND_IT = "mend that, and trim again: megtrim trim --config trim/a.yaml"
SHRUNKEN = "if that is meant, accept it: megtrim trim --accept"


@pytest.mark.parametrize(
    ("kind", "status", "invocation", "hint", "said"),
    [
        (
            CheckKind.SIZE,
            CheckStatus.FAIL,
            TRACED,
            "make it smaller",
            "see what its bytes are for: megtrim size prices --config trim/a.yaml",
        ),
        (CheckKind.TRAP, CheckStatus.FAIL, COMMITTED, "", ACCEPT_IT),
        (CheckKind.HEADER, CheckStatus.FAIL, COMMITTED, "", ACCEPT_IT),
        (CheckKind.HEADER, CheckStatus.FAIL, TRACED, SHRUNKEN, ACCEPT_IT),
        (CheckKind.KEEP_SET, CheckStatus.FAIL, TRACED, WAY_OUT, ACCEPT_IT),
        (CheckKind.TRAP, CheckStatus.FAIL, TRACED, "", MEND_IT),
        (CheckKind.BUILD, CheckStatus.FAIL, TRACED, "", MEND_IT),
        (CheckKind.BUILD, CheckStatus.FAIL, COMMITTED, "", f"{MEND_IT} --committed"),
        (CheckKind.DEVICE, CheckStatus.INFRASTRUCTURE, TRACED, "", "try it again: megtrim verify"),
        (CheckKind.GROWTH, CheckStatus.INCONCLUSIVE, TRACED, "", ""),
        (CheckKind.COVERAGE, CheckStatus.UNVERIFIED, TRACED, "", ""),
    ],
)
def test_what_comes_after_a_failure(
    kind: CheckKind, status: CheckStatus, invocation: Invocation, hint: str, said: str
) -> None:
    worst = Check(
        id=f"{kind}:x",
        kind=kind,
        subject="x",
        status=status,
        text="",
        hint=hint,
        file="a.yaml",
        reproduce="megtrim verify",
    )
    assert suggest_after(worst, invocation) == said


def test_what_was_reached_is_kept_before_anything_else() -> None:
    """The next run would be without it."""
    line = suggest_next(
        COMMITTED, "app", 100_000, results="out", commits=True, limited=True, reached=True
    )
    assert line.endswith("write the lines printed above into trim/a.yaml")
