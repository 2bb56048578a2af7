from collections import Counter
from dataclasses import replace

from hypothesis import given, settings

from megtrim.checks.statuses import CheckStatus
from megtrim.report.annotations import MOST_OF_A_LEVEL, Annotation, Level, annotate
from megtrim.verdict.join import join
from megtrim.verdict.model import Verdict
from unit.report.golden import PENDING, on_device, pull_request
from unit.report.test_comment import verdicts
from unit.verdict.examples import HOSTILE, failing, passing, unverified


def many(*counts: tuple[CheckStatus, int]) -> Verdict:
    checks = tuple(
        on_device(status, f"{status} {number}", f"{status}/{number}")
        for status, count in counts
        for number in range(count)
    )
    return join(pull_request(checks=checks))


def annotate_at_top(verdict: Verdict) -> tuple[Annotation, ...]:
    return annotate(verdict, "megtrim.yaml")


def test_a_failure_is_an_error_where_it_is_configured() -> None:
    trap, *rest = annotate_at_top(failing())

    assert trap == Annotation(
        level=Level.ERROR,
        file="megtrim.yaml",
        line=22,
        title="megtrim fail: trap:resnet18-s/tuned@armv82-dotprod",
        message=(
            "trapped: 2 regions that it needs were not kept. "
            "What to do: if it is meant to run these, trace it again and accept that with "
            "megtrim trim --config megtrim.yaml --accept, then commit megtrim/keepset; "
            "the trace-refresh workflow proposes the same. "
            "To see it again: megtrim verify --config megtrim.yaml --committed "
            "--scenario resnet18-s/tuned@armv82-dotprod --again"
        ),
    )
    assert [each.level for each in rest] == [Level.ERROR] * 3
    assert annotate_at_top(passing()) == ()


def test_what_is_not_known_is_a_warning() -> None:
    assert [(each.level, each.title) for each in annotate_at_top(unverified())] == [
        (Level.WARNING, "megtrim infrastructure: device:mobilenet-s/default@any"),
        (Level.WARNING, "megtrim unverified: coverage:resnet18-s/tuned@armv82-dotprod"),
    ]
    (nothing,) = annotate_at_top(join(pull_request(scenarios=())))
    assert nothing.level is Level.WARNING
    assert nothing.title == "megtrim inconclusive: coverage:scenarios"
    assert (str(Level.ERROR), str(Level.WARNING)) == ("error", "warning")


def test_what_is_pending_for_one_reason_is_said_once() -> None:
    pending = tuple(
        on_device(CheckStatus.UNVERIFIED, text, f"m/{number}@c")
        for number, text in enumerate((PENDING, PENDING, "other", PENDING))
    )
    lost = tuple(on_device(CheckStatus.INFRASTRUCTURE, PENDING, f"l/{n}@c") for n in range(2))
    found = annotate_at_top(join(pull_request(checks=(*pending, *lost))))

    assert [each.title.split(":")[-1] for each in found] == ["l/0@c", "l/1@c", "m/0@c", "m/2@c"]


def test_eight_of_a_level_are_shown() -> None:
    """An eleventh would be dropped silently, so the eighth counts what is not shown."""
    eight = annotate_at_top(many((CheckStatus.FAIL, 8), (CheckStatus.UNVERIFIED, 8)))
    assert Counter(each.level for each in eight) == {Level.ERROR: 8, Level.WARNING: 8}
    assert eight[7].title == "megtrim fail: device:fail/7"

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
        id="x" * 9_999,
        file="/../a/b.yaml",
        hint="y\n" * 9_999,
        reproduce="z" * 9_999,
    )
    (said,) = annotate_at_top(join(pull_request(checks=(hostile,))))

    assert said.file == "a/b.yaml"
    assert "\n" not in said.message
    assert "\x1b" not in said.message
    left_out = "… 9,849 characters left out …"
    assert said.title == f"megtrim fail: {'x' * 37} {left_out} {'x' * 113}"
    # Half of a command does something else.
    assert said.message.endswith(
        "To see it again: (the command cannot be shown here: see verdict.json)"
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


def test_a_file_is_named_from_the_top_of_the_repository() -> None:
    files = ("megtrim.yaml", "models/a.yaml", "../megtrim/models/a.yaml")
    verdict = join(
        pull_request(
            checks=tuple(
                replace(on_device(CheckStatus.FAIL, name, str(number)), file=name)
                for number, name in enumerate(files)
            )
        )
    )

    assert [each.file for each in annotate(verdict, "linux/megtrim.yaml#desk")] == [
        *("linux/megtrim.yaml", "linux/models/a.yaml", "megtrim/models/a.yaml")
    ]
