"""The pages as a site: it builds without a dead link, loads nothing from elsewhere, and answers."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from megtrim.libs.util.process import Command, ProcessRunner
from support.browser import start
from support.pages import ROOT, read_noxfile

pytestmark = pytest.mark.browser

LOADING = {".html", ".css"}
ELSEWHERE = re.compile(
    r"(?:<(?:script|img|iframe)[^>]*\ssrc=|<link[^>]*\shref=|url\(|@import)[\s\"']*(?:https?:)?//",
    re.IGNORECASE,
)
QUESTIONS = (
    ("where can I download megtrim", "questions how-to/install"),
    ("which files do I commit", "questions how-to/trim-megengine reference/results"),
    (
        "how long does a pull request take",
        "explanation/what-a-pull-request-costs how-to/gate-pull-requests",
    ),
    ("I retrained my model, do I have to trace again", "questions how-to/bring-a-model"),
    ("does it support GPU or CUDA", "explanation/what-it-does-not-do questions"),
    ("can I build for iOS", "explanation/what-it-does-not-do questions"),
    ("our app is built with bazel", "explanation/what-it-does-not-do questions"),
    ("check is red on release day", "how-to/release"),
    ("binary grew on my laptop, what grew", "questions how-to/budget-sizes"),
    ("clean up disk space", "questions reference/results"),
    (
        "was this tested on a real phone",
        "explanation/what-was-run-where explanation/what-it-does-not-do questions",
    ),
    ("Trace/breakpoint trap", "how-to/find-out-why-it-trapped"),
    ("look up a tombstone from a crash in production", "how-to/find-out-why-it-trapped"),
    ("convert an onnx model", "how-to/bring-a-model"),
    ("how do I use gitlab ci", "how-to/use-any-ci"),
    ("phone is unauthorized", "how-to/use-devices how-to/set-up-a-device-host"),
    ("make the binary even smaller", "how-to/make-it-smaller how-to/trim-functions"),
    ("how do I raise a budget", "questions how-to/budget-sizes"),
    ("which load_and_run flags are fastest", "how-to/measure-times"),
    ("what is a region", "concepts"),
)
"""What newcomers ask, and the pages that answer: written down before there was a search."""
TYPED = (
    ("how small how long", "questions"),
    ("without a phone", "how-to/use-devices"),
    ("iOS", "questions explanation/what-it-does-not-do"),
    ("add a model", "how-to/trim-megengine how-to/bring-a-model how-to/gate-pull-requests"),
    ("crash in the field", "how-to/find-out-why-it-trapped"),
    ("input image npy jpg", "how-to/bring-a-model how-to/trim-megengine"),
    ("budget 3 MB", "how-to/budget-sizes"),
    ("exceed budget once", "questions how-to/budget-sizes how-to/trim-megengine"),
    ("gitlab", "how-to/use-any-ci"),
    ("cmake find_package link", "how-to/use-a-release"),
    ("gradle aar", "how-to/use-a-release"),
    ("keep set commit", "questions how-to/gate-pull-requests how-to/trim-megengine"),
    ("retrain", "how-to/bring-a-model questions"),
    ("fork device runner", "how-to/gate-pull-requests"),
    ("disk space delete output", "questions reference/results"),
    ("compiler cache", "how-to/share-a-compiler-cache"),
    ("stripped compressed size", "how-to/budget-sizes"),
    ("which level", "how-to/choose-a-level"),
    ("notify slower", "how-to/run-nightly-performance"),
    ("upgrade roll back", "how-to/upgrade-megtrim"),
    ("install", "how-to/install"),
)
"""What another newcomer typed."""
SEARCHED = (
    (
        "outputs differ after trimming",
        "how-to/find-out-why-it-trapped explanation/parity how-to/read-the-report",
    ),
    ("compare size with main branch", "how-to/budget-sizes"),
    ("baseline is missing", "how-to/budget-sizes how-to/use-any-ci how-to/gate-pull-requests"),
    ("slack notification", "how-to/run-nightly-performance"),
    ("merge queue", "how-to/gate-pull-requests"),
    ("jenkins", "how-to/use-any-ci"),
    ("quantized int8 model", "how-to/bring-a-model explanation/what-it-does-not-do questions"),
    ("phone offline", "how-to/use-devices how-to/set-up-a-device-host explanation/faults"),
    ("raspberry pi ssh", "how-to/use-devices"),
    (
        "biggest function in the binary",
        "how-to/find-out-why-it-is-there how-to/budget-sizes how-to/read-the-report",
    ),
    ("verify release checksum", "how-to/use-a-release how-to/release"),
    ("shared library so", "how-to/three-ways-in how-to/use-a-release"),
    ("input shape changes", "how-to/bring-a-model how-to/trim-megengine"),
    ("docker", "how-to/build-in-docker"),
    ("thermal throttling", "explanation/measured-conditions how-to/measure-times"),
    ("what does inconclusive mean", "concepts how-to/read-the-report"),
    ("exit status 3", "concepts reference/command-line"),
    ("limit peak memory", "how-to/budget-sizes explanation/counted-work"),
    ("link time optimization", "how-to/make-it-smaller"),
    (
        "two models in one program",
        "how-to/trim-megengine how-to/three-ways-in how-to/bring-a-model how-to/choose-a-level",
    ),
    ("untrusted model file security", "SECURITY"),
    ("commit keep set conflict", "how-to/gate-pull-requests questions"),
    ("flaky timing noise", "how-to/measure-times explanation/measured-conditions"),
    ("company proxy no internet", "how-to/install"),
)
"""What a third one searched for: written down before the pages were written again."""
APP_TEAM = (
    ("model file size instead of code size", "questions explanation/what-it-does-not-do"),
    ("new model crashes the app", "how-to/find-out-why-it-trapped how-to/bring-a-model questions"),
    (
        "phones with a different cpu",
        "how-to/trim-for-android explanation/brittleness questions how-to/use-devices",
    ),
    ("armeabi-v7a and arm64 together", "how-to/several-toolchains how-to/trim-for-android"),
    ("call it from kotlin or java", "how-to/use-a-release"),
    ("app starts slower", "how-to/defer-functions how-to/measure-times"),
    ("opencl npu", "explanation/what-it-does-not-do questions"),
    ("crashlytics tombstone symbols", "how-to/find-out-why-it-trapped"),
    ("put the companion file into the apk", "how-to/defer-functions"),
    ("dynamic input shape", "how-to/trim-megengine how-to/bring-a-model reference/configuration"),
    ("how much smaller does it get", "questions explanation/what-was-run-where"),
    ("quantized int8 model", "how-to/bring-a-model explanation/what-was-run-where"),
    ("our own c++ program instead of load_and_run", "how-to/trim-your-own how-to/three-ways-in"),
    ("convert from pytorch", "how-to/bring-a-model"),
    ("are the outputs exactly the same", "explanation/parity questions"),
    (
        "download size in the play store",
        "how-to/budget-sizes how-to/trim-for-android how-to/defer-functions",
    ),
    ("flags that users may change", "explanation/brittleness how-to/choose-a-level"),
    ("encrypted model", "how-to/bring-a-model how-to/trim-megengine"),
    ("licences of third parties", "how-to/use-a-release how-to/release"),
    ("16 kb page size", "how-to/use-a-release how-to/trim-for-android"),
)
"""What someone who ships an app would search for: written down before any page was opened."""
CI_OWNER = (
    ("how many runner minutes does it need", "explanation/what-a-pull-request-costs"),
    ("required status check", "how-to/gate-pull-requests"),
    (
        "self-hosted runner security",
        "how-to/set-up-a-device-host SECURITY how-to/gate-pull-requests",
    ),
    (
        "permissions of the token",
        "how-to/gate-pull-requests reference/workflows how-to/set-up-a-device-host SECURITY",
    ),
    ("cache builds between runs", "how-to/share-a-compiler-cache reference/workflows"),
    (
        "flaky device",
        "explanation/pool how-to/use-devices explanation/faults how-to/set-up-a-device-host",
    ),
    ("pin a version of megtrim", "how-to/upgrade-megtrim how-to/gate-pull-requests how-to/install"),
    (
        "exit status 3",
        "concepts how-to/find-a-message how-to/use-any-ci reference/results how-to/release",
    ),
    (
        "junit test report",
        "how-to/use-any-ci how-to/read-the-report reference/results how-to/gate-pull-requests",
    ),
    ("baseline is missing", "how-to/budget-sizes how-to/use-any-ci"),
    ("allow growth this time", "how-to/budget-sizes questions how-to/trim-megengine"),
    ("do I need docker", "how-to/build-in-docker questions"),
    ("no comment on a pull request from a fork", "how-to/gate-pull-requests"),
    ("issue when it gets slower", "how-to/run-nightly-performance"),
    (
        "phone unplugged during a job",
        "explanation/faults explanation/pool how-to/set-up-a-device-host how-to/use-devices",
    ),
    (
        "keep set out of date",
        "how-to/gate-pull-requests how-to/find-out-why-it-trapped how-to/release questions",
    ),
    ("reproducible build", "how-to/release explanation/what-was-run-where"),
    ("proxy without internet", "how-to/install how-to/build-in-docker"),
    (
        "timeout of a job",
        "how-to/gate-pull-requests how-to/set-up-a-device-host reference/workflows",
    ),
    ("monorepo with several programs", "how-to/gate-pull-requests how-to/several-toolchains"),
)
"""What someone who runs a company's CI would search for: the same."""
LEAST_RIGHT = 17


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


@pytest.mark.parametrize(
    "questions",
    [QUESTIONS, TYPED, SEARCHED, APP_TEAM, CI_OWNER],
    ids=["asked", "typed", "searched", "app team", "CI owner"],
)
def test_newcomers_find_an_answer_first(
    driver: webdriver.Chrome, site: Path, questions: tuple[tuple[str, str], ...]
) -> None:
    found = {question: find_first(driver, site, question) for question, _ in questions}
    wrong = {
        question: found[question]
        for question, answers in questions
        if found[question].removeprefix("docs/") not in answers.split()
    }

    assert len(questions) - len(wrong) >= LEAST_RIGHT, wrong


def test_a_question_with_an_unknown_word_has_an_answer(
    driver: webdriver.Chrome, site: Path
) -> None:
    assert find_first(driver, site, "uninstall this gizmo") == "docs/how-to/install"
