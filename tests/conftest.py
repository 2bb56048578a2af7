"""Lanes: groups of tests that need the same things around them.

A lane that this machine cannot run is listed and skipped; where ``MEGTRIM_LANES=required`` is
set, it fails instead. Minutes and starts per lane, and the tokens of
each part of the code, stand above the runner's summary line.
"""

import importlib
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from megtrim.core.parts import hand_in
from megtrim.libs.util.process import ProcessRunner
from megtrim.parts import PARTS
from support import heap, tokens
from support.starts import begin_counting, count_for, describe, fail_excess, read_starts

# A busy machine is slow, and no test is about time.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
hand_in(PARTS)

_PHONE = ("adb", "ip", "tc", "qemu-aarch64-static", "aarch64-linux-gnu-g++")
LANES: dict[str, tuple[str, ...]] = {
    "unit": (),
    "walls": (),
    "chain": (
        "qemu-aarch64-static",
        "qemu-aarch64",
        "g++",
        "make",
        "cargo",
        "git",
        "curl",
        "time",
        "strip",
        "llvm-strip-14",
        "eu-strip",
        "patchelf",
    ),
    "clang": (
        "qemu-aarch64-static",
        "qemu-arm-static",
        "clang++-14",
        "ld.lld-14",
        "aarch64-linux-gnu-g++",
        "arm-linux-gnueabihf-g++",
    ),
    "blocks": ("qemu-aarch64", "clang++-22", "ld.lld-22", "aarch64-linux-gnu-g++", "make"),
    "compiler_cache": ("ccache", "redis-server", "g++"),
    "browser": ("chromium", "chromedriver"),
    "workflows": ("zizmor", "actionlint"),
    "act": ("act", "git", "g++", "time", "adb", "ip", "qemu-aarch64-static"),
    "devices": (*_PHONE, "ssh", "sshd"),
    "faults": _PHONE,
    "device_host": (
        "docker",
        "mmdebstrap",
        "systemd-analyze",
        "udevadm",
        "adb",
        "aarch64-linux-gnu-g++",
    ),
    "images": ("docker", "mmdebstrap", "git", "ip"),
    "engine": (),
}
"""Programs that each lane needs. ``engine`` needs a checkout, named by MEGTRIM_ENGINE."""

ENGINE_VARIABLE = "MEGTRIM_ENGINE"
_TESTS = Path(__file__).parent
_QUICK = ("unit", "walls")
"""Lanes whose files take seconds: they come last, so that no worker ends long after the others."""
LONGEST = (
    "act/test_story.py",
    "act/test_faults.py",
    "act/test_configurations.py",
    "integration/test_chain.py",
    "integration/test_evidence.py",
    "integration/test_perf_run.py",
    "integration/test_any_program.py",
    "integration/test_applications.py",
    "integration/devices/test_pages.py",
    "integration/devices/test_phone_of_a_team.py",
    "act/test_nights.py",
    "act/test_release_kit.py",
    "integration/devices/test_recorders_on_a_phone.py",
    "act/test_virtual_phone.py",
    "integration/devices/test_devices_cli.py",
    "integration/test_commands.py",
    "integration/test_next_steps.py",
    "integration/test_miniature_trees.py",
    "integration/test_first_hour.py",
    "integration/test_planted_functions.py",
)
"""Files that take half a minute to ten minutes, the longest first."""
TOGETHER = ("attacks", "images")
"""Folders whose files share one arena, or images: one worker has them all, and no one waits."""
_TOKENS = "megtrim/tokens"
"""Where the runner's cache keeps the tokens of files."""
_LANE = pytest.StashKey[str]()
_REQUIRED = os.environ.get("MEGTRIM_LANES") == "required"
_SPARED = {"engine", *os.environ.get("MEGTRIM_LANES_SPARED", "").split()}
"""Lanes that need not run where all are required."""


def pytest_configure(config: pytest.Config) -> None:
    """Hear signals also in a shell's background job, which ignores two of them.

    The programs that tests start by other ways than the product's would inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    begin_counting(config)
    _keep_zig_in_one_place()


def _keep_zig_in_one_place() -> None:
    """Let zig compile its C library once, for tests with another home and for other checkouts.

    It looks that up by where its own files lie, so all checkouts take them from one folder.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(caches / "zig"))
    place = caches / "megtrim" / f"zig-{version('ziglang')}"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            whole = Path(folder, "whole")
            spec = importlib.util.find_spec("ziglang")
            assert spec is not None
            assert spec.origin is not None
            shutil.copytree(
                Path(spec.origin).parent, whole / "ziglang", copy_function=_link_or_copy
            )
            with suppress(OSError):  # another worker was quicker
                whole.rename(place)
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))
        os.environ["PYTHONPATH"] = os.pathsep.join((os.environ["PYTHONPATH"], str(place)))


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def pytest_sessionfinish(session: pytest.Session) -> None:
    fail_excess(session)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give the tests of a file to one worker, and so those of some folders."""
    if config.getvalue("dist") != "loadfile":
        return None
    scheduling = importlib.import_module("xdist.scheduler").LoadFileScheduling(config, log)
    scheduling._split_scope = _find_scope
    return scheduling


def _find_scope(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    return next((name for name in TOGETHER if f"/{name}/" in f"/{file}"), file)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put every test into a lane, by its own marker or by its folder, and the files in order."""
    order = list(LANES)
    latest: dict[Path, int] = defaultdict(int)
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        own = next((lane for lane in LANES if lane in marks), "")
        item.stash[_LANE] = own or _lane_of_folder(item)
        if not own:
            item.add_marker(item.stash[_LANE])
        latest[item.path] = max(latest[item.path], order.index(_lane(item)))
    places = _arrange({path: order[rank] for path, rank in latest.items()})
    items.sort(key=lambda item: places[item.path])


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    with heap.collecting():
        collected = yield
    if len(session.items) > heap.MANY_TESTS:
        heap.settle()
    return collected


def _arrange(lanes: Mapping[Path, str]) -> Mapping[Path, tuple[int, float]]:
    """Return the place of each file: the longest first, the quick ones last.

    Those between stand evenly, folder by folder: the files of one wait for the same phones, and
    those of another compute meanwhile.
    """
    longest = {_TESTS / name: number for number, name in enumerate((*TOGETHER, *LONGEST))}
    places: dict[Path, tuple[int, float]] = {}
    folders: dict[Path, list[Path]] = defaultdict(list)
    for path, lane in lanes.items():
        if first := {path, path.parent} & longest.keys():
            places[path] = (0, min(longest[name] for name in first))
        elif lane in _QUICK:
            places[path] = (2, -_QUICK.index(lane))
        else:
            folders[path.parent].append(path)
    for folder in folders.values():
        places |= {path: (1, number / len(folder)) for number, path in enumerate(folder)}
    return places


def _lane_of_folder(item: pytest.Item) -> str:
    folders = item.path.relative_to(_TESTS).parts
    return next((folder for folder in folders if folder in LANES), "unit")


def _lane(item: pytest.Item) -> str:
    return item.stash[_LANE]


def _lacking(lane: str) -> list[str]:
    # Debian has some programs where only root's path leads; others may run them, too.
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    lacking = [name for name in LANES[lane] if shutil.which(name, path=path) is None]
    if lane == "engine" and not os.environ.get(ENGINE_VARIABLE):
        lacking.append(f"a checkout named by {ENGINE_VARIABLE}")
    return lacking


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or fail where the lane is required, when something it needs is not there."""
    lane = _lane(item)
    count_for(lane)
    lacking = _lacking(lane)
    if not lacking:
        return
    reason = f"lane {lane} needs {', '.join(lacking)}"
    if _REQUIRED and lane not in _SPARED:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let each report know its lane, also across worker processes."""
    report = yield
    report.user_properties.append(("lane", _lane(item)))
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print tests and minutes per lane, the lanes that did not run, and how much code there is."""
    seconds: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    skipped: dict[str, int] = defaultdict(int)
    for reports in terminalreporter.stats.values():
        for report in reports:
            lane = dict(getattr(report, "user_properties", ())).get("lane")
            if lane is not None:
                seconds[lane] += report.duration
                counts[lane] += report.when == "call"
                skipped[lane] += report.skipped
    starts = read_starts()
    terminalreporter.section("lanes")
    for lane in LANES:
        lacking = ", ".join(_lacking(lane))
        missing = f"  (not run: needs {lacking})" if lacking else ""
        figures = f"{counts[lane]:>6} tests{seconds[lane] / 60:>7.1f} min"
        line = f"{lane:<14}{figures}{describe(starts.get(lane, {}))}{missing}"
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"tokens: {_describe_tokens(config)}")


def _describe_tokens(config: pytest.Config) -> str:
    """Count each part of the code, also where no cache is kept between runs."""
    cache = getattr(config, "cache", None)
    before = {} if cache is None else cache.get(_TOKENS, {})
    known = dict(before)
    counts = tokens.count_parts(known)
    if cache is not None and known != before:
        cache.set(_TOKENS, known)
    return tokens.describe(counts)


@pytest.fixture(scope="session")
def processes() -> ProcessRunner:
    """The environment of the test run, as the command line would read it."""
    return ProcessRunner(os.environ)


@pytest.fixture(scope="session")
def shared_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of results for all tests and workers; the store keeps them apart."""
    base = tmp_path_factory.getbasetemp()
    root = base.parent if base.name.startswith("popen-") else base
    shared = root / "shared-out"
    shared.mkdir(exist_ok=True)
    return shared


@pytest.fixture(autouse=True, scope="session")
def _no_repository_above(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let git not find a repository above the tests' folders, wherever those are."""
    os.environ["GIT_CEILING_DIRECTORIES"] = str(tmp_path_factory.getbasetemp())


@pytest.fixture(autouse=True, scope="session")
def _state_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let what megtrim remembers between runs be the tests' own, shared by their workers."""
    base = tmp_path_factory.getbasetemp()
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    os.environ["XDG_STATE_HOME"] = str((base if alone else base.parent) / "state")


@pytest.fixture(autouse=True, scope="session")
def _no_preprocessing_for_the_compiler_cache() -> None:
    """Let ccache look a file up by what it includes alone.

    What it would find by the preprocessed text is one call in eighty here.
    """
    os.environ["CCACHE_DEPEND"] = "1"


@pytest.fixture(autouse=True)
def _environment_unchanged() -> Iterator[None]:
    """No test may leave another environment behind for the next one."""
    before = dict(os.environ)
    yield
    changed = {key for key in {*before, *os.environ} if before.get(key) != os.environ.get(key)}
    assert changed <= {"PYTEST_CURRENT_TEST"}
