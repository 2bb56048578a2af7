from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings

from megtrim.core.chain.graph import VERDICT, Stage, Task
from megtrim.core.checks.invocation import suggest_for_scenario
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.report import stage as report
from megtrim.core.report import table
from megtrim.core.report.annotations import MOST_OF_A_LEVEL, Annotation, Level, annotate
from megtrim.core.trim.results import RegionsUse
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import ReportResult, Verdict, to_json
from megtrim.libs.util.errors import InputError
from unit.core.report.golden import PENDING, on_device, pull_request
from unit.core.report.test_comment import verdicts
from unit.core.trim.stages.built import finish
from unit.core.trim.stages.support import open_session
from unit.core.verdict.examples import (
    HOSTILE,
    TUNED,
    by_committed,
    compared,
    facts,
    failing,
    hostile,
    passing,
    trapped,
    unverified,
)


def many(*counts: tuple[CheckStatus, int]) -> Verdict:
    checks = tuple(
        on_device(status, f"{status} {number}", f"{status}/{number}")
        for status, count in counts
        for number in range(count)
    )
    return join(pull_request(checks=checks))


def annotate_at_top(verdict: Verdict) -> tuple[Annotation, ...]:
    return annotate(verdict, "megtrim.yaml")


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("megtrim.yaml", "linux/megtrim.yaml"),
        ("models/a.yaml", "linux/models/a.yaml"),
        ("../megtrim/models/a.yaml", "megtrim/models/a.yaml"),
    ],
)
def test_a_file_is_named_from_the_top_of_the_repository(file: str, named: str) -> None:
    check = replace(on_device(CheckStatus.FAIL, "x"), file=file)
    [found] = annotate(join(pull_request(checks=(check,))), "linux/megtrim.yaml#desk")

    assert found.file == named


def test_a_failure_is_an_error_where_it_is_configured() -> None:
    trap, *rest = annotate_at_top(failing())

    assert trap == Annotation(
        level=Level.ERROR,
        file="megtrim.yaml",
        line=22,
        title=(
            "megtrim fail: resnet18-s/tuned@armv82-dotprod traps: "
            "it needs 2 regions that were trimmed"
        ),
        message=(
            "trapped: 2 regions that it needs were not kept. "
            "What to do: if that is intended, run "
            "`megtrim trim --config megtrim.yaml --accept` and commit `megtrim/keepset`; "
            "the workflow megtrim refresh proposes the same. "
            "To reproduce: megtrim verify --config megtrim.yaml --committed "
            "--scenario resnet18-s/tuned@armv82-dotprod --again"
        ),
    )
    assert [each.level for each in rest] == [Level.ERROR] * 3
    assert annotate_at_top(passing()) == ()


def test_what_is_not_known_is_a_warning() -> None:
    machine = "mobilenet-s/default@any: qemu-aarch64 did not start: no space left on device"
    proof = "resnet18-s/tuned@armv82-dotprod: unverified, last proof 3 days old"
    assert [(each.level, each.title) for each in annotate_at_top(unverified())] == [
        (Level.WARNING, f"megtrim infrastructure: {machine}"),
        (Level.WARNING, f"megtrim unverified: {proof}"),
    ]
    (nothing,) = annotate_at_top(join(pull_request(scenarios=())))
    assert nothing.level is Level.WARNING
    assert nothing.title.startswith("megtrim inconclusive: scenarios: no scenario ran on")
    assert (str(Level.ERROR), str(Level.WARNING)) == ("error", "warning")


def test_what_is_pending_for_one_reason_is_said_once() -> None:
    pending = tuple(
        on_device(CheckStatus.UNVERIFIED, text, f"m/{number}@c")
        for number, text in enumerate((PENDING, PENDING, "other", PENDING))
    )
    lost = tuple(on_device(CheckStatus.INFRASTRUCTURE, PENDING, f"l/{n}@c") for n in range(2))
    found = annotate_at_top(join(pull_request(checks=(*pending, *lost))))

    named = [each.title.split(": ")[1] for each in found]
    assert named == ["l/0@c", "l/1@c", "m/0@c", "m/2@c"]


def test_eight_of_a_level_are_shown() -> None:
    """An eleventh would be dropped silently, so the eighth counts what is not shown."""
    eight = annotate_at_top(many((CheckStatus.FAIL, 8), (CheckStatus.UNVERIFIED, 8)))
    assert Counter(each.level for each in eight) == {Level.ERROR: 8, Level.WARNING: 8}
    assert eight[7].title == "megtrim fail: fail/7: fail 7"

    more = annotate_at_top(many((CheckStatus.FAIL, 1_011), (CheckStatus.INFRASTRUCTURE, 11)))
    assert Counter(each.level for each in more) == {Level.ERROR: 8, Level.WARNING: 8}
    assert more[7] == Annotation(
        level=Level.ERROR,
        file="megtrim.yaml",
        line=1,
        title="megtrim: 1,004 more",
        message="1,004 more errors are in the report of this run",
    )
    assert more[15].message == "4 more warnings are in the report of this run"


def test_texts_are_one_line_and_bounded() -> None:
    hostile = replace(
        on_device(CheckStatus.FAIL, HOSTILE * 99 + "\nlast"),
        subject="x" * 9_999,
        file="/../a/b.yaml",
        hint="y\n" * 9_999,
        reproduce="z" * 9_999,
    )
    (said,) = annotate_at_top(join(pull_request(checks=(hostile,))))

    assert said.file == "a/b.yaml"
    assert "\n" not in said.message
    assert "\x1b" not in said.message
    assert said.title.startswith("megtrim fail: xxx")
    assert len(said.title) < 200
    # Half of a command does something else.
    assert said.message.endswith(
        "To reproduce: (the command cannot be shown here: see verdict.json)"
    )
    (silent,) = annotate_at_top(join(pull_request(checks=(on_device(CheckStatus.FAIL, " \n"),))))
    assert silent.message == "device fail"


@settings(max_examples=60)
@given(verdicts())
def test_any_verdict_fits(verdict: Verdict) -> None:
    found = annotate_at_top(verdict)
    levels = Counter(each.level for each in found)

    assert len(found) <= 50
    assert max(levels.values(), default=0) <= MOST_OF_A_LEVEL == 8
    for each in found:
        assert len(each.title) <= 255
        assert len(each.message) <= 1_500
        assert each.line >= 1
        assert not each.file.startswith(("/", "../"))
        assert each.file
        assert "".join(each.title.splitlines()) == each.title
        assert "".join(each.message.splitlines()) == each.message


def test_a_pass_in_full() -> None:
    assert table.render(passing()) == (
        "load_and_run\n"
        "  variant       bytes      size  % of plain  regions kept  verdict\n"
        "  -------  ----------  --------  ----------  ------------  -------\n"
        "  plain    39,300,016  37.5 MiB      100.0%             -\n"
        "  profile  41,204,312  39.3 MiB      104.8%    900 of 900\n"
        "  reduced   2,641,920   2.5 MiB        6.7%    149 of 900  pass\n"
        "\n"
        "budgets\n"
        "  budget        result  limits     used    limit     left  left in %\n"
        "  ------------  ------  ------  -------  -------  -------  ---------\n"
        "  load_and_run  pass    size    2.5 MiB  2.8 MiB  236 KiB       8.4%\n"
        "  load_and_run  pass    growth   +1 KiB   16 KiB   15 KiB      93.8%\n"
        "\n"
        "verdict: pass. load_and_run: 37.5 MiB → 2.5 MiB (6.7% of plain), "
        "3 of 3 scenarios verified, 149 of 900 regions kept\n"
    )


def test_growth_has_a_column_where_there_is_a_baseline() -> None:
    assert table.render(compared()).startswith(
        "load_and_run\n"
        "  variant       bytes      size  % of plain  growth  regions kept  verdict\n"
        "  -------  ----------  --------  ----------  ------  ------------  -------\n"
        "  plain    39,300,016  37.5 MiB      100.0%     0 B             -\n"
        "  profile  41,204,312  39.3 MiB      104.8%       -    900 of 900\n"
        "  reduced   2,641,920   2.5 MiB        6.7%  -2 KiB    149 of 900  pass\n"
        "\n"
        "baseline: main at 2981d11\n"
    )


def test_a_failure_lists_what_to_look_at_and_warnings() -> None:
    verdict = failing()
    lines = table.render(verdict).splitlines()

    assert lines[5].endswith("149 of 900  fail")
    trap = "trap:resnet18-s/tuned@armv82-dotprod: trapped: 2 regions that it needs were not kept"
    parity = "parity:mobilenet-s/default@any: 1 of 1 outputs differs: run0-var178 by up to 0.0125"
    verify = "    to reproduce: megtrim verify --config megtrim.yaml --committed --scenario"
    assert lines[13] == f"verdict: fail. {TUNED} traps, and 2 more"
    assert lines[14].startswith("  4 checks failed, load_and_run: 37.5 MiB")
    assert lines[16:26] == [
        f"  fail: {trap}",
        f"    what to do: {suggest_for_scenario(CheckKind.TRAP, verdict.invocation)}",
        f"{verify} resnet18-s/tuned@armv82-dotprod --again",
        f"  fail: {parity}",
        f"    what to do: {suggest_for_scenario(CheckKind.PARITY, verdict.invocation)}",
        f"{verify} mobilenet-s/default@any --again",
        "  fail: size:load_and_run/reduced: 2.9 MiB of 2.8 MiB, 112 KiB too many",
        "    what to do: make it smaller, raise the budget, or add a waiver with a reason",
        "    to reproduce: megtrim size --config megtrim.yaml --committed",
        "  fail: growth:load_and_run/reduced: +348 KiB since main at 2981d11, 16 KiB allowed",
    ]
    assert lines[27:] == [
        "  warning: the engine's checkout has changes that are not committed: 2 files"
    ]


def test_many_failures_of_one_cause_are_three_lines_and_a_number() -> None:
    many = tuple(replace(trapped(), id=f"m{number:02}/s@c") for number in range(25))
    text = table.render(join(pull_request(scenarios=many)))

    assert text.count("  fail: trap:m") == 3
    assert "\n  fail: 22 more trap for the same cause\n" in text


@pytest.mark.parametrize(
    ("verdict", "cell"),
    [
        (by_committed(), "         149"),
        (join(facts(regions=RegionsUse(held=900, kept=0, by_tag=()))), "  900 of 900"),
        (join(facts(regions=RegionsUse(held=0, kept=0, by_tag=()))), "             -"),
    ],
    ids=["by the keep set", "without a trace all", "not known"],
)
def test_regions_are_those_that_a_variant_has(verdict: Verdict, cell: str) -> None:
    (line,) = (each for each in table.render(verdict).splitlines() if "  reduced  " in each)

    assert line.partition("6.7%")[2].strip().split("  ")[0] == cell.strip()
    assert line.endswith("  pass")


def test_several_artifacts_and_hostile_names() -> None:
    two = tuple(replace(artifact, name=name) for artifact in facts().artifacts for name in "ab")

    assert table.render(join(facts(artifacts=two))).count("  plain    39,300,016") == 2
    assert "\x1b" not in table.render(hostile())
    table.render(hostile()).encode()


TASK = Task(stage=Stage.REPORT, name="report", needs=(VERDICT,))


def test_every_form_is_of_the_same_verdict(tmp_path: Path) -> None:
    session, _ = open_session(tmp_path)
    damaged = finish(session, VERDICT, {"verdict.json": "{}"})
    with pytest.raises(InputError, match=str(damaged.file("verdict.json"))):
        report.work(TASK, session, tmp_path)
    folder = finish(session, VERDICT, {"verdict.json": to_json(failing())})
    left = tmp_path / "left"
    left.mkdir()

    assert report.work(TASK, session, left) == ReportResult()
    forms = ["index.html", "junit.xml", "report.md"]
    assert sorted(path.name for path in left.iterdir()) == forms
    assert int(ET.parse(left / "junit.xml").getroot().attrib["failures"]) > 0
    for name in ("index.html", "report.md"):
        assert "run0-var178 by up to 0.0125" in (left / name).read_text(encoding="utf-8")
    assert report.inputs(TASK, session) == {"verdict": folder.files["verdict.json"]}
