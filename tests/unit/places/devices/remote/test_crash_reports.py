from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.limits import clean_log
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.remote.crash_reports import (
    LONGEST_EVIDENCE,
    backtrace_hint,
    evidence,
    extract,
    local_evidence,
)
from unit.places.devices.links import ShellLink

RUN = ProgramRun(
    argv=("load_and_run", "model.mge", "--input", "a b"),
    rc=139,
    stdout="",
    stderr="",
    wall_s=0.1,
    timed_out=False,
)
SINCE = "11-21 10:47:10.000"
LIBC = (
    "11-21 10:47:16.123  1234  1235 F libc    : Fatal signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), "
    "fault addr 0x0 in tid 1235 (load_and_run), pid 1234 (load_and_run)"
)


def dump(pid: int, program: str, *, writer: int = 900) -> str:
    lines = (
        "*** *** *** *** ***",
        "Build fingerprint: 'google/oriole:12'",
        f"pid: {pid}, tid: {pid}, name: {program[:15]}  >>> ./{program} <<<",
        "signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0",
        "backtrace:",
        f"      #00 pc 0000000000001000  /data/local/tmp/{program} (run+16)",
    )
    return "\n".join(f"11-21 10:47:16.200   {writer}   {writer} F DEBUG   : {x}" for x in lines)


def log(*parts: str) -> str:
    return "\n".join(("megtrim crash log", "--------- beginning of crash", *parts, "megtrim end"))


OURS = """\
crash log:
  libc: Fatal signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0 in tid 1235 \
(load_and_run), pid 1234 (load_and_run)
  *** *** *** *** ***
  Build fingerprint: 'google/oriole:12'
  pid: 1234, tid: 1234, name: load_and_run  >>> ./load_and_run <<<
  signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0
  backtrace:
        #00 pc 0000000000001000  /data/local/tmp/load_and_run (run+16)"""


@pytest.fixture
def link(processes: ProcessRunner, tmp_path: Path) -> ShellLink:
    return ShellLink(processes, tmp_path)


def test_the_log_is_searched_for_this_program() -> None:
    text = log(dump(77, "camera"), LIBC, dump(1234, "load_and_run"), dump(78, "music"))

    assert extract(text, RUN.argv, pid=1234) == OURS
    assert extract(text, RUN.argv, pid=5) == ""
    both = log(LIBC, dump(1234, "load_and_run", writer=901), dump(78, "music", writer=900))
    mixed = "\n".join(sorted(both.split("\n")[2:-1], key=lambda line: "DEBUG" in line))
    assert extract(log(mixed), RUN.argv, pid=1234) == OURS


def test_without_a_pid_the_name_decides() -> None:
    text = log(dump(77, "load_and_run_other"), dump(1234, "load_and_run"))

    assert extract(text, RUN.argv, pid=None).splitlines() == ["crash log:", *OURS.splitlines()[2:]]
    assert extract(log(LIBC), RUN.argv, pid=None) == ""


def test_a_phone_is_asked_for_its_log_and_its_tombstone(link: ShellLink) -> None:
    link.program("date", "case \"$*\" in +%s) echo 1000;; "
                 f"'-d @969 +%m-%d %H:%M:%S.000') echo {SINCE};; *) exit 1;; esac")  # fmt: skip
    link.program("logcat", f"[ \"$*\" = '-b crash -d -v threadtime -T {SINCE}' ] && "
                 f"cat <<'.'\n--------- beginning of crash\n{LIBC}\n.")  # fmt: skip
    link.write("data/tombstones/tombstone_01", "*** ***\npid: 12, tid: 12, name: x\n")
    link.write("data/tombstones/tombstone_00", "*** ***\npid: 1234, tid: 1\nregisters\n\x1b[1m\n")

    reported = evidence(link, RUN, pid=1234)

    assert reported == "\n".join(
        (
            "ended by signal 11 (SIGSEGV)",
            *OURS.splitlines()[:2],
            f"tombstone {link.tree}/data/tombstones/tombstone_00:",
            "  *** ***",
            "  pid: 1234, tid: 1",
            "  registers",
            "  \ufffd[1m",
        )
    )


def test_a_phone_that_cannot_count_back_is_asked_for_all(link: ShellLink) -> None:
    link.program("date", "exit 1")
    link.program("logcat", f"[ \"$*\" = '-b crash -d -v threadtime' ] && echo '{LIBC}'")

    reported = evidence(link, RUN, pid=1234)

    assert reported == "\n".join(("ended by signal 11 (SIGSEGV)", *OURS.splitlines()[:2]))


def test_a_board_is_asked_for_its_kernels_words(link: ShellLink) -> None:
    link.program("dmesg", "echo '[  1.5] load_and_run[1234]: unhandled level 1 fault'\n"
                 "echo '[  1.6] load_and_run[12345]: unhandled level 2 fault'")  # fmt: skip

    reported = evidence(link, RUN, pid=1234)

    assert reported == (
        "ended by signal 11 (SIGSEGV)\n"
        "kernel:\n"
        "  [  1.5] load_and_run[1234]: unhandled level 1 fault"
    )


@pytest.mark.parametrize("lost", [True, False])
def test_where_nothing_is_known_the_command_is_reported(link: ShellLink, lost: bool) -> None:
    """Also where the link is lost by now: a run is never failed by its evidence."""
    link.lost = lost
    link.program("dmesg", "exit 1")

    assert evidence(link, RUN, pid=1234) == (
        "ended by signal 11 (SIGSEGV)\n"
        "to see where: gdb -batch -ex run -ex backtrace "
        "--args ./load_and_run model.mge --input 'a b'\n"
        "  or: lldb --batch -o run -k 'thread backtrace' -k quit -- "
        "./load_and_run model.mge --input 'a b'"
    )


@pytest.mark.parametrize(
    "run", [replace(RUN, rc=0), replace(RUN, rc=1), replace(RUN, timed_out=True)]
)
def test_what_no_signal_ended_is_no_crash(link: ShellLink, run: ProgramRun) -> None:
    assert evidence(link, run, pid=1234) == ""
    assert local_evidence(run) == ""
    assert link.scripts == []


def test_an_exit_status_of_the_c_library_is_a_signal(link: ShellLink) -> None:
    said = replace(RUN, rc=1, stderr="libc: Fatal signal 6 (SIGABRT) in tid 1")

    assert evidence(link, said).startswith("ended by signal 6 (SIGABRT)\n")
    assert evidence(link, replace(RUN, rc=128 + 40)).startswith("ended by signal 40")


def test_this_machine_and_its_emulator_have_commands_of_their_own() -> None:
    assert local_evidence(RUN, launcher=("qemu-aarch64", "-cpu", "max")) == (
        "ended by signal 11 (SIGSEGV)\n"
        "to see where: qemu-aarch64 -cpu max -g 1234 ./load_and_run model.mge --input 'a b' &\n"
        "  gdb-multiarch -batch -ex 'target remote :1234' -ex continue -ex backtrace "
        "./load_and_run"
    )
    assert local_evidence(RUN).splitlines()[1] == backtrace_hint(RUN.argv).splitlines()[0]


@given(st.text(max_size=300), st.text(max_size=300), st.lists(st.text(max_size=50), min_size=1))
def test_no_answer_breaks_it(first: str, second: str, argv: list[str]) -> None:
    text = f"megtrim crash log\n{LIBC}{first}\n{second}\nmegtrim tombstone /x{first}\n{second}"

    found = extract(text, argv, pid=1234)

    assert LIBC[41:120] in found
    run = replace(RUN, argv=(*argv, first))
    shown = local_evidence(run, launcher=(second,))
    assert clean_log(shown) == shown


def test_evidence_is_bounded(link: ShellLink) -> None:
    link.program("logcat", f"yes '{LIBC} {'x' * 400}' | head -n 1000")

    reported = evidence(link, RUN, pid=1234)

    assert len(reported) == LONGEST_EVIDENCE
    assert reported.endswith("\n…")
    short = log(*[LIBC[:60]] * 400)
    assert len(extract(short, RUN.argv, pid=1234).splitlines()) == 151


@pytest.mark.parametrize("rc", [132, 133])
def test_a_trap_on_this_machine_needs_no_backtrace(rc: int) -> None:
    assert local_evidence(replace(RUN, rc=rc)) == ""
