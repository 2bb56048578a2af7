from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.core.build_spec import Origin
from megtrim.core.checks.check import Check
from megtrim.core.checks.invocation import Invocation
from megtrim.core.checks.statuses import CheckKind, CheckStatus, UnverifiedPolicy, decide
from megtrim.core.proof.results import ScenarioResult
from megtrim.core.report import comment
from megtrim.core.report.comment import Links, describe_finding, render
from megtrim.core.report.findings import MOST_OF_OUTCOME, describe_outcome, list_findings
from megtrim.core.size.growth.causes import Cause
from megtrim.core.trim.results import OperatorUse, Rebuild, RegionsUse, SizeFlagResult, TagUse
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import TO_LOOK_AT
from megtrim.libs.render.markup import MOST_ROWS
from unit.core.report.golden import (
    BASELINE,
    COMMENTS,
    FOLDER,
    LINKS,
    PROVEN,
    artifact,
    on_device,
    pull_request,
)
from unit.core.size.test_tables import KIB
from unit.core.size.test_tables import artifact as artifact_that_grew
from unit.core.verdict.examples import (
    HOSTILE,
    MOBILENET,
    REDUCED_BYTES,
    RESNET,
    TUNED,
    budget,
    crashed,
    facts,
    failing,
    growth,
    hostile,
    passing,
    scenario,
    tag,
    trapped,
    unverified,
)

SUBSETS = [
    statuses
    for count in range(1, len(CheckStatus) + 1)
    for statuses in combinations(CheckStatus, count)
]


def opening(verdict: Verdict) -> list[str]:
    return [line for line in render(verdict).split("\n| ")[0].splitlines() if line]


@pytest.mark.parametrize("name", COMMENTS)
def test_the_comments_are_those_that_were_looked_at(name: str) -> None:
    assert render(COMMENTS[name], links=LINKS) == (FOLDER / f"{name}.md").read_text("utf-8")


def test_every_kept_comment_is_of_a_case() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(COMMENTS)


def test_what_was_not_built_is_no_row() -> None:
    """A build that failed leaves plain alone; the heading and the checks tell the rest."""
    whole = artifact(5)
    plain = replace(whole, sizes=whole.sizes[:1])

    first, second, *_ = opening(join(pull_request(artifacts=(plain,), budgets=())))
    assert first == "## ✅ 3 of 3 scenarios verified, 149 regions kept"
    assert second.startswith("megtrim: pass for `camera-app` · against main at ")
    nothing = render(join(pull_request(artifacts=(), budgets=())))
    assert "| artifact |" not in nothing


def test_a_verdict_that_is_not_clear_is_explained() -> None:
    first, *lines = opening(join(facts(scenarios=())))

    assert first.startswith("## ❔ `scenarios`: no scenario ran")
    meaning = "Nothing failed, but the runs do not prove that it works. "
    assert f"{meaning}This does not block the merge." in lines


_WORST = {
    CheckStatus.FAIL: "❌ fail: it ended as fail",
    CheckStatus.INFRASTRUCTURE: "⚠️ infrastructure: it ended as infrastructure",
    CheckStatus.UNVERIFIED: "⚠️ unverified: it ended as unverified",
    CheckStatus.INCONCLUSIVE: "❔ inconclusive: it ended as inconclusive",
    CheckStatus.PASS: "✅ load_and_run 2.5 MiB",
    CheckStatus.SKIPPED: "❔ no check passed",
}


def ended(statuses: Iterable[CheckStatus]) -> Verdict:
    checks = tuple(
        Check(
            id=f"size:{status}",
            kind=CheckKind.SIZE,
            subject=str(status),
            status=status,
            text=f"it ended as {status}",
            file="megtrim.yaml",
        )
        for status in statuses
    )
    decided = decide(check.status for check in checks)
    return replace(passing(), checks=checks, verdict=decided, scenarios=(), budgets=())


@pytest.mark.parametrize("statuses", SUBSETS, ids=" ".join)
def test_the_first_line_is_the_worst_thing(statuses: tuple[CheckStatus, ...]) -> None:
    worst = next(status for status in _WORST if status in statuses)
    others = len({*statuses} & {*TO_LOOK_AT}) - 1
    more = f", and {others} more" if others > 0 else ""

    for checks in (statuses, statuses[::-1]):
        [first, *_] = opening(ended(checks))
        assert first.replace("`", "") == f"## {_WORST[worst]}{more}"
    passed = ended([CheckStatus.PASS])
    for count, said in ((1, "1 warning"), (2, "2 warnings")):
        [first, *_] = opening(replace(passed, warnings=("careful",) * count))
        assert first == f"## ✅ `load_and_run` 2.5 MiB, {said}"
    long = tuple(replace(check, text="word " * 90) for check in ended(statuses).checks)
    [first, *_] = opening(replace(ended(statuses), checks=long))
    assert len(first.replace("`", "")) <= len("## ") + MOST_OF_OUTCOME


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("first-pull-request", "✅ `load_and_run` 2.5 MiB, 236 KiB left of 2.8 MiB"),
        ("within-budget", "✅ `load_and_run` +1 KiB (+0.04%), 16 KiB allowed"),
        ("growth-over-budget", "❌ `load_and_run` +59 KiB (+2.3%), 16 KiB allowed"),
        ("trap", f"❌ `{TUNED}` traps: it needs 2 regions that were trimmed"),
        ("crash-on-a-hot-phone", f"❌ `{TUNED}`: it crashed (exit status 139)"),
        ("unverified-device", "⚠️ 1 of 3 scenarios not verified: device verification pending"),
        ("times", "❌ `resnet18-s/default@any fuse`: wrong outputs, and 4 more"),
    ],
)
def test_the_heading_is_the_whole_verdict(name: str, heading: str) -> None:
    """What a notification shows is enough to decide."""
    assert render(COMMENTS[name]).splitlines()[0] == f"## {heading}"


def test_a_file_that_is_too_large_says_how_it_changed() -> None:
    row = budget(limit=REDUCED_BYTES - 20 * KIB, status=CheckStatus.FAIL)
    made = join(pull_request(60_416, budgets=(row,)))

    assert describe_outcome(made) == "load_and_run +59 KiB (+2.3%): 2.5 MiB, 20 KiB over 2.5 MiB"


def test_one_cause_is_one_section() -> None:
    many = tuple(replace(trapped(), id=f"m{number:02}/s@c") for number in range(25))
    made = join(pull_request(scenarios=(*many, scenario(RESNET))))
    again = on_device(CheckStatus.FAIL, "bench: it trapped", many[0].id)
    both = replace(made, checks=(*made.checks, again))
    text = render(both)

    assert len(list_findings(both)) == 1
    assert text.startswith("## ❌ 25 of 26 scenarios trap: they need 2 regions that were trimmed\n")
    assert text.count("megdnn_fallback_winograd<-1290123641, 0>") == 1
    assert text.count("What to do") == 1
    assert "They are `m00/s@c`, `m01/s@c`, `m02/s@c` and 22 more." in text


def test_budgets_with_one_advice_are_one_section() -> None:
    grew = growth(used=60_416, status=CheckStatus.FAIL)
    full = budget(measure="section .text", limit=1, status=CheckStatus.FAIL)
    made = join(pull_request(60_416, budgets=(grew, full)))
    owned = join(pull_request(60_416, budgets=(grew, replace(full, owner="runtime team"))))

    assert (len(list_findings(made)), len(list_findings(owned))) == (1, 2)
    assert "- `load_and_run/reduced section .text`: " in render(made)
    assert render(made).count("What to do") == 1


@pytest.mark.parametrize("growth_bytes", [None, 0, 1_024, -70_000])
def test_of_several_files_the_one_that_grew_most_is_named(growth_bytes: int | None) -> None:
    files = (artifact(growth_bytes, name="a"), artifact(growth_bytes, name="b"))
    shown = describe_outcome(join(pull_request(artifacts=files, budgets=())))

    change = {
        None: "2.5 MiB",
        0: "no change",
        1_024: "+1 KiB (+0.04%)",
        -70_000: "-68.4 KiB (-2.6%)",
    }
    assert shown == f"a {change[growth_bytes]} and 1 more file"


REGIONS = tuple(f"r<{number}>" for number in range(1_052))
CUT = "… 1 characters left out …"


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        (
            {"crash": "signal 5\n```\n<b>\n", "conditions": crashed().conditions},
            ("<summary>Crash</summary>\n\n````text\nsignal 5\n```\n<b>\n````\n\n</details>\n",),
        ),
        (
            {"missing_regions": REGIONS, "log_tail": " \n"},
            (
                "<summary>1,052 missing regions</summary>\n\n```text\nr<0>\n",
                "\nr<49>\nand 1,002 more\n```\n",
            ),
        ),
        (
            {"missing_regions": REGIONS[:1]},
            (f"`{TUNED}` needs this region, which was trimmed away:\n\n```text\nr<0>\n```\n",),
        ),
        ({"missing_regions": REGIONS[:50]}, ("\nr<49>\n```\n",)),
        (
            {"missing_regions": ("r" * 200, "s" * 201)},
            (f"\n{'r' * 200}\n{'s' * 50} {CUT} {'s' * 150}\n```\n",),
        ),
        ({"log_tail": "l" * 2_001}, (f"\n{'l' * 500}\n{CUT}\n{'l' * 1_500}\n```\n",)),
        # Half of a command does something else.
        (
            {"reproduce": "c" * 2_001},
            ("```text\n(the command cannot be shown here: see verdict.json)\n```",),
        ),
    ],
)
def test_what_a_trap_left_is_folded_and_cut(
    changes: dict[str, Any], shown: tuple[str, ...]
) -> None:
    text = render(join(facts(scenarios=(replace(trapped(), **changes),))))

    assert [each for each in shown if each not in text] == []
    assert ("<summary>Crash</summary>" in text) is ("crash" in changes)
    assert ("End of the log" in text) is (changes.get("log_tail") != " \n")


def test_a_check_without_hint_command_or_details_is_short() -> None:
    bare = on_device(CheckStatus.FAIL, "it failed")
    lost = replace(bare, id="trap:x", kind=CheckKind.TRAP, subject="x", detail="lost")
    text = render(join(pull_request(checks=(bare, lost))))

    assert text.startswith("## ❌ `x`: it failed, and 1 more\n")
    assert f"### ❌ fail: `device:{TUNED}`\n\nit failed.\n\n<details><summary>Budgets" in text
    details = "<details><summary>Details</summary>\n\n```text\nlost\n```\n\n</details>"
    assert f"\n\nit failed.\n\n{details}\n\n" in text


def test_devices_have_a_line_for_each_thing_that_is_said() -> None:
    checks = (
        on_device(CheckStatus.PASS, PROVEN, RESNET),
        on_device(CheckStatus.PASS, PROVEN, MOBILENET),
        on_device(CheckStatus.UNVERIFIED, "pending: asleep", TUNED),
        on_device(CheckStatus.SKIPPED, "no need", "x"),
        on_device(CheckStatus.INFRASTRUCTURE, "pixel-7 went away", "y"),
        on_device(CheckStatus.FAIL, "pixel-8: trapped", "z"),
    )
    text = render(join(pull_request(checks=checks)))

    assert (
        "### Devices\n\n"
        f"- ⚠️ unverified: pending: asleep (`{TUNED}`)\n"
        f"- ✅ pass: {PROVEN} (2 scenarios)\n"
        "- ◽ skipped: no need (`x`)\n\n"
    ) in text
    assert text.startswith("## ❌ `z`: pixel-8: trapped, and 2 more\n")
    assert text.index("### ⚠️ infrastructure: `device:y`") < text.index("### Devices")
    assert f"device:{TUNED}" not in text
    assert "### Devices" not in render(join(pull_request(checks=checks[4:])))


@pytest.mark.parametrize(("count", "more"), [(20, 0), (21, 1), (22, 2)])
def test_a_long_list_is_cut_and_says_so(count: int, more: int) -> None:
    warnings = tuple(f"warning {number}" for number in range(count))
    text = render(join(pull_request(warnings=warnings)))

    note = f"- {more} more in the HTML report\n" if more else ""
    assert f"\n- warning 19\n{note}\n" in text


def test_many_failures_leave_room_for_everything_else() -> None:
    many = tuple(
        replace(
            trapped(),
            id=f"m{number:03}/s@c",
            log_tail="x" * 100_000,
            missing_regions=(f"r<{number}>",),
        )
        for number in range(200)
    )
    text = render(join(facts(scenarios=many)))

    assert len(text.encode()) <= comment.LIMIT == 60_000
    assert text.startswith(
        "## ❌ `m000/s@c` traps: it needs 1 region that was trimmed, and 199 more\n"
    )
    assert text.count("\n### ❌ fail: `trap:m0") == 3
    assert text.count("| ❌ fail | `trap:m") == 100
    assert "| `m099/s@c` | ❌ fail |" in text
    assert "| `m100/s@c` | ❌ fail |" not in text
    assert text.count("*96 more in the HTML report.*") == 1
    assert text.count("*100 more in the HTML report.*") == 1
    assert text.count("<details>") == text.count("</details>")
    assert "Left out" not in text


def test_what_does_not_fit_is_left_out_whole_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = replace(failing(), origin=Origin(project="camera-app"))
    for limit, left_out in (
        (4_500, "engine, toolchain and devices."),
        (2_000, "check, budgets, sizes of all builds, scenarios, what was kept"),
    ):
        monkeypatch.setattr(comment, "LIMIT", limit)
        text = render(failed, links=LINKS)
        assert limit // 2 < len(text.encode()) <= limit
        assert text.startswith("## ❌ ")
        assert f"\n\n*Left out, because a comment is bounded: {left_out}" in text
        assert text.endswith(
            "The HTML report has all.*\n\nThe report is the artifact `megtrim-report`.\n"
        )
        assert text.count("<details>") == text.count("</details>")


def test_a_part_is_left_out_when_it_is_one_byte_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = replace(passing(), origin=Origin())
    text = render(passed)
    monkeypatch.setattr(comment, "LIMIT", len(text.encode()) + 503)
    assert render(passed) == text

    monkeypatch.setattr(comment, "LIMIT", len(text.encode()) + 502)
    cut = render(passed)
    assert cut.endswith(
        "\n\n*Left out, because a comment is bounded: engine, toolchain and devices. "
        "The HTML report has all.*\n"
    )


REPORT = "The report is the artifact `a`.\n"


@pytest.mark.parametrize(
    ("links", "first", "last"),
    [
        (Links(), "", "</details>\n"),
        (Links(run="https://h/r"), "[Report](https://h/r) · ", "</details>\n"),
        (Links(run="http://h:8080/r", artifact="a"), "[Report](http://h:8080/r) · ", REPORT),
        (Links(artifact="a"), "", REPORT),
        (Links(run="javascript://h/r"), "", "</details>\n"),
        (Links(run="https://h/r) @x"), "", "</details>\n"),
        (Links(run="https://h/r\n"), "", "</details>\n"),
    ],
)
def test_the_first_line_links_the_report(links: Links, first: str, last: str) -> None:
    text = render(replace(passing(), origin=Origin()), links=links)

    assert text.splitlines()[2].startswith(f"{first}megtrim: pass for ")
    assert text.endswith(last)


TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=[]), max_size=30),
    st.sampled_from(
        (HOSTILE, HOSTILE * 99, "\U0001f980" * 3_000, "`" + "@" * 3_000, "\n" * 3_000, "&<" * 900)
    ),
)
CHECKS = st.builds(
    Check,
    id=TEXTS,
    kind=st.sampled_from(CheckKind),
    subject=TEXTS,
    status=st.sampled_from(CheckStatus),
    text=TEXTS,
    detail=TEXTS,
    hint=TEXTS,
    time_s=st.floats(0, 1e9),
    file=TEXTS,
    line=st.integers(1, 1_000_000),
    reproduce=TEXTS,
)


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    """Return a verdict with many checks and hostile texts everywhere."""
    checks = draw(st.lists(CHECKS, min_size=1, max_size=8))
    copies = draw(st.sampled_from((1, 7, 60)))
    many = tuple(
        replace(check, id=f"{check.id} {copy} {number}")
        for copy in range(copies)
        for number, check in enumerate(checks)
    )
    text = draw(TEXTS)
    held: dict[str, object] = {}
    if draw(st.booleans()):
        scenarios: tuple[ScenarioResult, ...] = tuple(
            replace(trapped(), id=f"{text} {number}", text=text, missing_regions=(text,) * 60)
            for number in range(copies)
        )
        held["scenarios"] = scenarios
    return replace(
        hostile(),
        verdict=decide(check.status for check in many),
        checks=many,
        headline=text,
        baseline=draw(TEXTS),
        origin=Origin(project=text, config=text, megtrim=text),
        config=text,
        warnings=(text,) * copies,
        artifacts=tuple(artifact(draw(st.integers(-9, 9)), name=text) for _ in range(copies)),
        **held,  # type: ignore[arg-type]
    )


@settings(max_examples=60)
@given(verdicts())
def test_any_verdict_fits(verdict: Verdict) -> None:
    text = render(verdict, links=LINKS)

    # A mebibyte of summary and 65,536 characters of comment, with room for the comment's marker.
    assert len(text.encode()) <= 60_000
    assert text.startswith(("## ✅ ", "## ❌ ", "## ⚠️ ", "## ❔ "))
    assert text.endswith("The report is the artifact `megtrim-report`.\n")
    assert text.count("\n</details>\n") >= text.count("\n<details><summary>")


def test_a_configuration_that_is_not_alone_is_named() -> None:
    """Each of a pull request's comments is of one; the default one needs no name."""
    verdict = passing()
    other = replace(verdict.invocation, config="android/megtrim.yaml")
    first, second = (
        comment.render(each).splitlines()[2].partition(" · ")[0]
        for each in (verdict, replace(verdict, invocation=other))
    )

    assert first == "megtrim: pass for `camera-app`"
    assert second == f"{first} (`android/megtrim.yaml`)"


def rows(fold: str) -> list[str]:
    return [line for line in fold.splitlines() if line.startswith("| ")][2:]


@pytest.mark.parametrize(
    ("held", "by_tag", "title", "expected"),
    [
        (
            9,
            (tag("small", 1, 4), tag("large", 2, 5)),
            ": 3 of 9 regions",
            ["| `large` | 2 | 5 |", "| `small` | 1 | 4 |"],
        ),
        (
            0,
            (tag("small", 1, 0), tag("large", 2, 0)),
            ": 3 regions",
            ["| `large` | 2 |", "| `small` | 1 |"],
        ),
        (900, (), "", []),
    ],
)
def test_kept_regions_come_by_tag_the_largest_first(
    held: int, by_tag: tuple[TagUse, ...], title: str, expected: list[str]
) -> None:
    kept = sum(use.kept for use in by_tag)
    regions = RegionsUse(held=held, kept=kept, by_tag=by_tag)

    fold = comment.render_keep_set(replace(passing(), regions=regions))

    assert rows(fold) == expected
    assert f"<summary>What was kept{title}</summary>" in fold
    assert ("No region was chosen by a trace." in fold) is not bool(by_tag)


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "all"), (1, "`op0`"), (MOST_ROWS + 2, f"`op{MOST_ROWS - 1}` and 2 more")],
)
def test_operators_are_listed_up_to_a_limit(count: int, shown: str) -> None:
    uses = tuple(OperatorUse(name=f"op{number}", models=("m",)) for number in range(count))
    verdict: Verdict = replace(passing(), operators=replace(passing().operators, kept=uses))

    lines = comment.render_keep_set(verdict).splitlines()

    [line] = (line for line in lines if line.startswith("**Operators:**"))
    assert line.endswith(shown)


def test_the_identity_names_what_the_program_was_built_with() -> None:
    """What only some builds have; the others are in comments that were looked at."""
    flags = (
        SizeFlagResult(name="small_code", value="Oz", why_not=""),
        SizeFlagResult(name="relocations", value="android", why_not="too old"),
    )
    good = facts()
    verdict = replace(
        passing(),
        engine=replace(good.engine, commit="", dirty=("a.cpp", "b.cpp")),
        toolchain=replace(good.toolchain, image="team/ndk"),
        trim=replace(good.trim, minimum_size=False, switched_off=("rtti",), means=flags),
        rebuild=Rebuild(compiled=4, units=40),
    )
    full = dict(row.strip("| ").split(" | ") for row in rows(comment.identity(verdict)))

    assert full["engine"].endswith(f"`{good.engine.digest}`, 2 changed files")
    assert full["image"] == "`team/ndk`"
    assert (full["minimum size"], full["switched off"]) == ("no", "`rtti`")
    assert (full["means"], full["not used"]) == ("`small_code Oz`", "relocations: too old")
    assert "4" in full["compiled"]


def overgrown(*, measure: str = "", causes: tuple[Cause, ...] = (Cause.SOURCE,)) -> Verdict:
    row = growth(used=59 * KIB, status=CheckStatus.FAIL, measure=measure, owner="runtime team")
    check = Check(
        id=f"growth:{row.subject}",
        kind=CheckKind.GROWTH,
        subject=row.subject,
        status=CheckStatus.FAIL,
        text="+59 KiB, 16 KiB allowed",
        hint="make it smaller, or raise the budget; runtime team owns this budget",
        file="megtrim.yaml",
        line=16,
    )
    made = join(
        facts(
            artifacts=(artifact_that_grew(59 * KIB),),
            budgets=(row,),
            baseline=BASELINE,
            causes=causes,
        )
    )
    return replace(made, checks=(check,))


PENDING = replace(unverified().checks[0], status=CheckStatus.UNVERIFIED, hint="wait for it")
GREEN = replace(unverified(), checks=(PENDING,), unverified=UnverifiedPolicy.WARN)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (
            replace(overgrown(), invocation=Invocation(config="quick/megtrim.yaml")),
            "make it smaller, or raise the budget; runtime team owns this budget. Its limit: ",
        ),
        (GREEN, "wait for it."),
    ],
)
def test_what_to_do_is_said_once(verdict: Verdict, said: str) -> None:
    [finding] = list_findings(verdict)

    assert f"**What to do:** {said}" in describe_finding(finding, verdict)
    assert render(verdict).count("**What to do:**") == 1


@pytest.mark.parametrize(
    ("policy", "blocks"), [(UnverifiedPolicy.WARN, False), (UnverifiedPolicy.FAIL, True)]
)
def test_whether_it_blocks_the_merge_is_said(policy: UnverifiedPolicy, blocks: bool) -> None:
    text = render(replace(GREEN, unverified=policy))

    assert ("This does not block the merge." in text) is not blocks


def test_a_command_in_an_advice_is_code() -> None:
    text = render(COMMENTS["trap"])

    assert "run `megtrim trim --config megtrim.yaml --accept` and commit" in text
