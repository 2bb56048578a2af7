import io
import json
import time
from itertools import pairwise

import pytest

from megtrim.libs.util.console import Console, SparseLines, name_file, show_time
from megtrim.libs.util.environment import describe_ignored, is_name, is_value, select_passed
from megtrim.libs.util.errors import (
    InfrastructureFailure,
    InputError,
    Interrupted,
    MegtrimError,
    ProductFailure,
    worst_exit_code,
)
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.libs.util.wording import COMMIT_DIGEST, cut, make_printable


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds, as the test says."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_lines_are_said_and_warned_of_on_a_clean_line() -> None:
    stream = io.StringIO()
    console = Console(stream)

    console.say("one")
    console.warn("two")

    assert stream.getvalue() == "one\nwarning: two\n"
    stream = Terminal()
    console = Console(stream)

    console.show("3 of 4")
    console.warn("careful")

    assert stream.getvalue() == "\r\x1b[2K3 of 4\r\x1b[2Kwarning: careful\n"


def test_quiet_leaves_warnings() -> None:
    stream = Terminal()
    clock = Clock()
    console = Console(stream, quiet=True, clock=clock)
    progress = console.progress("building")

    console.say("one")
    console.note("working")
    clock.now += 60
    progress(1, 2, "a.o")
    console.beat()
    console.warn("two")

    assert stream.getvalue() == "warning: two\n"


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_a_log_gets_a_plain_line_every_15_seconds(stream: io.StringIO) -> None:
    """What a CI service shows of a terminal are whole lines, so a job's gets those of a log."""
    clock = Clock()
    progress = Console(stream, in_job=stream.isatty(), clock=clock).progress("building plain")

    progress(0, 360, "begin")
    for done, after_s in ((1, 14.9), (30, 0.1), (31, 14.9), (60, 0.1)):
        clock.now += after_s
        progress(done, 360, f"Building CXX object lib.dir/{'src/' * 20}f{done}.cpp.o")

    assert stream.getvalue() == (
        "  building plain: 30 of 360 · f30.cpp\n"
        "  building plain: 60 of 360 · f60.cpp · about 1 min 17 s left\n"
    )


def test_a_terminal_gets_one_line_that_changes() -> None:
    stream = Terminal()
    clock = Clock()
    console = Console(stream, clock=clock)
    progress = console.progress("building")

    progress(0, 4, "begin")
    for done, after_s in ((1, 0.1), (2, 0.15), (3, 0.1), (4, 0.15)):
        clock.now += after_s
        progress(done, 4, f"{done}.o")
    console.say("done")
    console.say("again")

    assert stream.getvalue() == (
        "\r\x1b[2K  building: 2 of 4 · 2.o\r\x1b[2K  building: 4 of 4 · 4.o\r\x1b[2Kdone\nagain\n"
    )


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("Building CXX object lite/CMakeFiles/x.dir/src/outputs.cpp.o", "outputs.cpp"),
        ("Linking CXX executable bin/load_and_run", "Linking CXX executable bin/load_and_run"),
        ("Generating flatbuffers/schema.fbs", "schema.fbs"),
        ("configuring the engine", "configuring the engine"),
        ("a.obj", "a.obj"),
        ("", ""),
    ],
)
def test_a_step_is_named_by_its_file(item: str, name: str) -> None:
    assert name_file(item) == name


def test_time_left_counts_from_where_a_build_goes_on() -> None:
    stream = Terminal()
    clock = Clock()
    progress = Console(stream, clock=clock).progress("building")
    for done in (90, 92, 94, 100):
        progress(done, 100, "x")
        clock.now += 5

    last = stream.getvalue().split("\r\x1b[2K")[1:]
    assert last == [
        "  building: 92 of 100 · x",
        "  building: 94 of 100 · x · about 15 s left",
        "  building: 100 of 100 · x",
    ]


def test_a_heartbeat_says_what_is_done_and_for_how_long() -> None:
    terminal = Terminal()
    log = io.StringIO()
    clock = Clock()
    for stream, silence_s in ((terminal, 2), (log, 20)):
        console = Console(stream, clock=clock)
        console.say("  run   verify/m")
        clock.now += silence_s - 0.1
        console.beat()
        clock.now += 0.1
        console.beat()
        console.beat()

    assert terminal.getvalue() == "  run   verify/m\n\r\x1b[2K  run   verify/m · 2 s"
    assert log.getvalue() == "  run   verify/m\n  run   verify/m · 20 s\n"


def test_a_heartbeat_knows_the_step_that_was_not_worth_showing() -> None:
    stream = Terminal()
    clock = Clock()
    console = Console(stream, clock=clock)
    progress = console.progress("building plain")

    progress(0, 0, "configuring the engine")
    clock.now += 70
    console.beat()
    console.say("done")

    shown = "  building plain: configuring the engine · 1 min 10 s"
    assert stream.getvalue() == f"\r\x1b[2K{shown}\r\x1b[2Kdone\n"


def test_a_silent_program_does_not_stop_the_screen() -> None:
    written: list[float] = []

    class Watched(Terminal):
        def write(self, text: str) -> int:
            written.append(time.monotonic())
            return super().write(text)

    stream = Watched()
    console = Console(stream)
    began = time.monotonic()
    with console.heartbeat():
        console.say("  run   build/plain")
        ProcessRunner({}).run(Command(argv=("/bin/sleep", "7"), timeout_s=30))

    times = [began, *written, time.monotonic()]
    assert max(later - sooner for sooner, later in pairwise(times)) < 5
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_sparse_lines_are_said_every_15_seconds() -> None:
    said = list[str]()
    clock = Clock()
    lines = SparseLines(said.append, clock)

    for text, after_s in (("1", 0), ("2", 14.9), ("3", 0.1), ("4", 1)):
        clock.now += after_s
        lines.say(text)
    lines.say_now("5")
    clock.now += 14.5
    lines.say("6")

    assert said == ["3", "5"]


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.2, "0 s"), (42.4, "42 s"), (60, "1 min 0 s"), (1621, "27 min 1 s")]
)
def test_times_that_are_left_are_shown_in_whole_seconds(seconds: float, shown: str) -> None:
    assert show_time(seconds) == shown


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("short", 5, "short"),
        ("it trapped: five regions, of two models", 30, "it trapped: five regions"),
        ("one long sentence without a pause", 12, "one long se…"),
        ("a: b", 3, "a:…"),
    ],
)
def test_a_sentence_is_cut_at_a_pause(text: str, most: int, shown: str) -> None:
    assert cut(text, most) == shown


PLAIN = (
    "",
    "a b\n\tc",
    "models/模型.mge",
    "10 000 - 3 µs",
    "C:\\x",
    "a::b",
    "std::v",
    "#[x]",
    "# #",
)
SHOWN = {
    "\x1b[31mred": "\\u001b[31mred",
    "\x1b]0;title\x07": "\\u001b]0;title\\u0007",
    "a\rb": "a\\u000db",
    "\x9b31m": "\\u009b31m",
    "exe.\u202egnp": "exe.\\u202egnp",
    "\u2066a\u2069": "\\u2066a\\u2069",
    "\u061ca": "\\u061ca",
    "a\u200bb\ufeff": "a\\u200bb\\ufeff",
    "a\u2028b": "a\\u2028b",
    "\U000e0041": "\\udb40\\udc41",
    "\ud800": "\\ud800",
    "\x00": "\\u0000",
    "::error::x": "\\u003a:error::x",
    "a\n  ::set-env name=A::b": "a\n  \\u003a:set-env name=A::b",
    "\u00a0::stop-commands::x": "\u00a0\\u003a:stop-commands::x",
    "a\r::debug::x": "a\\u000d::debug::x",
    "x ##[error]a": "x #\\u0023[error]a",
    "##vso[task.setvariable]": "#\\u0023vso[task.setvariable]",
}


@pytest.mark.parametrize("text", PLAIN)
def test_what_anyone_can_see_stays(text: str) -> None:
    assert make_printable(text) == text


@pytest.mark.parametrize("text", SHOWN)
def test_what_is_not_seen_is_spelled_out(text: str) -> None:
    assert make_printable(text) == SHOWN[text]
    assert make_printable(SHOWN[text]) == SHOWN[text]


@pytest.mark.parametrize("text", [text for text in SHOWN if text != "\x00"])
def test_a_document_stays_the_same(text: str) -> None:
    written = json.dumps({"name": f"##[{text}"}, ensure_ascii=False, indent=1)

    assert json.loads(make_printable(written)) == json.loads(written)


@pytest.mark.parametrize(
    ("text", "names_a_commit"),
    [
        ("0123456789" * 4, True),
        ("ab" * 32, True),
        *((text, False) for text in ("", "1a2b3c4", "a" * 39, "a" * 41, "a" * 63, "a" * 65)),
        *((text, False) for text in ("A" * 40, "g" * 40, "a" * 40 + "\n", "\uff11" * 40)),
    ],
)
def test_only_a_whole_digest_names_a_commit(text: str, names_a_commit: bool) -> None:
    assert (COMMIT_DIGEST.fullmatch(text) is not None) is names_a_commit


def test_endings_have_their_exit_status_and_hints_stand_below() -> None:
    kinds = (ProductFailure, InputError, InfrastructureFailure, Interrupted)

    assert [kind.exit_code for kind in kinds] == [1, 2, 3, 130]
    assert str(InputError("no model", hint="name one")) == "no model\n  name one"
    assert str(MegtrimError("no model")) == "no model"


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], 0),
        ([0, 0], 0),
        ([0, 3], 3),
        ([3, 1], 1),
        ([1, 2, 3], 2),
        ([2, 70, 1], 70),
        ([70, 130, 2, 1, 3, 0], 130),
    ],
)
def test_a_chain_exits_as_its_worst_stage(codes: list[int], expected: int) -> None:
    assert worst_exit_code(codes) == expected


def test_what_a_program_printed_can_be_left_out() -> None:
    error = ProductFailure("plain does not compile:\na.cpp:1: error\n  int secret;", hint="x")
    error.shorten()
    plain = ProductFailure("one line")
    plain.shorten()

    assert error.message.startswith("plain does not compile: its output is not shown")
    assert "secret" not in str(error)
    assert plain.message == "one line"


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "_", "a1", "PATHS", "MGB_LOG"])
def test_any_other_variable_is_a_scenarios(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A B",
        "A=B",
        "1A",
        "a-b",
        "A\n",
        "A" * 201,
        "PATH",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "QEMU_LOG",
        "MIDOUT_OUTPUT",
        "MEGTRIM_PADDING",
    ],
)
def test_what_launchers_and_megtrim_read_is_refused(name: str) -> None:
    assert not is_name(name)


def test_a_value_is_one_line() -> None:
    assert is_value("")
    assert is_value("a=b 'c' \N{GREEK SMALL LETTER ALPHA}")
    assert not is_value("a\nb")
    assert not is_value("\0")
    assert not is_value("x" * 4097)


def test_only_what_no_key_has_to_contain_passes() -> None:
    env = {"PATH": "/bin", "CCACHE_DIR": "/c", "LC_ALL": "de_DE.UTF-8", "GITHUB_TOKEN": "t"}

    passed = select_passed({**env, "CLICOLOR_FORCE": "1", "CXXFLAGS": "-O0"})
    assert passed == {"PATH": "/bin", "CCACHE_DIR": "/c"}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("PATH HOME LANG CI ANDROID_HOME ANDROID_NDK_ROOT CCACHE_DIR ZIG_GLOBAL_CACHE_DIR", ""),
        ("FORCE_COLOR PYTHONPATH GCC_VERSION LDAP_HOST ARCH CCACHE", ""),
        ("LDFLAGS CXXFLAGS PATH", "CXXFLAGS, LDFLAGS"),
        ("CPATH CPLUS_INCLUDE_PATH C_INCLUDE_PATH LIBRARY_PATH LD_RUN_PATH", None),
        ("COMPILER_PATH GCC_EXEC_PREFIX SOURCE_DATE_EPOCH LDEMULATION", None),
        ("CMAKE_PREFIX_PATH CMAKE_BUILD_TYPE CMAKE_GENERATOR CMAKE_TOOLCHAIN_FILE CC CXX", None),
        ("ZIG_LIB_DIR CCC_OVERRIDE_OPTIONS NINJA_STATUS NINJAFLAGS MAKEFLAGS", None),
        ("CCACHE_SLOPPINESS CCACHE_PREFIX CCACHE_COMPILER", None),
        (
            "LD_PRELOAD LD_LIBRARY_PATH GLIBC_TUNABLES MALLOC_ARENA_MAX QEMU_CPU QEMU_LD_PREFIX",
            None,
        ),
    ],
)
def test_what_tools_would_have_read_is_named(names: str, expected: str | None) -> None:
    wanted = ", ".join(sorted(names.split())) if expected is None else expected
    found = describe_ignored(names.split())

    assert found.startswith(f"ignored: {wanted}: " if wanted else "")
    assert bool(found) is bool(wanted)
