import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.devices.device import Timeouts
from megtrim.places.devices.remote.run_directory import RemoteMachine
from megtrim.places.devices.remote.scripts import (
    ExitReport,
    RemoteFile,
    SetupReply,
    forward_until,
    parse_digests,
    parse_exit,
    parse_files,
    parse_others,
    parse_setup,
)
from megtrim.places.devices.remote.transport import (
    ConnectionLost,
    NoSpace,
    call,
    expect_pushed,
    expect_transferred,
    frame,
    free_kb,
    new_nonce,
    step_of,
    summarize_output,
    unframe,
    unframe_outcome,
    watch_machine,
)
from megtrim.places.devices.written import Entry, WrittenKind
from support.clock import until
from unit.places.devices.links import FolderLink, losing
from unit.places.devices.machines import make_spec

TIMEOUTS = Timeouts(heartbeat_s=0.02, probe_s=5.0, poll_s=0.01)


def counting(probes: list[str], fault: Callable[[str], None]) -> Callable[[str], None]:
    def before(marker: str) -> None:
        probes.append(marker)
        fault(marker)

    return before


def test_a_machine_that_is_gone_aborts_the_work(link: FolderLink, tmp_path: Path) -> None:
    """After a second probe: a refusal comes at once, and may be a moment's."""
    probes: list[str] = []
    link.before = counting(probes, losing("probe"))
    with (
        pytest.raises(ConnectionLost, match="no sign of life for 0 s while running p"),
        watch_machine(link, TIMEOUTS, str(tmp_path), "running p") as watch,
    ):
        assert watch.abort.wait(30)

    assert probes == ["probe", "probe"]


def test_a_machine_that_answers_is_left_alone_and_may_refuse_once(
    link: FolderLink, tmp_path: Path
) -> None:
    probes: list[str] = []

    def lose_once(_marker: str) -> None:
        if len(probes) == 1:
            losing("probe")("probe")

    link.before = counting(probes, lose_once)
    with watch_machine(link, TIMEOUTS, str(tmp_path), "running p") as watch:
        until(lambda: len(probes) >= 4, "more probes")
        assert (watch.abort.is_set(), watch.was_full) == (False, False)


def test_a_full_machine_is_noticed(link: FolderLink, tmp_path: Path) -> None:
    """What a program wrote there may be cut short."""
    (tmp_path / "bin").mkdir()
    df = tmp_path / "bin" / "df"
    df.write_text("#!/bin/sh\necho head\necho /dev/x 100 90 10 90% /\n", encoding="utf-8")
    df.chmod(0o755)
    link.path = f"{tmp_path / 'bin'}:{link.path}"
    with watch_machine(link, TIMEOUTS, str(tmp_path), "running p") as watch:
        until(lambda: watch.was_full, "a probe")
        assert not watch.abort.is_set()


def test_the_watch_ends_with_its_block(link: FolderLink, tmp_path: Path) -> None:
    before = threading.active_count()
    with pytest.raises(KeyError), watch_machine(link, TIMEOUTS, str(tmp_path), "running p"):
        raise KeyError

    until(lambda: threading.active_count() == before, "the end of the watch")


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("megtrim free=12\n", 12),
        ("noise\nmegtrim free=0\nmegtrim free=9\n", 0),
        ("megtrim free=-1\n", None),
        (" megtrim free=1\n", None),
        ("megtrim free=1234567890123456\n", None),
        ("", None),
    ],
)
def test_free_space_is_read_from_its_own_line(text: str, free: int | None) -> None:
    assert free_kb(text) == free


NONCE = "end-0123456789abcdef"


def outcome(stdout: str = "", stderr: str = "", **changes: Any) -> CompletedCommand:
    usual = {"argv": ("tool",), "rc": 0, "wall_s": 1.5, "timed_out": False}
    return CompletedCommand(stdout=stdout, stderr=stderr, **{**usual, **changes})


@pytest.fixture
def link(processes: ProcessRunner) -> FolderLink:
    return FolderLink(processes)


@given(st.text(), st.integers(min_value=0, max_value=255))
def test_what_was_printed_comes_back_exactly(text: str, rc: int) -> None:
    assert unframe(f"{text}\n{NONCE} {rc}\n", NONCE) == (text, rc)


@given(st.text(), st.integers(min_value=0, max_value=9), st.data())
def test_a_cut_stream_is_no_end(text: str, rc: int, data: st.DataObject) -> None:
    whole = f"{text}\n{NONCE} {rc}"
    length = data.draw(st.integers(min_value=0, max_value=len(whole) - 1))
    assert unframe(whole[:length], NONCE) is None


@pytest.mark.parametrize("trailer", ["", "x", "-1", "1 2", "1\n2", "²", "1x", "9" * 5000])
def test_an_odd_status_is_no_end(trailer: str) -> None:
    assert unframe(f"text\n{NONCE} {trailer}\n", NONCE) is None


def test_old_phones_end_lines_with_two_characters() -> None:
    assert unframe(f"text\n{NONCE} 7\r\n", NONCE) == ("text", 7)


@settings(max_examples=20)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00\r")), max_size=4))
def test_arguments_arrive_as_they_are(arguments: list[str]) -> None:
    script = 'printf "%s|" "$#" "$@"; exit 3'
    argv = ("sh", "-c", frame(script, tuple(arguments), NONCE))
    run = ProcessRunner({**os.environ, "LC_ALL": "C.UTF-8"}).run(Command(argv=argv, timeout_s=10))

    assert unframe(run.stdout, NONCE) == ("|".join([str(len(arguments)), *arguments, ""]), 3)


def test_a_shell_that_is_killed_is_a_lost_link(link: FolderLink) -> None:
    with pytest.raises(ConnectionLost) as caught:
        link.shell("# megtrim:get\necho some; echo 'error: closed' >&2; kill -9 $$", timeout_s=5)

    assert caught.value.message == (
        "board (test): the link was lost while looking for results: error: closed"
    )


def test_a_slow_call_and_an_aborted_one_are_values() -> None:
    for given_up in (outcome("cut", timed_out=True), outcome("cut", aborted=True)):
        assert unframe_outcome(given_up, NONCE, label="x", script="") is given_up


def test_what_came_with_the_end_is_kept() -> None:
    whole = outcome(f"a\nb\n\n{NONCE} 5\n", "err", rc=1)

    assert unframe_outcome(whole, NONCE, label="x", script="") == outcome("a\nb\n", "err", rc=5)


@pytest.mark.parametrize(
    ("script", "step"),
    [
        ("# megtrim:enter\n", "entering it"),
        ("# megtrim:probe\n", "asking whether it is there"),
        ("# megtrim:other\n", "talking to it"),
        ("echo", "talking to it"),
    ],
)
def test_steps_have_words(script: str, step: str) -> None:
    assert step_of(script) == step


def test_a_call_that_must_succeed_says_why_it_did_not(link: FolderLink) -> None:
    assert call(link, 'echo "$1"', "word", timeout_s=5) == "word\n"
    with pytest.raises(InfrastructureFailure, match=r"preparing the run ended with 3: a; b$"):
        call(link, "# megtrim:put\necho a >&2; echo b >&2; exit 3", timeout_s=5)
    with pytest.raises(NoSpace, match=r"^board \(test\): no space left while preparing the run\n"):
        call(link, "# megtrim:put\necho 'cp: x: No space left on device' >&2; exit 1", timeout_s=5)
    with pytest.raises(ConnectionLost, match=r"no answer within 1 s while cleaning up$"):
        call(link, "# megtrim:clean\nexec sleep 9", timeout_s=1)


def test_signs_of_life(processes: ProcessRunner, tmp_path: Path) -> None:
    said: list[str] = []
    link = FolderLink(processes)
    machine = RemoteMachine(make_spec(tmp_path, said=said), link, ("fake:1",))
    assert machine.alive()
    link.before = losing("probe")
    assert [machine.alive(), machine.alive()] == [False, False]
    assert said == [f"  lost  {machine.trouble}"]
    cut = FolderLink(processes, cut="probe")
    assert not RemoteMachine(make_spec(tmp_path), cut, ("fake:1",)).alive()


def test_transfers_tell_why_they_failed() -> None:
    full = outcome(stderr="adb: error: ... remote No space left on device\n", rc=1)
    for check in (expect_transferred, expect_pushed):
        check(outcome(), label="x", step="moving", timeout_s=5)
        check(outcome(rc=1, aborted=True), label="x", step="moving", timeout_s=5)
        with pytest.raises(ConnectionLost, match=r"^x: no answer within 5 s while moving$"):
            check(outcome(timed_out=True), label="x", step="moving", timeout_s=5)
        with pytest.raises(ConnectionLost, match=r"^x: the link was lost while moving: gone$"):
            check(outcome(stderr="gone", rc=1), label="x", step="moving", timeout_s=5)
    with pytest.raises(NoSpace, match=r"^x: no space left while moving\n"):
        expect_pushed(full, label="x", step="moving", timeout_s=5)
    with pytest.raises(ConnectionLost):
        expect_transferred(full, label="x", step="moving", timeout_s=5)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("\n", "it ended without a message"),
        ("a\n\n b \nc\nd\n", "b; c; d"),
        ("x" * 300, "x" * 300),
        ("a" + "x" * 300, "…" + "x" * 299),
        ("\x1b]0;mine\x07 ##[error]x\n", "\ufffd]0;mine\ufffd # #[error]x"),
    ],
    ids=["nothing", "the last lines", "300", "301", "commands"],
)
def test_what_a_tool_said_is_kept_short_and_commands_nothing(said: str, kept: str) -> None:
    assert summarize_output(said) == kept


def test_nonces_differ() -> None:
    assert len({new_nonce() for _ in range(50)}) == 50


def test_a_lost_link_ends_the_script_by_its_own_trap(link: FolderLink) -> None:
    reported = link.shell("trap 'echo heard; exit 4' HUP; kill -HUP $$; sleep 5", timeout_s=10)

    assert (reported.stdout, reported.rc) == ("heard\n", 4)


A = "a" * 64
B = "b" * 40
ENTRY = (
    f"megtrim root=/r/m\nmegtrim sum=sha256sum\nmegtrim file={A}\nmegtrim file={B}.part\n"
    "megtrim file=*\nmegtrim free=1234\n"
)
MADE = (
    "megtrim size=5 ./out/a b\nmegtrim size=0 ./t\n"
    f"{A}  ./out/a b\n{B}  ./t\nmegtrim surveyed=yes\n"
)
ENDED = "megtrim pid=77\nmegtrim rc=133\nmegtrim began=10.25\nmegtrim ended=11.50\n"


@pytest.mark.parametrize(("program", "algorithm"), [("sha256sum", "sha256"), ("sha1sum", "sha1")])
def test_an_entry(program: str, algorithm: str) -> None:
    entry = parse_setup(ENTRY.replace("sha256sum", program))
    assert entry == SetupReply(root="/r/m", program=program, cached=frozenset({A}), free_kb=1234)
    assert entry.algorithm == algorithm


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("megtrim root=/r/m\n", ""),
        ("megtrim sum=sha256sum\n", ""),
        ("megtrim free=1234\n", ""),
        ("=/r/m", "=r/m"),
        ("=sha256sum", "=cksum"),
        ("=1234", "=-1"),
        ("34", "²"),
        ("34", "9" * 5000),
    ],
)
def test_an_entry_with_something_missing_or_odd_is_none(right: str, wrong: str) -> None:
    assert parse_setup(ENTRY.replace(right, wrong)) is None


def test_digests_of_files_of_any_name() -> None:
    assert parse_digests(f"{A}  ./model.mge\n{B}  x\nnoise\n{A[1:]}  short\n") == {
        "model.mge": A,
        "x": B,
    }
    assert parse_digests(f"\\{A}  ./a\\\\n\n{B}  ./b\\n\n") == {"a\\n": A, "b\\n": B}


def test_what_was_made() -> None:
    assert parse_files(MADE) == {
        "out/a b": RemoteFile(size_bytes=5, digest=A),
        "t": RemoteFile(size_bytes=0, digest=B),
    }
    assert parse_files("megtrim surveyed=yes\n") == {}


@pytest.mark.parametrize("line", range(5))
def test_a_survey_that_lost_a_line_is_none(line: int) -> None:
    lines = MADE.splitlines(keepends=True)
    del lines[line]
    assert parse_files("".join(lines)) is None


def test_what_else_was_left() -> None:
    text = "".join(
        f"megtrim {line}\n"
        for line in (
            "mode=41ed .",
            "mode=41ed ./out",
            "mode=a1ff ./out/a b",
            "mode=11a4 ./out/p",
            "mode=8124 ./out/odd",
            "mode=xyz ./out/q",
            "broken=./out/new",
        )
    )
    assert parse_others(text) == (
        Entry(path="out", kind=WrittenKind.FOLDER),
        Entry(path="out/a b", kind=WrittenKind.LINK),
        Entry(path="out/p", kind=WrittenKind.OTHER),
        Entry(path="out/odd", kind=WrittenKind.OTHER),
        Entry(path="out/new\n", kind=WrittenKind.FILE),
    )


def test_how_a_run_ended() -> None:
    assert parse_exit(ENDED + MADE + "megtrim free=9\n") == ExitReport(
        rc=133,
        late=False,
        pid=77,
        wall_s=1.25,
        other_load=None,
        made=parse_files(MADE) or {},
        others=(),
        free_kb=9,
    )


def test_a_run_that_was_too_slow_on_a_machine_that_reports_little() -> None:
    reported = "megtrim rc=137\nmegtrim late=yes\nmegtrim began=\nmegtrim surveyed=yes\n"
    assert parse_exit(reported) == ExitReport(
        rc=137, late=True, pid=None, wall_s=None, other_load=None, made={}, others=(), free_kb=None
    )


@pytest.mark.parametrize(
    ("own", "load"), [("7 (sh) S" + 10 * " 0" + " 9 9 50 0 0", 0.25), ("", None)]
)
def test_what_others_took_is_without_the_program_itself(own: str, load: float | None) -> None:
    counted = "megtrim before=cpu  0 0 0 0 0\nmegtrim after=cpu  100 0 0 100 0\n"
    found = parse_exit(f"{ENDED}{counted}megtrim own={own}\n{MADE}")

    assert found is not None
    assert found.other_load == load


@pytest.mark.parametrize(
    "reported", ["", ENDED, "megtrim rc=x\n" + MADE, MADE, f"megtrim rc={'9' * 5000}\n{MADE}"]
)
def test_an_end_with_something_missing_is_none(reported: str) -> None:
    assert parse_exit(reported) is None


@given(st.text())
def test_nonsense_is_never_taken_for_something(text: str) -> None:
    assert parse_exit(text) is None
    assert parse_setup(text) is None


@pytest.mark.parametrize(
    ("lines", "reported"),
    [
        (["a", "b", "", "MARK", "report"], ["a", "b"]),
        (["a", "", "", "MARK", "report", "MARK"], ["a", ""]),
        (["", "a", "", "b"], ["", "a", "", "b"]),
        (["MARK"], []),
    ],
)
def test_lines_are_reported_up_to_the_mark(lines: list[str], reported: list[str]) -> None:
    heard: list[str] = []
    tell = forward_until("MARK", heard.append)
    for line in lines:
        tell(line)
    assert heard == reported
