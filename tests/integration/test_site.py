"""The pages as a site: it builds without a dead link, loads nothing from elsewhere, and answers."""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from megtrim.libs.util.process import Command, ProcessRunner
from support.browser import start
from support.document_words import ROWS, WORDS
from support.pages import ROOT, read_noxfile

pytestmark = pytest.mark.browser

LOADING = {".html", ".css"}
ELSEWHERE = re.compile(
    r"(?:<(?:script|img|iframe)[^>]*\ssrc=|<link[^>]*\shref=|url\(|@import)[\s\"']*(?:https?:)?//",
    re.IGNORECASE,
)
QUESTIONS = tomllib.loads((ROOT / "tests/support/site_questions.toml").read_text("utf-8"))
LEAST_RIGHT = 17
MOST_WRONG = 0.05


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, processes: ProcessRunner) -> Path:
    folder = tmp_path_factory.mktemp("site")
    options = read_noxfile()["SPHINX"]
    argv = (sys.executable, "-m", "sphinx", *options, "-d", f"{folder}/trees", ".", f"{folder}/out")
    built = processes.run(Command(argv=argv, cwd=ROOT, timeout_s=600))
    assert built.rc == 0, built.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    driver = start(tmp_path_factory.mktemp("profile"))
    try:
        yield driver
    finally:
        driver.quit()


def find_first(driver: webdriver.Chrome, site: Path, question: str) -> str:
    """Return the page that the site's own search shows first, or nothing."""
    driver.get(f"{(site / 'search.html').as_uri()}?q={quote_plus(question)}")
    summary = "return document.querySelector('.search-summary')?.textContent ?? ''"
    WebDriverWait(driver, 30).until(lambda _: driver.execute_script(summary).endswith("."))
    first = "return document.querySelector('#search-results li > a')?.getAttribute('href') ?? ''"
    return str(driver.execute_script(first)).partition(".html")[0]


def find_firsts(driver: webdriver.Chrome, site: Path, questions: Iterable[str]) -> dict[str, str]:
    """Return the first page for each question, all asked of one page's search."""
    find_first(driver, site, "megtrim")
    ask = (
        "return arguments[0].map((question) =>"
        " Search._performSearch(...Search._parseQuery(question)).pop()?.[0] ?? '')"
    )
    asked = list(questions)
    return dict(zip(asked, driver.execute_script(ask, asked), strict=True))


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = {path: path.read_text("utf-8") for path in site.rglob("*") if path.suffix in LOADING}

    assert len(pages) > 60
    assert [path for path, text in pages.items() if ELSEWHERE.search(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        '<script async src="https://cdn.example/x.js">',
        "<link rel='stylesheet' href='//x/y.css'>",
        "a { background: url(http://x/y.png) }",
        '@import "https://fonts.example/css";',
    ],
)
def test_what_is_loaded_from_elsewhere_is_seen(text: str) -> None:
    assert ELSEWHERE.search(text)


def test_each_block_has_a_button_that_copies_it(driver: webdriver.Chrome, site: Path) -> None:
    driver.get((site / "docs/how-to/install.html").as_uri())
    count = "return document.querySelectorAll(arguments[0]).length"
    blocks = driver.execute_script(count, "div.highlight > pre")

    assert blocks == driver.execute_script(count, "div.highlight > button") > 2


@pytest.mark.parametrize("questions", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_newcomers_find_an_answer_first(
    driver: webdriver.Chrome, site: Path, questions: dict[str, str]
) -> None:
    found = find_firsts(driver, site, questions)
    wrong = {
        question: found[question]
        for question, answers in questions.items()
        if found[question].removeprefix("docs/") not in answers.split()
    }

    assert len(questions) - len(wrong) >= LEAST_RIGHT, wrong


def test_a_question_with_an_unknown_word_has_an_answer(
    driver: webdriver.Chrome, site: Path
) -> None:
    assert find_first(driver, site, "uninstall this gizmo") == "docs/how-to/install"


def test_words_of_the_engines_documents_lead_to_a_page(
    driver: webdriver.Chrome, site: Path
) -> None:
    found = find_firsts(driver, site, (words for words, _, _ in WORDS))
    wrong = {
        words: found[words]
        for words, _, pages in WORDS
        if found[words].removeprefix("docs/") not in (ROWS, *pages.split())
    }

    assert len(wrong) <= MOST_WRONG * len(WORDS), wrong
