import re
from dataclasses import replace
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.report import comment, toolchains
from megtrim.core.report.findings import list_findings
from megtrim.core.size.growth.causes import Cause
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict
from megtrim.libs.render.markup import block, code, prose
from unit.core.report.golden import COMMENTS, LINKS
from unit.core.report.test_comment import verdicts
from unit.core.size.test_tables import artifact, verdict
from unit.core.verdict.examples import facts, failing, growth, hostile, passing, trapped, unverified

OURS = {
    "h2",
    "h3",
    "p",
    "br",
    "strong",
    "em",
    "code",
    "pre",
    "ul",
    "li",
    "details",
    "summary",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "a",
}
ALIVE = re.compile(r"[@#]\w|://|\bwww\.|\bmailto:|\bgh-[0-9]", re.IGNORECASE)
"""What GitHub makes a mention or a link of, in a text that is not code."""


class Shown(HTMLParser):
    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str | None] = []
        self.prose: list[str] = []
        self.code: list[str] = []
        self._open: list[str] = []
        # Raw HTML is let through, so that any of it is seen here.
        self.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "code":
            self.code.append("")
        self._open.append(tag)
        if tag == "a":
            self.links.append(dict(attrs).get("href"))
        else:
            assert {name for name, _ in attrs} <= {"align", "lang"}

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "code" in self._open:
            self.code[-1] += data
        else:
            self.prose.append(data)


def inert(markdown: str) -> Shown:
    shown = Shown(markdown)
    assert set(shown.tags) <= OURS
    assert [text for text in shown.prose if ALIVE.search(text)] == []
    return shown


@pytest.mark.parametrize("name", COMMENTS)
def test_what_was_looked_at_renders_as_it_was_meant(name: str) -> None:
    shown = inert(comment.render(COMMENTS[name], links=LINKS))

    assert shown.links == [LINKS.run]
    assert shown.tags.count("details") == shown.tags.count("summary") >= 3
    assert shown.tags[0] == "h2"


def test_hostile_names_are_shown_as_they_are() -> None:
    shown = inert(comment.render(COMMENTS["hostile-names"], links=LINKS))

    name = "@admin see #1 <script>alert(1)</script> | `x` ]]> \ufffdred \ufffd \ufffd"
    # The full stop that ends the sentence would make a list of a headline that is a number.
    numbered = replace(COMMENTS["within-budget"], headline="7")
    numbered = replace(numbered, artifacts=(), budgets=())
    assert "7." in inert(comment.render(numbered, links=LINKS)).prose
    joint = toolchains.render_joint("@a <b>", "megtrim.yaml", [report("arm64", hostile())])
    assert "@a <b>`" in joint.splitlines()[2]
    inert(joint)
    assert name in shown.code
    assert name in "".join(shown.prose)


FRAGMENTS = st.lists(
    st.one_of(
        st.text(max_size=3),
        st.sampled_from(
            (
                "@admin",
                "#1",
                "GH-1",
                "o/r#1",
                "https://e.org/x",
                "www.e.org",
                "ftp://e.org",
                "a@b.org",
                "mailto:a@b.org",
                "xmpp:a@b.org",
                "<b>",
                "</details>",
                "</summary>",
                "<!--",
                "-->",
                "<![CDATA[",
                "<?php",
                "&lt;",
                "&#64;",
                "\\",
                "`",
                "```",
                "~~~",
                "*",
                "**",
                "_",
                "~~",
                "|",
                "\n",
                "\n\n",
                " ",
                "\t",
                "# ",
                "- ",
                "1. ",
                "> ",
                "![i](u)",
                "[l](u)",
                "[l]: u",
                "[^1]",
                "$$",
                "\x1b[31m",
                "\0",
                "\u202e",
                "---",
                "==",
                "    ",
                ":tada:",
                "<https://e.org>",
                "<img src=x onerror=y>",
                "<pre>",
            )
        ),
    ),
    max_size=12,
).map("".join)


@settings(max_examples=300)
@given(FRAGMENTS)
def test_any_text_is_inert_wherever_it_stands(text: str) -> None:
    head = f"## {code(text)}\n\n**{code(text)} x**, {prose(text)}\n\n{prose(text)}\n\n"
    table = f"| a | b |\n| --- | --- |\n| {code(text)} {code(text)} | {prose(text)} |\n\n"
    rest = (
        f"- {prose(text)} ({code(text)})\n\n<details><summary>x</summary>\n\n"
        f"{block(text)}\n\n</details>\n\nlast\n"
    )
    shown = inert(head + table + rest)

    assert shown.links == []
    assert [tag for tag in shown.tags if tag not in ("p", "code", "strong")] == [
        "h2",
        "table",
        "thead",
        "tr",
        "th",
        "th",
        "tbody",
        "tr",
        "td",
        "td",
        "ul",
        "li",
        "details",
        "summary",
        "pre",
    ]
    assert shown.prose[-2:] == ["last", "\n"]


@settings(max_examples=40)
@given(verdicts())
def test_any_comment_is_inert(verdict: Verdict) -> None:
    shown = inert(comment.render(verdict, links=LINKS))

    assert shown.links == [LINKS.run]


def report(
    name: str, verdict: Verdict | None, page: str = "its page"
) -> toolchains.ToolchainReport:
    return toolchains.ToolchainReport(name=name, verdict=verdict, page=page)


def test_each_toolchain_has_a_row_and_its_page() -> None:
    text = toolchains.render_joint(
        "app",
        "megtrim.yaml",
        [report("arm64", passing(), "fine"), report("x86-64", failing(), "bad")],
    )
    lines = text.splitlines()

    assert lines[0] == "## ❌ 1 of 2 toolchains fails: `x86-64`: 1 of 3 scenarios traps"
    rows = [line for line in lines if line.startswith("| `")]
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| `arm64`", "✅ pass", ""],
        ["| `x86-64`", "❌ fail", "1 of 3 scenarios traps"],
    ]
    assert text.index("bad") < text.index("fine")


def test_what_to_do_about_the_worst_follows_the_table() -> None:
    text = toolchains.render_joint(
        "app", "megtrim.yaml", [report("a", passing()), report("b", failing())]
    )

    [worst, *_] = list_findings(failing())
    assert f"\n\n`b`: {comment.describe_finding(worst, failing())}\n\n" in text
    for alone in (passing(), None):
        joint = toolchains.render_joint("app", "megtrim.yaml", [report("a", alone)])
        assert "What to do" not in joint


def test_growth_has_its_causes_in_the_table() -> None:
    causes = (Cause.SOURCE, Cause.TOOLCHAIN)
    rows = [
        toolchains.render_joint(
            "app", "megtrim.yaml", [report("a", replace(verdict(artifact(n)), causes=causes))]
        )
        for n in (1024, 0)
    ]

    assert "| +1 KiB (+0.04%): source, toolchain |" in rows[0]
    assert "| no change |" in rows[1]


TRAPPED_TWICE = join(
    facts(
        scenarios=(
            replace(trapped(), id="a/b@any", missing_regions=("r<1>",)),
            replace(trapped(), id="c/d@any", missing_regions=("r<2>",)),
        )
    )
)


def test_of_two_that_trap_the_one_with_more_is_worse() -> None:
    found = [report("a", failing()), report("b", TRAPPED_TWICE)]

    assert toolchains.find_worst(found).name == "b"
    assert "2 of 2 toolchains fail: `b`" in toolchains.render_joint("app", "megtrim.yaml", found)


@pytest.mark.parametrize(
    ("config", "verdicts", "title"),
    [
        (
            "megtrim.yaml",
            [verdict(artifact(9)), verdict(artifact(1024))],
            "## ✅ 2 of 2 toolchains pass: `b`: +1 KiB (+0.04%)",
        ),
        ("a/megtrim.yaml", [passing()], "## ✅ 1 of 1 toolchain passes"),
        ("megtrim.yaml", [failing()], "## ❌ 1 of 1 toolchain fails: `a`: 1 of 3 scenarios traps"),
        ("megtrim.yaml", [None], "## ❌ 1 of 1 toolchain has no verdict: `a`"),
    ],
)
def test_the_title_names_the_worst(config: str, verdicts: list[Verdict | None], title: str) -> None:
    reports = [report(name, each) for name, each in zip("abc", verdicts, strict=False)]
    lines = toolchains.render_joint("app", config, reports).splitlines()

    assert lines[0] == title
    assert ("(`a/megtrim.yaml`)" in lines[2]) is (config != "megtrim.yaml")


GREW = join(facts(budgets=(growth(used=356_352, status=CheckStatus.FAIL),)))


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ((passing(), None), "b"),
        ((unverified(), None), "b"),
        ((None, failing()), "b"),
        ((passing(), unverified()), "b"),
        ((failing(), failing()), "a"),
        # One that traps is worse than one that grew.
        ((GREW, failing()), "b"),
        ((failing(), GREW), "a"),
    ],
)
def test_the_worst_decides(verdicts: tuple[Verdict | None, Verdict | None], worst: str) -> None:
    found = [report(name, verdict) for name, verdict in zip("ab", verdicts, strict=True)]

    assert toolchains.find_worst(found).name == worst


def test_it_fits_a_comment() -> None:
    page = "x" * (comment.LIMIT // 2 - 2_000)
    found = [report(f"t{number}", passing(), page) for number in range(3)]
    text = toolchains.render_joint("app", "megtrim.yaml", [*found, report("red", failing(), page)])

    assert len(text.encode()) <= comment.LIMIT
    assert text.index("<summary><code>red") < text.index("<summary><code>t0")
    assert "*Left out, because a comment is bounded: `t1`, `t2`." in text


def test_each_artifact_of_each_toolchain_has_a_row_that_says_whose_it_is() -> None:
    several = replace(passing(), artifacts=(artifact(None, name="a"), artifact(1_024, name="b")))
    found = {"arm64": several, "x86-64": failing(), "armv7": None}
    head, _, *rows = (line.split() for line in toolchains.render_table(found).splitlines())

    assert head == [
        "toolchain",
        "artifact",
        "bytes",
        "size",
        "%",
        "of",
        "plain",
        "growth",
        "verdict",
    ]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("arm64", "a", "pass"),
        ("arm64", "b", "pass"),
        ("x86-64", "load_and_run", "fail"),
        ("armv7", "-", "none"),
    ]
    assert [row[-2] for row in rows[:2]] == ["-", "KiB"]
    assert rows[3][1:-1] == ["-"] * 5
