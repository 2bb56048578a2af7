from dataclasses import replace

import pytest

from megtrim.report import comment
from megtrim.report.comment import (
    ToolchainReport,
    describe_next_step,
    find_worst,
    render_joint,
    render_table,
)
from megtrim.size.growth.inputs import Cause
from megtrim.verdict.model import Verdict
from unit.size.report.test_tables import artifact, verdict
from unit.verdict.examples import failing, hostile, passing, unverified


def report(name: str, verdict: Verdict | None, page: str = "its page") -> ToolchainReport:
    return ToolchainReport(name=name, verdict=verdict, page=page)


def test_each_toolchain_has_a_row_and_its_page() -> None:
    text = render_joint(
        "app",
        "megtrim.yaml",
        [report("arm64", passing(), "fine"), report("x86-64", failing(), "bad")],
    )
    lines = text.splitlines()

    assert lines[0] == "## ❌ megtrim: fail for `app`: `x86-64`, the worst of 2 toolchains"
    rows = [line for line in lines if line.startswith("| `")]
    assert [row.split(" | ")[:2] for row in rows] == [
        ["| `arm64`", "✅ pass"],
        ["| `x86-64`", "❌ fail"],
    ]
    assert "❌ fail: `" in rows[1]
    assert text.index("bad") < text.index("fine")


def test_the_second_line_says_what_to_do_about_the_worst() -> None:
    text = render_joint("app", "megtrim.yaml", [report("a", passing()), report("b", failing())])

    assert text.splitlines()[2] == describe_next_step(failing())
    assert "What to do" not in render_joint("app", "megtrim.yaml", [report("a", passing())])
    assert "What to do" not in render_joint("app", "megtrim.yaml", [report("a", None)])


def test_growth_has_its_causes_in_the_table() -> None:
    causes = (Cause.SOURCE, Cause.TOOLCHAIN)
    rows = [
        render_joint(
            "app", "megtrim.yaml", [report("a", replace(verdict(artifact(n)), causes=causes))]
        )
        for n in (1024, 0)
    ]

    assert "| +1 KiB (source, toolchain) |" in rows[0]
    assert "| 0 B |" in rows[1]


@pytest.mark.parametrize(
    ("config", "verdicts", "title"),
    [
        ("megtrim.yaml", [passing(), passing()], "## ✅ megtrim: pass for `app`"),
        ("a/megtrim.yaml", [passing()], "## ✅ megtrim: pass for `app` (`a/megtrim.yaml`)"),
        ("megtrim.yaml", [failing()], "## ❌ megtrim: fail for `app`: `a`"),
        ("megtrim.yaml", [None], "## ❌ megtrim: no verdict for `app`: `a`"),
    ],
)
def test_the_title_names_the_worst(config: str, verdicts: list[Verdict | None], title: str) -> None:
    reports = [report(name, each) for name, each in zip("abc", verdicts, strict=False)]

    assert render_joint("app", config, reports).splitlines()[0] == title


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ((passing(), None), "b"),
        ((unverified(), None), "b"),
        ((None, failing()), "b"),
        ((passing(), unverified()), "b"),
        ((failing(), failing()), "a"),
    ],
)
def test_the_worst_decides(verdicts: tuple[Verdict | None, Verdict | None], worst: str) -> None:
    found = [report(name, verdict) for name, verdict in zip("ab", verdicts, strict=True)]

    assert find_worst(found).name == worst


def test_it_fits_a_comment() -> None:
    page = "x" * (comment.LIMIT // 2 - 2_000)
    found = [report(f"t{number}", passing(), page) for number in range(3)]
    text = render_joint("app", "megtrim.yaml", [*found, report("red", failing(), page)])

    assert len(text.encode()) <= comment.LIMIT
    assert text.index("<summary><code>red") < text.index("<summary><code>t0")
    assert "*Left out, because a comment is bounded: `t1`, `t2`." in text


def test_hostile_names_stay_text() -> None:
    text = render_joint("@a <b>", "megtrim.yaml", [report("arm64", hostile())])

    assert "@a <b>`" in text.splitlines()[0]
    assert "<script" not in text


def test_each_artifact_of_each_toolchain_has_a_row_that_says_whose_it_is() -> None:
    several = replace(passing(), artifacts=(artifact(None, name="a"), artifact(1_024, name="b")))
    found = {"arm64": several, "x86-64": failing(), "armv7": None}
    head, _, *rows = (line.split() for line in render_table(found).splitlines())

    assert head == [
        *("toolchain", "artifact", "bytes", "size", "%", "of", "plain", "growth", "verdict")
    ]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("arm64", "a", "pass"),
        ("arm64", "b", "pass"),
        ("x86-64", "load_and_run", "fail"),
        ("armv7", "-", "none"),
    ]
    assert [row[-2] for row in rows[:2]] == ["-", "KiB"]
    assert rows[3][1:-1] == ["-"] * 5
