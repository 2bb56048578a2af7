"""Which failures of tools are the machine's: what they print, how they end, what disks hold."""

from pathlib import Path

import pytest

from megtrim.libs.util import files
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.files import expect_room, read_rooms
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.libs.util.shortage import NO_ROOM_BYTES, Room, find_shortage

AMPLE = (Room(place="/out", free_bytes=10**9, free_files=1000),)
FULL = "the disk is full"
KILLED = "something outside killed a program of it"
UNMAPPED = "could not write to its file"
MEMORY = "the machine ran out of memory"
LIMIT = "the machine is at a limit"
MACHINE = {
    # What compilers, linkers, CMake, Ninja, git and zig print.
    "a.cpp:9:1: fatal error: error writing to /tmp/ccX.s: No space left on device": FULL,
    "/usr/bin/ld: final link failed: No space left on device": FULL,
    "LLVM ERROR: IO failure on output stream: No space left on device": FULL,
    "ld.lld: error: failed to write to the output file: No space left on device": FULL,
    "ninja: fatal: opening build log: No space left on device": FULL,
    "  Problem writing a file.  System Error: No space left\n  on device": FULL,
    "fatal: write error: No space left on device": FULL,
    "error: unable to create compilation directories: NoSpaceLeft": FULL,
    "ar: unable to copy file 'libx.a'; reason: Disk quota exceeded": FULL,
    "cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes": MEMORY,
    "virtual memory exhausted: Cannot allocate memory": MEMORY,
    "g++: fatal error: Killed signal terminated program cc1plus": KILLED,
    "collect2: fatal error: ld terminated with signal 9 [Killed]": KILLED,
    "clang++: error: unable to execute command: Killed": KILLED,
    "FAILED: [code=137] a.o\ng++ -c a.cpp": KILLED,
    "FAILED: [code=255] a.o\n/usr/bin/ccache /usr/bin/g++ -c a.cpp": KILLED,
    "[1/2] x\nKilled\nninja: build stopped": KILLED,
    "collect2: fatal error: ld terminated with signal 7 [Bus error], core dumped": UNMAPPED,
    "g++: fatal error: Bus error signal terminated program as": UNMAPPED,
    "clang: error: unable to execute command: Bus error (core dumped)": UNMAPPED,
    "Bus error (core dumped)": UNMAPPED,
    # CMake, of Ninja and of its checks.
    "   '/x/ninja' '--version'\n\n  failed with:\n\n   Subprocess killed\n": KILLED,
    "   '/x/ninja' '-t' 'recompact'\n\n  failed with:\n\n   Bus error\n": UNMAPPED,
    "      stdout: |\n        FAILED: [code=137] cmTC_c65a4.dir/x.o\n        Killed": KILLED,
    "cp: cannot create 'x': Read-only file system": "the disk became read-only",
    "g++: error: x.o: Input/output error": "the disk failed",
    "g++: fatal error: cannot execute 'as': vfork: Resource temporarily unavailable": LIMIT,
}
SOURCES = (
    "",
    "a.cpp:1:2: error: #error No space left on device",
    "a.cpp:1:2: error: No space left on device\n    1 | #error No space left on device",
    "a.cpp:4:8: warning: unused variable 'x'\n    4 | auto x = \"Killed: Bus error\";",
    "a.cpp:7:1: error: static assertion failed: Disk quota exceeded",
    "ld.lld: error: undefined symbol: x::killed()",
    "FAILED: [code=255] a.h\npython3 write.py a.h",
    "FAILED: [code=1] a.o\n/usr/bin/ccache /usr/bin/g++ -c a.cpp\na.cpp:1:1: error: no",
    "a.cpp:(.text+0x5): undefined reference to `bus_error'",
)


@pytest.mark.parametrize(("said", "cause"), MACHINE.items(), ids=range(len(MACHINE)))
def test_what_tools_print_of_the_machine(said: str, cause: str) -> None:
    found = find_shortage("ninja", 1, f"[1/9] Building a.o\n{said}\nninja: stopped.\n", AMPLE)

    assert found is not None
    assert found.message.startswith("ninja stopped: ")
    assert cause in found.message
    assert found.hint


@pytest.mark.parametrize("said", SOURCES)
def test_what_is_said_of_sources_is_the_product_s(said: str) -> None:
    assert find_shortage("ninja", 1, said, AMPLE) is None


@pytest.mark.parametrize(
    ("rc", "cause"),
    [(135, UNMAPPED), (137, KILLED), (143, KILLED), (152, LIMIT), (153, LIMIT)],
)
def test_signals_that_no_source_causes(rc: int, cause: str) -> None:
    found = find_shortage("strip", rc, "", AMPLE)

    assert found is not None
    assert cause in found.message
    assert f"(signal {rc - 128})" in found.message


@pytest.mark.parametrize("rc", [1, 2, 127, 132, 133, 134, 139, 255])
def test_other_ends_are_the_product_s(rc: int) -> None:
    assert find_shortage("cc1plus", rc, "a.cpp:1:1: error: no", AMPLE) is None


@pytest.mark.parametrize(
    ("room", "words"),
    [
        (Room(place="/out", free_bytes=0), "/out has 0 bytes left"),
        (Room(place="/out", free_bytes=NO_ROOM_BYTES - 1), "/out has 65,535 bytes left"),
        (Room(place="/out", free_bytes=10**9, free_files=0), "no place for another file"),
        (Room(place="/out", free_bytes=NO_ROOM_BYTES), ""),
        (Room(place="/out", free_bytes=10**9, free_files=1), ""),
    ],
)
def test_a_disk_without_room_is_the_cause_whatever_was_said(room: Room, words: str) -> None:
    found = find_shortage("as", 1, "a.cpp:1:1: error: no", (*AMPLE, room))

    assert (found is not None) == bool(words)
    assert found is None or words in found.message


def test_disks_that_cannot_be_full(tmp_path: Path) -> None:
    """A folder of the kernel has no size; one that is not there yet is on its parent's disk."""
    assert read_rooms([Path("/proc/self")]) == ()
    (room,) = read_rooms([tmp_path / "not" / "there", tmp_path])
    assert room.place == str(tmp_path)
    assert room.free_bytes > 0


def test_a_failing_tool_is_judged_and_a_program_under_test_is_not(tmp_path: Path) -> None:
    runner = ProcessRunner({"PATH": "/usr/bin:/bin"})
    script = "echo 'x: No space left on device' >&2; kill -BUS $$"
    argv = ("sh", "-c", script)

    with pytest.raises(InfrastructureFailure, match=r"^sh stopped: the disk is full:"):
        runner.run(Command(argv=argv, timeout_s=10, cwd=tmp_path))
    assert runner.run(Command(argv=argv, timeout_s=10, cwd=tmp_path, tested=True)).rc == 135
    said = runner.run(Command(argv=("sh", "-c", "echo No space left on device"), timeout_s=10))
    assert said.ok
    with pytest.raises(InputError, match="exited with 3"):
        runner.capture("sh", "-c", "exit 3")


def test_room_is_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expect_room(tmp_path)
    expect_room(tmp_path, fewest_bytes=1)
    with pytest.raises(InfrastructureFailure, match="the disk is almost full"):
        expect_room(tmp_path, fewest_bytes=2**62)
    monkeypatch.setattr(files, "read_rooms", lambda _: (Room(place="/x", free_bytes=1),))
    with pytest.raises(InfrastructureFailure, match="the disk is full: /x has 1 bytes left"):
        expect_room(tmp_path)
