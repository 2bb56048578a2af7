import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.size.counted import Work
from megtrim.core.size.rows import BudgetRow
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.timing.times import SamplesLeftOut
from megtrim.core.verdict.performance import Row
from megtrim.times.nights.issue_actions import IssueAction, IssueState
from megtrim.times.report.regression_issue import NightPlace, read_record, render_issue
from unit.core.report.test_comment_rendered import inert
from unit.core.verdict.examples import HOSTILE, RESNET, work_row
from unit.core.verdict.performance_examples import (
    NO_CHANGE,
    REGRESSED,
    TRIMMING,
    hostile_performance,
    row,
)
from unit.times.nights.test_regressions import BAD, GOOD, night, the_one

WHERE = NightPlace(
    repository_url="https://github.example/acme/phone",
    run_url="https://github.example/acme/phone/actions/runs/77",
    artifact="megtrim-performance",
    head=BAD,
)
LINKS = [f"{WHERE.repository_url}/compare/{GOOD}...{BAD}", WHERE.run_url]
FOUND = the_one(night(REGRESSED, run=77))
RECORD = FOUND.record


def action(*rows: Row, **changes: object) -> IssueAction:
    return replace(FOUND, record=replace(RECORD, **changes), rows=rows)  # type: ignore[arg-type]


def body(*rows: Row, **changes: object) -> str:
    return render_issue(action(*rows, **changes), WHERE).body


def test_a_regression_with_all_that_a_person_needs() -> None:
    text = render_issue(action(REGRESSED), WHERE)

    assert text.title == "resnet18-s/default on any got slower"
    other = render_issue(action(config="android/megtrim.yaml"), WHERE)
    assert other.title == f"android: {text.title}"
    assert f"`{RESNET}` got slower by more than the threshold." in text.body
    assert (
        "| `nchw44` | 5.1% slower | `main at 2981d114c5d7` | `board-1` "
        "| **1.051 (1.031 to 1.071)** "
        "| 4.900 (4.802 to 4.998) |"
    ) in text.body
    assert "after `aaaaaaaaaaaa`, up to `bbbbbbbbbbbb` " in text.body
    assert f"([compare](https://github.example/acme/phone/compare/{GOOD}...{BAD}))" in text.body
    assert (
        f"git worktree add ../megtrim-base {GOOD}\n"
        "git -C ../megtrim-base submodule update --init --recursive\n"
        "megtrim stage build --committed --config ../megtrim-base/megtrim.yaml"
        " --out ../megtrim-base-out\n"
        "megtrim perf run --experiment nchw44 --base ../megtrim-base-out\n"
    ) in text.body
    assert "- `left out: 3 samples, throttled`" in text.body
    assert f"[The night]({WHERE.run_url}) keeps its page" in text.body


def test_a_repair_says_so_first_and_trimming_has_a_line_for_each_variant() -> None:
    text = body(row(ratios=(NO_CHANGE,)), state=IssueState.FIXED)

    assert text.startswith("**Repaired**: as fast as before at `bbbbbbbbbbbb`")
    assert "| 1.001 (0.981 to 1.021) |" in text
    text = body(TRIMMING, base="", last_good="", first_bad="")

    assert "| `load_and_run reduced` | no difference | plain | `board-1` | 0.996 " in text
    assert "Suspected commits" not in text


def counted(
    now: Work | str, before: Work | None = None, *, scenario: str = RESNET
) -> tuple[BudgetRow, ...]:
    row = work_row(now, before, None, scenario=scenario)
    return replace(row, work=None), replace(row, variant="plain")


CONV = Work(key="a" * 64, functions={"conv": (40_000, 800), "pool": (8_000, 80)}, ran=100)
SLOWER = replace(CONV, functions={"conv": (44_800, 800), "pool": (8_000, 80)})
MANY = {f"f{number:02}": (number + 1, 0) for number in range(12)}


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (counted(SLOWER, CONV), "52,800 (+10.00%) since main, no limit; by the scenario's own"),
        (counted(SLOWER, CONV), "command line: `conv` +4,800."),
        (
            counted(replace(CONV, functions=MANY), replace(CONV, functions={})),
            ", `f03` +4, `f02` +3.",
        ),
        (counted(CONV, CONV), "No function that is counted does more or less at `bbbbbbbbbbbb`"),
        (counted(CONV, CONV), "memory, waiting, the frequency and the machine"),
        (counted(CONV), "Not compared with `aaaaaaaaaaaa`: no baseline."),
        (counted("no qemu"), "`aaaaaaaaaaaa`: not counted, because no qemu."),
        (counted(SLOWER, CONV, scenario="other@any"), "Not counted: `megtrim.yaml` has no `work`."),
        ((), "Not counted: `megtrim.yaml` has no `work`."),
    ],
)
def test_it_says_which_functions_do_more(work: tuple[BudgetRow, ...], said: str) -> None:
    where = replace(WHERE, base=GOOD, budgets=work)
    text = render_issue(action(REGRESSED), where).body

    assert said in text.partition("### Instructions\n\n")[2]
    assert "`f01`" not in text  # only the ten that changed most
    for silent in (action(REGRESSED, state=IssueState.FIXED), action(TRIMMING, base="")):
        assert "### Instructions" not in render_issue(silent, where).body
    assert "### Instructions" not in body(REGRESSED)


def test_no_function_acts() -> None:
    named = replace(CONV, functions={HOSTILE.replace("\ud800", ""): (9, 1)})
    for work in (counted(named, CONV), counted(HOSTILE)):
        text = render_issue(action(REGRESSED), replace(WHERE, base=GOOD, budgets=work)).body
        assert inert(text).links == LINKS


def test_it_stays_small() -> None:
    large = replace(REGRESSED, conditions=("x" * 9000,), reproduce="y" * 9000)
    text = body(*(replace(large, experiment=f"e{number}") for number in range(3000)))

    assert len(text) < 65_536
    assert "*2,980 more rows in the report.*" in text
    assert "cannot be shown here" in text


def test_a_record_is_read_again() -> None:
    for scenario in (RESNET, f"m/{HOSTILE[:60]} --> <!-- @any".replace("\ud800", "")):
        text = body(REGRESSED, scenario=scenario)
        found = read_record(text.replace("\n", "\r\n") + "\r\n")
        assert found == replace(RECORD, scenario=scenario)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!-- megtrim:regression:v1 -->",
        "<!-- megtrim:regression:v1 {} -->",
        "<!-- megtrim:regression:v1 [[[ -->",
        body(REGRESSED) + "\nmore",
        body(REGRESSED).replace(GOOD, "--upload-pack=x"),
        body(REGRESSED).replace('"version": 1', '"version": 2'),
        body(REGRESSED).replace('"run": 77', '"run": -1'),
    ],
)
def test_what_megtrim_did_not_write_is_no_record(text: str) -> None:
    assert read_record(text) is None


def test_hostile_names_do_nothing() -> None:
    found = hostile_performance()
    text = render_issue(action(*found.all_rows, scenario=HOSTILE.replace("\ud800", "")), WHERE)

    assert re.fullmatch(r"[A-Za-z0-9._/ -]{1,120}", text.title)
    assert inert(text.body).links == LINKS


@given(
    st.text(max_size=80),
    st.sampled_from(
        ["fixes #1", "@team/all", "closes a/x#2", "GH-7", "https://x.example", "1a2b3c4d"]
    ),
)
def test_no_text_of_a_device_acts(noise: str, bait: str) -> None:
    said = f"{bait} {noise} {bait}"
    hostile = row(
        said,
        status=PerformanceStatus.REGRESSED,
        device=said,
        ratios=tuple(replace(each, name=said) for each in REGRESSED.ratios),
        conditions=(said,),
        left_out=(SamplesLeftOut(reason=said, count=1),),
        reproduce=said,
    )

    shown = inert(body(hostile))
    assert shown.links == LINKS
    assert not any(bait in text for text in shown.prose)
