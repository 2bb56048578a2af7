"""The HTML report in a real browser: what it loads, how it looks, how it behaves."""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from megtrim.core.report import html
from megtrim.core.report.findings import describe_outcome
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict
from support.browser import start
from support.clock import until
from unit.core.report.golden import COMMENTS, pull_request
from unit.core.verdict.examples import (
    HOSTILE,
    RESNET,
    big,
    byte_map,
    failing,
    grown,
    hostile,
    mapped,
    near,
    passing,
    scenario,
    trapped,
    unverified,
)
from unit.core.verdict.performance_examples import timed

pytestmark = pytest.mark.browser


def run_many(*, trapping: int, passing: int) -> Verdict:
    """Return scenarios of which the first ones trap for one cause."""
    kinds = [trapped()] * trapping + [scenario(RESNET)] * passing
    found = (replace(kind, id=f"m{number}/s@c") for number, kind in enumerate(kinds))
    return join(pull_request(scenarios=tuple(found)))


def many() -> Verdict:
    return run_many(trapping=7, passing=1)


PRINTED: Mapping[str, Callable[[], Verdict]] = {
    "25 traps of 60": partial(run_many, trapping=25, passing=35),
    "60 pass": partial(run_many, trapping=0, passing=60),
}
MADE = (passing, failing, unverified, hostile, big, mapped, grown, near, timed, many)
SAMPLES: Mapping[str, Callable[[], Verdict]] = {
    **{make.__name__: make for make in MADE},
    **{name: partial(COMMENTS.__getitem__, name) for name in COMMENTS},
    **PRINTED,
}
LEAST_CONTRAST = 4.5

CONTRASTS = """
const channel = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
const luminance = (colour) => {
  const [r, g, b] = numbers(colour).map((v) => channel(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
const opaque = (colour) => numbers(colour).length === 3 || numbers(colour)[3] === 1;
const grounds = (element) => {
  if (element.closest("svg")) {
    const painted = element.closest("svg").querySelectorAll(":scope > rect:not(.rim)");
    return [...painted].map((r) => getComputedStyle(r).fill);
  }
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (opaque(colour)) return [colour];
  }
  return [];
};
const result = [];
for (const element of document.body.querySelectorAll("*")) {
  const own = [...element.childNodes].filter((n) => n.nodeType === 3 && n.data.trim());
  if (!own.length || element.matches("title, desc, script, style, option")) continue;
  if (!element.getClientRects().length) continue;
  const style = getComputedStyle(element);
  const colour = element.closest("svg") ? style.fill : style.color;
  for (const ground of grounds(element)) {
    result.push([ratio(colour, ground), own[0].data.trim().slice(0, 40), colour, ground]);
  }
}
return result;
"""


class Browser:
    def __init__(self, driver: webdriver.Chrome, folder: Path) -> None:
        self.driver = driver
        self._folder = folder

    def show(
        self, name: str, *, width: int = 1200, height: int = 900, scheme: str = "light"
    ) -> Any:
        page = self._folder / f"{name}.html"
        page.write_text(html.render(SAMPLES[name]()), encoding="utf-8")
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get(page.as_uri())
        return self.driver.execute_script

    def unfold(self) -> None:
        self.driver.execute_script(
            "document.querySelectorAll('details').forEach((fold) => { fold.open = true; });"
        )

    def errors(self) -> list[str]:
        return self._log("browser")

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since this was last asked."""
        messages = [json.loads(text)["message"] for text in self._log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def _log(self, kind: str) -> list[str]:
        entries: Any = self.driver.get_log(kind)  # type: ignore[no-untyped-call]
        return [str(entry["message"]) for entry in entries]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("browser")
    driver = start(folder / "profile", browser="ALL", performance="ALL")
    try:
        yield Browser(driver, folder)
    finally:
        driver.quit()


@pytest.mark.parametrize("name", sorted(make.__name__ for make in MADE))
def test_nothing_is_asked_for_and_nothing_goes_wrong(browser: Browser, name: str) -> None:
    browser.errors()
    browser.requests()
    browser.show(name)
    browser.unfold()

    assert browser.errors() == []
    # The browser's own first tab may still be asking for its own parts.
    asked = [each for each in browser.requests() if not each.startswith(("data:", "chrome:"))]
    assert [address.rsplit("/", 1)[-1] for address in asked] == [f"{name}.html"]
    assert browser.driver.find_element(By.ID, "find").is_displayed()


def test_the_policy_stops_what_it_does_not_name(browser: Browser) -> None:
    """A script or an image that someone manages to put into the page does nothing."""
    run = browser.show("passing")
    browser.errors()
    run(
        "const s = document.createElement('script'); s.textContent = 'window.planted = 1';"
        "document.body.append(s);"
        "const i = document.createElement('img'); i.src = 'http://127.0.0.1:9/x.png';"
        "document.body.append(i);"
    )

    assert run("return window.planted") is None
    assert len(browser.errors()) == 2


@pytest.mark.parametrize("name", sorted(make.__name__ for make in MADE))
@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_never_scrolls_sideways(browser: Browser, name: str, width: int) -> None:
    run = browser.show(name, width=width)
    folded = run("return document.documentElement.scrollWidth")
    browser.unfold()

    assert folded <= width
    assert run("return document.documentElement.scrollWidth") <= width
    outside = run(
        "return [...document.querySelectorAll('main > *, .card, .tiles li')]"
        ".filter((e) => e.getBoundingClientRect().right > innerWidth).length"
    )
    assert outside == 0


@pytest.mark.parametrize(("width", "height"), [(360, 640), (1200, 800)])
@pytest.mark.parametrize(
    ("name", "word"), [("passing", "Pass"), ("failing", "Fail"), ("unverified", "Unverified")]
)
def test_the_verdict_is_the_first_thing_to_see(
    browser: Browser, name: str, word: str, width: int, height: int
) -> None:
    browser.show(name, width=width, height=height)
    title = browser.driver.find_element(By.TAG_NAME, "h1")
    headline = browser.driver.find_element(By.CLASS_NAME, "headline")

    assert title.text == word
    assert title.rect["y"] < 120
    assert float(title.value_of_css_property("font-size").removesuffix("px")) >= 32
    assert headline.rect["y"] + headline.rect["height"] < height / 2
    assert describe_outcome(SAMPLES[name]()) == headline.text


OF_THE_FIRST_SCREEN = (
    "h1",
    ".headline",
    ".tiles li:nth-child(2)",
    ".tiles li:nth-child(3)",
    ".next",
)


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
@pytest.mark.parametrize("name", [*COMMENTS, "many"])
def test_the_first_screen_answers(browser: Browser, name: str, width: int, height: int) -> None:
    """What it is, what changed, how much room is left, and what to do."""
    browser.show(name, width=width, height=height)
    for part in OF_THE_FIRST_SCREEN:
        shown = browser.driver.find_element(By.CSS_SELECTOR, part)
        if not name.startswith("hostile"):
            assert shown.rect["y"] + shown.rect["height"] <= height, part
        assert shown.text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("name", ["failing", "unverified", "passing", "near", "mapped", "grown"])
def test_every_word_can_be_read(browser: Browser, name: str, width: int, scheme: str) -> None:
    run = browser.show(name, width=width, scheme=scheme)
    browser.unfold()
    measured = run(CONTRASTS)

    assert len(measured) > 200
    assert [entry for entry in measured if entry[0] < LEAST_CONTRAST] == []


def test_dark_mode_is_dark(browser: Browser) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"

    assert browser.show("passing", scheme="light")(ground) == "rgb(244, 246, 249)"
    assert browser.show("passing", scheme="dark")(ground) == "rgb(16, 21, 28)"


@pytest.mark.parametrize("name", ["passing", "failing", "unverified"])
def test_every_scenario_is_shown(browser: Browser, name: str) -> None:
    browser.show(name)
    cards = browser.driver.find_elements(By.CSS_SELECTOR, ".scenario > summary")

    assert len(cards) == 3
    found = {card.text.splitlines()[1]: card.text.splitlines() for card in cards}
    for each in SAMPLES[name]().scenarios:
        lines = found[each.id]
        assert lines[0] == each.status
        assert lines[2].startswith(each.text)


def test_scenarios_can_be_found_and_opened(browser: Browser) -> None:
    browser.show("many")
    driver = browser.driver

    def shown() -> list[str]:
        rows = driver.find_elements(By.CSS_SELECTOR, ".scenario")
        return [row.text.splitlines()[1] for row in rows if row.is_displayed()]

    assert shown() == [f"m{number}/s@c" for number in (*range(7), 7)]
    find = driver.find_element(By.CSS_SELECTOR, "#scenario-tools input")
    find.send_keys("m3/")
    assert shown() == ["m3/s@c"]
    find.send_keys("nothing")
    assert shown() == []
    assert driver.find_element(By.CSS_SELECTOR, ".rows .nothing").is_displayed()
    find.send_keys(Keys.CONTROL, "a")
    find.send_keys(Keys.DELETE)
    Select(driver.find_element(By.CSS_SELECTOR, "#scenario-tools select")).select_by_value("pass")
    assert shown() == ["m7/s@c"]
    Select(driver.find_element(By.CSS_SELECTOR, "#scenario-tools select")).select_by_value("")
    link = driver.find_element(By.CSS_SELECTOR, "#attention a[href='#scenario-0']")
    driver.execute_script("arguments[0].click();", link)
    opened = driver.find_element(By.CSS_SELECTOR, ".scenario[open] summary")
    assert opened.text.splitlines()[1] == "m0/s@c"


OBSERVE = """
window.labels = [];
const note = () => labels.push(arguments[0].textContent);
new MutationObserver(note).observe(arguments[0], {childList: true});
"""


def test_commands_can_be_copied(browser: Browser) -> None:
    """A button says for a moment that it copied, which a busy machine may look at too late."""
    run = browser.show("failing")
    buttons = browser.driver.find_elements(By.CSS_SELECTOR, ".copied .copy")
    commands = browser.driver.find_elements(By.CSS_SELECTOR, "pre.command")

    assert len(buttons) == len(commands) >= 3
    assert str(buttons[0].get_attribute("aria-label")).startswith("Copy: megtrim verify ")
    run(OBSERVE, buttons[0])
    buttons[0].click()
    until(lambda: run("return labels.length") > 0, "a label")
    assert run("return labels[0]") == "Copied"


def test_everything_can_be_reached_by_the_keyboard(browser: Browser) -> None:
    """In order, from the link that skips the sections; what is folded opens by Enter."""
    run = browser.show("mapped")
    reached = []
    for _ in range(200):
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        name = run(
            "const e = document.activeElement; return e === document.body ? '' :"
            " `${e.tagName} ${e.className?.baseVal ?? e.className} ${e.id}`.trim()"
        )
        if not name:
            break
        reached.append(name)
    kinds = {each.split()[0] for each in reached}

    assert reached[0] == "A skip"
    assert {"A", "SUMMARY", "BUTTON", "INPUT", "SELECT", "svg", "DIV"} <= kinds | {"BUTTON"}
    hidden = run(
        "return [...document.querySelectorAll('summary, a, input, select')]"
        ".filter((e) => e.checkVisibility() && e.tabIndex < 0).length"
    )
    assert hidden == 0


def test_bars_are_as_wide_as_their_bytes(browser: Browser) -> None:
    browser.show("passing")
    bars = browser.driver.find_elements(By.CSS_SELECTOR, "#size .bar")
    widths = [
        sum(part.rect["width"] for part in bar.find_elements(By.CSS_SELECTOR, ".segment > rect"))
        for bar in bars
    ]
    whole = bars[0].rect["width"]
    drawn = (size for size in passing().artifacts[0].sizes if size.variant != "profile")
    sizes = [size.size_bytes for size in drawn]

    expected = [whole * size / max(sizes) for size in sizes] + [whole]
    assert widths == pytest.approx(expected, abs=4)


def cells(browser: Browser, *, whole: bool = True) -> dict[str, float]:
    """Return the area of each cell of the map by its title, those with others inside or all."""
    drawn = browser.driver.execute_script(
        "return [...document.querySelectorAll('.byte-map svg')].map((each) => {"
        "const { width, height } = each.getBoundingClientRect();"
        "return [each.dataset.said, width * height, each.tabIndex] })"
    )
    return {title: area for title, area, index in drawn if not whole or index == 0}


@pytest.mark.parametrize("width", [390, 1200])
def test_areas_of_the_map_are_bytes(browser: Browser, width: int) -> None:
    browser.show("mapped", width=width)
    drawn = browser.driver.find_element(By.CLASS_NAME, "byte-map")
    found = cells(browser, whole=False)

    whole = drawn.rect["width"] * drawn.rect["height"]
    shown = {each.name: each.kept_bytes for each in byte_map().components if each.kept_bytes}
    for name, kept_bytes in shown.items():
        area = next(area for title, area in found.items() if title.startswith(name))
        assert area == pytest.approx(whole * kept_bytes / byte_map().kept_bytes, rel=0.03)


def test_the_map_can_be_entered_searched_and_compared(browser: Browser) -> None:
    """A click goes into a component, Escape out; a search leaves what has the words."""
    browser.show("grown")
    driver = browser.driver
    symbol = "mgb::cg::ComputingGraphImpl::compile(…)"
    tip, found = (
        driver.find_element(By.CSS_SELECTOR, f".map {part}") for part in (".tip", "output")
    )

    def press(part: str) -> str:
        """Return what is said of a cell before it is pressed."""
        [cell] = [
            each
            for each in driver.find_elements(By.CSS_SELECTOR, ".byte-map svg")
            if part in str(each.get_attribute("data-said"))
        ]
        centre = "arguments[0].scrollIntoView({behavior: 'instant', block: 'center'});"
        driver.execute_script(centre, cell)
        ActionChains(driver).move_to_element(cell).perform()
        said = tip.text
        cell.click()
        return said

    def trail() -> list[str]:
        return [each.text for each in driver.find_elements(By.CSS_SELECTOR, ".crumbs button")]

    assert press(f"runtime: {symbol}").startswith(f"runtime: {symbol}: ")
    assert trail() == ["all", "runtime"]
    driver.find_element(By.CSS_SELECTOR, ".map input").send_keys(Keys.ESCAPE)
    assert trail() == ["all"]
    driver.find_element(By.CSS_SELECTOR, ".map input").send_keys("computinggraph")
    assert found.text.startswith("1 found, ")
    assert len(cells(browser, whole=False)) == 1
    driver.find_element(By.CSS_SELECTOR, ".map input").send_keys("xyz")
    assert driver.find_element(By.CSS_SELECTOR, ".map .nothing").is_displayed()
    assert not driver.find_element(By.CSS_SELECTOR, ".byte-map").is_displayed()
    driver.find_element(By.CSS_SELECTOR, ".map input").clear()
    view = Select(driver.find_element(By.CSS_SELECTOR, ".map select"))
    view.select_by_value("left")
    assert "naive" in " ".join(cells(browser))
    view.select_by_value("change")
    [title] = cells(browser, whole=False)
    assert (
        title == "runtime: mgb::run(…): +59.0 KiB, from 0 to 60,416 bytes; 100.0% of what is shown"
    )


def test_names_from_files_of_others_are_text_in_the_map(browser: Browser) -> None:
    browser.errors()
    browser.show("hostile")

    assert HOSTILE.split("<")[0].split()[0] in " ".join(cells(browser, whole=False))
    assert browser.driver.find_elements(By.CSS_SELECTOR, ".byte-map script") == []
    assert browser.errors() == []


def test_the_essentials_need_no_script(browser: Browser) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.show("mapped")
        assert not browser.driver.find_element(By.CLASS_NAME, "byte-map").is_displayed()
        for part in ("#bytes td", "#budgets .limit", "#prices td"):
            assert browser.driver.find_element(By.CSS_SELECTOR, part).is_displayed()
        assert not browser.driver.find_element(By.ID, "find").is_displayed()
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_regions_can_be_found_and_ordered(browser: Browser) -> None:
    """Typing leaves the tags and regions that hold the words; the order can be chosen."""
    browser.show("passing")
    driver = browser.driver

    def tags() -> list[str]:
        rows = driver.find_elements(By.CSS_SELECTOR, ".tag")
        return [str(row.get_attribute("data-name")) for row in rows if row.is_displayed()]

    find = driver.find_element(By.ID, "find")
    find.send_keys("ALGOF32GEMV")
    assert tags() == ["megdnn_fp32_sgemv"]
    assert driver.find_element(By.ID, "found").text == "2 found"
    assert driver.find_element(By.CSS_SELECTOR, ".tag[open] tbody tr").is_displayed()
    find.clear()
    find.send_keys(" ")
    assert len(tags()) == 10

    spec = Select(driver.find_element(By.ID, "order"))
    spec.select_by_value("name")
    assert tags() == sorted(tags())
    spec.select_by_value("held")
    assert tags()[:2] == ["megdnn_fallback_winograd", "megdnn_gi_conv_f32"]
    spec.select_by_value("kept")
    assert tags()[:2] == ["megdnn_common_elemwise", "megdnn_naive_pooling"]


def test_it_can_be_read_without_colour_and_without_sight(browser: Browser) -> None:
    """Landmarks, one main heading, names for every picture, a word in every chip."""
    run = browser.show("failing")
    names = run(
        "return [...document.querySelectorAll('svg[role=img]')]"
        ".map((s) => document.getElementById(s.getAttribute('aria-labelledby').split(' ')[0])"
        ".textContent)"
    )
    chips = run("return [...document.querySelectorAll('.chip')].map((c) => c.textContent.trim())")

    assert run("return document.querySelectorAll('main, header, nav, footer').length") == 4
    assert run("return document.querySelectorAll('h1').length") == 1
    assert run("return document.documentElement.lang") == "en"
    assert names[0] == "plain: 37.5 MiB, 100.0% of plain"
    assert all(names)
    assert all(chips)
    assert "fail" in chips
    assert run("return [...document.querySelectorAll('input, select')].every((i) => i.labels[0])")


def test_it_prints(browser: Browser) -> None:
    """Navigation and search are left out on paper; pictures keep their colours."""
    run = browser.show("mapped")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})

    assert run("return getComputedStyle(document.querySelector('nav')).display") == "none"
    assert run("return getComputedStyle(document.querySelector('.tools')).display") == "none"
    for picture in (".byte-map", ".bar", ".limit"):
        style = f"getComputedStyle(document.querySelector('{picture}'))"
        assert run(f"return {style}.printColorAdjust") == "exact"
        assert run(f"return {style}.display") == "block"
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("name", [*PRINTED, "passing", "growth-over-budget", "times", "mapped"])
def test_it_prints_on_four_pages(browser: Browser, name: str) -> None:
    browser.show(name)
    paper = {"paperWidth": 8.27, "paperHeight": 11.69}
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", paper)
    sheets = re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"]))

    assert 1 < len(sheets) <= 4
