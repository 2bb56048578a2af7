"""The verdict as one HTML page; how it looks is tested in a browser."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from megtrim.core.checks.invocation import Invocation
from megtrim.core.checks.statuses import CheckStatus, ScenarioStatus, VerdictKind
from megtrim.core.report import html
from megtrim.core.report.html import SizePicture, find_colour, read_words, size_picture
from megtrim.core.size.growth.causes import Cause
from megtrim.core.size.rows import ArtifactSizes, BudgetRow, VariantSize
from megtrim.core.trim.results import OperatorsUse, RegionsUse, SizeFlagResult
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict
from megtrim.libs.programs.telemetry import Conditions, Reading
from unit.core.verdict.examples import (
    HOSTILE,
    RESNET,
    TUNED,
    big,
    budget,
    by_committed,
    byte_map,
    compared,
    crashed,
    facts,
    failing,
    grown,
    growth,
    hostile,
    mapped,
    passing,
    regions,
    scenario,
    trapped,
    unverified,
)

ROOT = Path(__file__).parents[4]
VOID = ("meta", "link", "input", "br", "rect", "line", "path", "polygon", "use", "wbr")


class Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.parts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.parts).split())


@pytest.mark.parametrize("make", [passing, failing, unverified, big, hostile, mapped])
def test_the_page_is_well_formed_and_repeatable(make: Callable[[], Verdict]) -> None:
    text = html.render(make())
    page = Page(text)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]

    assert page.open == []
    assert len(set(ids)) == len(ids)
    assert text == html.render(make())
    assert text.startswith('<!doctype html>\n<html lang="en">')
    for _, attributes in page.elements:
        assert set(attributes.get("aria-labelledby", "").split()) <= set(ids)
        target = attributes.get("href", "")
        if target.startswith("#") and not target.startswith("#icon-"):
            assert target[1:] in ids
    assert text.endswith("</html>\n")
    text.encode()
    # Nothing is loaded, and only what is named runs.
    policy = next(a["content"] for t, a in page.elements if "http-equiv" in a)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (inline,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for tag, attributes in page.elements:
        assert not {"src", "style"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
        assert tag not in ("iframe", "object", "embed", "img", "base", "form")
        assert attributes.get("href", "#").startswith(("#", "data:image/svg+xml,"))


@pytest.mark.parametrize(
    ("budgets", "shown"),
    [
        ((budget(used=100, limit=100),), "0 B of 100 B (0.0%), load_and_run"),
        (
            (
                budget(used=90, limit=100),
                budget(artifact="lib", used=9_500, limit=10_000),
                budget(artifact="free", limit=None),
            ),
            "500 B of 9.8 KiB (5.0%), lib",
        ),
    ],
)
def test_the_tightest_budget_is_shown(budgets: tuple[BudgetRow, ...], shown: str) -> None:
    assert f"Room left {shown}" in Page(html.render(join(facts(budgets=budgets)))).text


def test_places_are_from_the_top_of_the_repository() -> None:
    made = replace(failing(), budgets=(budget(lower_limit=100),))
    text = Page(html.render(replace(made, invocation=Invocation(config="arm/megtrim.yaml")))).text

    assert "configured in arm/megtrim.yaml, line 22" in text
    assert "max could be 100 B (100 bytes) at arm/megtrim.yaml:34" in text
    assert set(re.findall(r"\S*megtrim\.yaml:22", text)) == {"arm/megtrim.yaml:22"}


def cooled() -> Verdict:
    cool = scenario(RESNET, conditions=Conditions(before=Reading(), after=Reading()))
    return join(facts(scenarios=(crashed(), cool)))


def bare() -> Verdict:
    [artifact] = mapped().artifacts
    found = byte_map()
    components = tuple(replace(each, plain_bytes=None, symbols=()) for each in found.components)
    unknown = replace(artifact, byte_map=replace(found, components=components))
    return join(facts(artifacts=(unknown,)))


def dirty() -> Verdict:
    names = tuple(f"src/{number}.cpp" for number in range(52))
    return join(facts(engine=replace(facts().engine, dirty=names)))


def empty() -> Verdict:
    return join(
        facts(
            artifacts=(),
            scenarios=(),
            budgets=(),
            checks=(),
            devices=(),
            regions=RegionsUse(held=900, kept=0, by_tag=()),
            operators=OperatorsUse(kept=(), dtypes=(), elemwise_modes=()),
        )
    )


SHOWN: Mapping[Callable[[], Verdict], str] = {
    # No picture is the only place of a number.
    passing: """
Pass load_and_run 2.5 MiB, 236 KiB left of 2.8 MiB All 11 checks passed.
Checks passed 11 of 11 nothing skipped, no warning Change not known no baseline
Room left 236 KiB of 2.8 MiB (8.4%), load_and_run Size 2.5 MiB 6.7% of plain, load_and_run
text 27,588,611 26.3 MiB 1,553,448 1.5 MiB
file 39,300,016 37.5 MiB 2,641,920 2.5 MiB
Scenarios 3, on qemu-arm64 (qemu, cpu max) result scenario seen regions time
outputs equal to the last bit (1 tensor, 40 bytes) 149 1.25 s arguments
pass load_ and_ run size 2.5 MiB 2.8 MiB 236 KiB
pass load_ and_ run growth +1 KiB 16 KiB 15 KiB
Regions 149 of 900
megdnn_fp32_sgemv 2 of 2 region meaning for
megdnn_fp32_sgemv<0> AlgoF32Gemv::get_workspace mobilenet-s/default@any,
megdnn_fallback_winograd 0 of 212 No scenario runs any of them.
FUSE_ADD_RELU resnet18-s
""",
    failing: f"""
fail: {TUNED} traps, and 2 more · camera-app · megtrim Skip to the results megtrim / camera-app / \
megtrim.yaml megtrim 1.0.0, pull request 17, commit 5d0c2b7e9f1a of 2027-01-30 09:41 UTC Fail \
{TUNED} traps, and 2 more 4 of
Checks passed 6 of 11 4 failed, 1 skipped, 1 warning
Change of load_and_run +348 KiB +13.5%, 16 KiB allowed
Over the limit 112 KiB of 2.8 MiB, load_and_run
What to do if that is intended, run megtrim trim --config
To reproduce {trapped().reproduce}
Needs attention fail trap:{TUNED} trapped: 2 regions that it needs were not kept Needed, but trimmed
configured in megtrim.yaml, line 22 fail
warnings the engine's checkout has changes
parity mobilenet-s/ default@any 1 of 1 outputs differs: run0-var178 by up to 0.0125 149 1.25 s
output bytes against plain largest difference run0-var178 40 differs 0.0125 To run it again megtrim
pass resnet18-s/ default@any outputs equal to the last bit (1 tensor, 40 bytes)
Needed, but not kept: 2 megdnn_fallback_winograd<-1290123641, 0> megdnn_gi_conv_f32<7, megdnn::Conv
End of the log Trace/breakpoint trap
""",
    cooled: """
pixel-6 time not valid 149 1.25 s
measured CPU: 41.5 °C → 68.2 °C; battery: 87% charging → 86% charging; policy4: unknown → schedutil
time time not valid: throttled after the run: policy4 is held to 1800 MHz of 2400 MHz
Crash ended by signal 11 (SIGSEGV) crash log: backtrace: #00 pc 1000 <b>`x` End of the log load
qemu-arm64 (qemu, cpu max) 149 1.25 s arguments --cpu --iter 1 class any regions 149 took 1.25 s
measured nothing that this device shows
""",
    compared: """
Size Growth is measured against main at 2981d11. load_and_run stripped
plain 37.5 MiB 39,300,016 bytes no change 100.0%
reduced 2.5 MiB 2,641,920 bytes -2 KiB (-0.08%) 6.7%
""",
    mapped: """
What was kept, 2.5 MiB of 37.5 MiB: inside of each component
runtime 660,480 645 KiB 1,697,520 1.6 MiB 2,358,000 2.2 MiB 28.0%
[31 others] 1,188,865 1.1 MiB 7,457,141 7.1 MiB 8,646,006 8.2 MiB 13.8%
file 2,641,920 2.5 MiB 36,658,096 35.0 MiB 39,300,016 37.5 MiB 6.7%
megdnn::arm_common::ConvBiasImpl::exec(…) 237,772
resnet18-s 65,319 63.8 KiB 2,600,000 2.5 MiB
""",
    bare: """
What was left out is not known by component: the plain build was left without
component kept kernels/ arm_ common/ conv_ bias 475,545 464.4 KiB runtime 660,480
""",
    # Without a profile build the total is unknown: no made-up number.
    by_committed: """
Regions 149 Find
megdnn_fp32_sgemv 2 region meaning for
""",
    dirty: """
commit c2f1e0b6a3d94857 digest 9f4c0d8e1b7a6532
header generation 20220507
src/49.cpp and 2 more
kind clang-linux-arm64 target aarch64-linux-gnu version clang 14.0.6
level region layout scoped minimum size yes optimize none
Device qemu-arm64 kind qemu cpu max version 7.2.22
""",
    empty: """
Inconclusive scenarios: no scenario ran on the reduced build Nothing failed, but the runs do
Size not known nothing was built
""",
}


@pytest.mark.parametrize("make", SHOWN, ids=lambda make: make.__name__)
def test_the_page_says_it_in_words(make: Callable[[], Verdict]) -> None:
    text = Page(html.render(make())).text

    lines = SHOWN[make].strip().splitlines()
    assert [line for line in lines if line not in text] == []
    assert make is not failing or text.startswith(lines[0])  # The verdict comes first.


def test_tags_are_ordered_by_what_was_kept() -> None:
    """The script can order them otherwise; without it this is the order.

    What there is not is not on the page; who needs a region is named unless all do.
    """
    page = Page(html.render(passing()))
    kept = [int(a["data-kept"]) for t, a in page.elements if "data-kept" in a]

    assert kept == sorted((use.kept for use in regions().by_tag), reverse=True)
    assert len(kept) == 10
    absent = ("Needs attention", "measured", "Crash", "Growth is", "Prices", "What changed")
    shown = page.text.rpartition("Words")[0]
    assert [each for each in (*absent, "Where the bytes are") if each in shown] == []
    assert "most held" not in Page(html.render(by_committed())).text
    alone = html.render(join(facts(scenarios=(scenario(RESNET),))))
    assert f"<td>{RESNET}</td>" in alone and "all 1" not in alone


def test_all_checks_are_listed_with_their_place() -> None:
    text = Page(html.render(unverified())).text
    checks = text[text.index("Every check with what was seen") :]
    folds = {
        a["id"]: "open" in a
        for _, a in Page(html.render(failing())).elements
        if a.get("id", "").startswith("scenario-")
    }

    # What failed is open.
    assert folds == {"scenario-0": True, "scenario-1": False, "scenario-2": True}

    for check in unverified().checks:
        assert f"{check.status} {check.id} {check.text}" in checks
    assert "build:plain plain was built 27 min 0 s megtrim.yaml:3" in checks


def test_hostile_texts_are_shown_as_text() -> None:
    clean = html.render(failing())
    dirty = html.render(hostile())

    assert dirty.count("<script") == clean.count("<script") == 1
    assert "alert(1)" in Page(dirty).text
    assert "\x1b" not in dirty
    assert "\x00" not in dirty
    shown = "@admin see #1 <script>alert(1)</script> | `x` ]]> \ufffdred \ufffd \ufffd"
    assert shown in Page(dirty).text
    assert HOSTILE not in dirty


def test_two_thousand_regions_stay_below_two_megabytes() -> None:
    text = html.render(big())

    assert len(text.encode()) < 2_000_000
    assert text.count("<td>AlgoF32Gi4x12::get_preprocess_workspace</td>") == 2000
    assert text.count("<td>all 3 scenarios</td>") == 2000


def test_what_is_off_singly_and_what_makes_it_small_are_said() -> None:
    means = (
        SizeFlagResult(name="small_code", value="Oz", why_not=""),
        SizeFlagResult(name="relocations", value="android", why_not=HOSTILE),
    )
    trim = replace(facts().trim, minimum_size=False, switched_off=("rtti", "logging"), means=means)
    pages = [html.render(join(facts(**changes))) for changes in ({"trim": trim}, {})]
    said = ("<dt>switched off</dt><dd>rtti, logging</dd>", "<dt>means</dt><dd>small_code Oz</dd>")

    assert [[text in page for text in said] for page in pages] == [[True] * 2, [False] * 2]
    assert ["<dt>not used</dt><dd>relocations: " in page for page in pages] == [True, False]
    assert "<script>alert" not in pages[0]


def variant(name: str, size_bytes: int, *sections: tuple[str, int]) -> VariantSize:
    return VariantSize(
        variant=name, size_bytes=size_bytes, share=size_bytes / 1000, sections=sections
    )


def picture_of(*variants: VariantSize) -> SizePicture:
    return size_picture(ArtifactSizes(name="a", sizes=variants))


@pytest.mark.parametrize(
    ("size_bytes", "segments"),
    [
        (1, [("text", "0.000%", "none"), ("not in a section", "100.000%", "any")]),
        (0, [("text", "0%", "none")]),
    ],
)
def test_a_single_byte_counts_and_none_has_no_width(
    size_bytes: int, segments: list[tuple[str, str, str]]
) -> None:
    (bar,) = picture_of(variant("plain", size_bytes, ("text", 0))).bars

    assert [(part.name, part.width, part.label) for part in bar.segments] == segments
    assert (bar.width == "0%") is (size_bytes == 0)
    assert picture_of().bars == ()


def test_a_section_has_one_colour_in_each_report() -> None:
    sizes = (("data", 1), ("text", 2), ("of another format", 3))
    sections = picture_of(variant("plain", 6, *sizes)).sections

    assert [colour for _, colour, _ in sections] == [2, 0, 6]


def test_a_component_has_one_colour_in_each_report() -> None:
    """What all engines have is known; of those of an engine, the name decides."""
    known = ("other", "C library", "C++ library", "unwind tables", "headers", "unexplained code")
    engine = ("kernels", "runtime", "operators", "graph optimiser", "serialisation", "load_and_run")

    assert [find_colour(name) for name in known] == [8, 8, 9, 10, 11, 11]
    assert len({find_colour(name) for name in engine}) == len(engine)
    assert find_colour("kernels/x86/conv_bias") == find_colour("kernels")


def test_bars_are_drawn_to_one_scale_and_reduced_once_more_to_its_own() -> None:
    picture = picture_of(
        variant("plain", 1000, ("text", 750), ("data", 250)),
        variant("reduced", 100, ("text", 80), ("data", 20)),
    )
    plain, reduced = picture.bars

    assert (plain.width, reduced.width) == ("100.000%", "10.000%")
    assert [(part.name, part.x, part.width) for part in plain.segments] == [
        ("text", "0.000%", "75.000%"),
        ("data", "75.000%", "25.000%"),
    ]
    assert [(part.x, part.width, part.label) for part in reduced.segments] == [
        ("0.000%", "8.000%", "none"),
        ("8.000%", "2.000%", "none"),
    ]
    assert [(part.x, part.width, part.label) for part in reduced.enlarged] == [
        ("0.000%", "80.000%", "any"),
        ("80.000%", "20.000%", "wide"),
    ]
    assert picture.sections == (("text", 0, (750, 80)), ("data", 2, (250, 20)))


def test_bytes_that_no_section_has_are_drawn_too() -> None:
    """A picture that does not add up would lie; a section missing in a variant is empty."""
    picture = picture_of(variant("plain", 1000), variant("reduced", 50, ("text", 50)))

    assert picture.sections == (("not in a section", 6, (1000, None)), ("text", 0, (None, 50)))
    assert [part.name for part in picture.bars[0].segments] == ["not in a section"]


@pytest.mark.parametrize(
    ("part", "expected"),
    [(89, "none"), (90, "wide"), (249, "wide"), (250, "any"), (1, "none"), (999, "any")],
)
def test_a_segment_is_named_where_its_name_fits(part: int, expected: str) -> None:
    assert picture_of(variant("plain", 1000, ("x", part))).bars[0].enlarged[0].label == expected


def test_what_changed_is_said_as_in_the_comment() -> None:
    text = Page(html.render(grown())).text
    said = (
        "What changed Compared with main at 2981d11.",
        "source: src/a.cpp differs. Look at it.",
        "models: tiny-quant is new. Look at it.",
        "load_and_run +59 KiB (+2.3%) 16 KiB allowed Causes: source and models +59 KiB together. ",
        "model tiny-quant: its price is not known by itself, as other causes differ. trim: {prices",
        "part before now change runtime 0 60,416 +60,416",
        "New: 1 operator what which for bytes operator Resize tiny-quant",
        "component part before now change runtime mgb:: run(…) 0 60,416 +60,416",
    )

    assert [each for each in said if each not in text] == []


def test_each_word_of_the_page_leads_to_what_it_means() -> None:
    """And to its page of the documentation, whose tables are where the meanings are written."""
    page = Page(html.render(unverified()))
    links = {a["href"] for t, a in page.elements if t == "a" and a.get("class") == "term"}
    words = {a["id"]: a for t, a in page.elements if t == "dt" and "id" in a}

    assert {link[1:] for link in links} <= words.keys()
    for word in ("pass", "unverified", "infrastructure", "variant", "budget", "scenario", "region"):
        assert f"#word-{word}" in links
    said = page.text[page.text.rindex("Words") :]
    assert "fail At least one check failed." in said
    assert "docs/concepts.md, docs/how-to/read-the-report.md" in said
    assert (
        "trap The program ended because it needs a region or a function that was not kept" in said
    )
    assert "toolchain compiler, linker and libraries" in said


@pytest.mark.parametrize("status", [*CheckStatus, *ScenarioStatus, *VerdictKind, *Cause])
def test_every_status_and_cause_has_a_meaning(status: str) -> None:
    named = read_words(ROOT / "docs")

    assert status.replace("-", " ") in named or status == "skipped"
    assert read_words(ROOT / "gone") == {}


def test_words_of_all_tables_have_a_meaning() -> None:
    """The page of words has a table for each group."""
    groups = (
        "scenario",
        "CPU class",
        "device",
        "region",
        "keep set",
        "neighbour",
        "waiver",
        "work",
    )
    assert {*groups} <= read_words(ROOT / "docs").keys()


def test_the_page_names_the_program_and_what_comes_next() -> None:
    """The latter of a trim that passed alone."""
    given = {"programs": ("out/final/bin/a<b",), "next": "export it: megtrim export"}
    for scenarios, following in (((scenario(RESNET),), True), ((trapped(),), False)):
        page = html.render(join(facts(scenarios=scenarios, **given)))
        assert "<dt>program</dt><dd><code>out/final/bin/a&lt;b</code></dd>" in page
        assert ("<code>megtrim export</code>" in page) is following


RUN = "https://github.com/example/camera-app/actions/runs/1234567890"


@pytest.mark.parametrize(
    ("run", "linked"),
    [
        (RUN, ["run", "commit", "pull request"]),
        ("", []),
        ("javascript:alert(1)", []),
        (f"{RUN}/../../evil", []),
    ],
)
def test_commit_and_pull_request_are_links_of_the_run(run: str, linked: list[str]) -> None:
    page = Page(html.render(passing(), run=run))
    found = [a["href"] for t, a in page.elements if t == "a" and a["href"].startswith("http")]
    base = "https://github.com/example/camera-app"
    addresses = {
        "run": run,
        "commit": f"{base}/commit/{passing().origin.commit}",
        "pull request": f"{base}/pull/17",
    }

    assert found[: len(linked)] == [addresses[name] for name in linked]
    assert set(found) == {addresses[name] for name in linked}


def test_what_was_skipped_is_never_every_check() -> None:
    """Amber above what nobody checked, green only where all did."""
    rows = (budget(), growth(used=None, baseline="", status=CheckStatus.SKIPPED))
    text = html.render(join(facts(budgets=rows)))

    assert '<header class="banner pass cautious">' in text
    assert "Every check that ran passed, 1 skipped." in text
    assert "1 limit was not checked: there is no baseline to compare with" in text
    assert '<li class="toned unverified"><span class="tile-title">Checks passed' in text
    assert '<header class="banner pass">' in html.render(passing())


def test_scenarios_of_one_cause_are_one_group() -> None:
    many = tuple(replace(trapped(), id=f"m{number}/s@c") for number in range(7))
    text = html.render(join(facts(scenarios=(scenario(RESNET), *many))))
    page = Page(text)
    rows = [a for t, a in page.elements if t == "details" and a.get("class", "").startswith("scen")]

    assert text.count("7 scenarios, one cause: trapped: 2 regions") == 1
    assert [a["data-status"] for a in rows] == ["fail"] * 7 + ["pass"]
    assert not any("open" in a for a in rows)
    assert page.text.count("What to do") == 1


def test_nothing_that_can_be_pressed_is_in_a_summary() -> None:
    for each in re.findall(r"<summary>.*?</summary>", html.render(failing()), re.DOTALL):
        assert "<a " not in each


def test_a_companion_file_has_a_bar() -> None:
    base = passing().artifacts[0]
    *others, reduced = base.sizes
    deferred = replace(reduced, forms={"rest": 200 * 1024})
    text = html.render(join(facts(artifacts=(replace(base, sizes=(*others, deferred)),))))

    assert "companion file: 200 KiB</title>" in text
    assert "companion file: " not in html.render(passing())
