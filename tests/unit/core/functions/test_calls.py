import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.functions.calls import parse_code
from megtrim.core.functions.link_map import (
    is_platform,
    parse_map,
    parse_placed,
    platform_names,
    read_map,
)
from megtrim.libs.elf.symbol_table import parse_table
from megtrim.libs.util.errors import InputError
from unit.core.functions.made_links import ARM, GNU, LLD, X86_64, Symbol, calling, functions, linked

NAMES = ("a", "b", "c", "d", "__throw_e")


@pytest.mark.parametrize("jumps", [False, True])
def test_what_functions_call_is_reached(jumps: bool) -> None:
    made = calling(NAMES, {"a": ["c", "b"], "c": ["a"], "d": ["a"]}, jumps=jumps)

    assert made.find_reachable(["a"], ran=()) == ("a", "b", "c")
    assert made.find_reachable(["d"], ran=()) == ("a", "b", "c", "d")
    assert made.find_reachable(["b"], ran=()) == ("b",)
    assert made.find_reachable([], ran=()) == ()


def test_what_ran_and_containers_that_fail_are_not_followed() -> None:
    made = calling(NAMES, {"a": ["b", "d"], "b": ["c"], "c": ["__throw_e"], "__throw_e": ["d"]})

    assert made.find_reachable(["a"], ran=["b"]) == ("a", "d")
    assert made.find_reachable(["b"], ran=["b"]) == ("b", "c")


def test_a_function_is_reached_under_all_of_its_names() -> None:
    """A linker that drops one of them drops the body."""
    made = calling(NAMES, {"a": ["b"]}, alias="same")

    assert made.find_reachable(["a"], ran=()) == ("a", "b", "same")
    assert made.find_reachable(["b"], ran=()) == ("b", "same")


def test_who_calls() -> None:
    made = calling(NAMES, {"a": ["c"], "b": ["d"], "d": ["c"]})

    assert made.callers(["c"], NAMES) == ("a", "c", "d")
    assert made.callers(["c"], ["b", "d"]) == ("d",)


def test_calls_of_the_other_machine_are_read() -> None:
    call = b"\x90\xe8" + struct.pack("<i", 32 - 6)
    jump = b"\xe9" + struct.pack("<i", 0 - 21)
    condition = b"\x0f\x84" + struct.pack("<i", 48 - 38)
    content = call.ljust(16, b"\xcc") + jump.ljust(16, b"\xcc") + condition.ljust(32, b"\xcc")
    symbols = [Symbol(name=name, at=16 * at, size=16) for at, name in enumerate("abcd")]
    data = linked(symbols, code=content, machine=X86_64)
    made = parse_code(data, parse_table(data, source="x"), source="x")

    assert made.find_reachable(["a"], ran=()) == ("a", "c", "d")
    assert made.find_reachable(["b"], ran=()) == ("a", "b", "c", "d")
    assert made.find_reachable(["d"], ran=()) == ("d",)


BRANCHES = {
    "bl": ("00f00ef8", True, 32),
    "bl back": ("fff7e6ff", True, -48),
    "b.w": ("00f00eb8", True, 32),
    "blx": ("00f00ee8", True, 32),
    "bne.w": ("40f00e80", True, 32),
    "arm bl": ("060000eb", False, 32),
    "arm beq": ("0600000a", False, 32),
    "arm back": ("f2ffffea", False, -48),
    "arm blx": ("060000fb", False, 34),
    "msr": ("80f30888", True, None),
    "ldr": ("d0f80480", True, None),
    "arm ldr": ("060000e5", False, None),
}
"""Instructions as an assembler writes them, whether they are Thumb's, and how far they lead."""


@pytest.mark.parametrize("word", BRANCHES)
def test_branches_of_32_bit_arm_are_read(word: str) -> None:
    """Wherever two bytes of Thumb code could begin one; ``blx`` changes from one to the other."""
    code, thumb, distance = BRANCHES[word]
    content = b"\0" * 64 + bytes.fromhex(code).ljust(64, b"\0")
    names = {"caller": 64 + thumb, "there": 64 + (distance or 8)}
    symbols = [Symbol(name=name, at=at, size=4) for name, at in names.items()]
    data = linked(symbols, code=content, machine=ARM)
    made = parse_code(data, parse_table(data, source="x"), source="x")

    reached = ("caller", "there") if distance else ("caller",)
    assert made.called_by(["caller"]) == {*reached}


def test_a_call_by_a_linkers_thunk_leads_to_its_function() -> None:
    symbols = [Symbol(name="a", at=1), Symbol(name="__Thumbv7ABSLongThunk_far", at=33)]
    code = bytes.fromhex("00f00ef8").ljust(64, b"\0")
    data = linked([*symbols, Symbol(name="far", at=48)], code=code, machine=ARM)
    made = parse_code(data, parse_table(data, source="x"), source="x")

    assert made.called_by(["a"]) == {"a", "far"}


@pytest.mark.parametrize("kept", [0, 30, 60, 100])
def test_a_cut_off_file_is_refused(kept: int) -> None:
    data = linked([Symbol(name="a")])

    with pytest.raises(InputError, match="x: a damaged ELF file"):
        parse_code(data[:kept], parse_table(data, source="x"), source="x")


@given(st.binary(min_size=64, max_size=64), st.sampled_from([183, X86_64, ARM, ARM + 1]))
def test_any_code_is_read(content: bytes, machine: int) -> None:
    thumb = machine == ARM + 1
    machine = ARM if machine == ARM + 1 else machine
    symbols = [Symbol(name=name, at=16 * at + thumb, size=16) for at, name in enumerate("abcd")]
    data = linked(symbols, code=content, machine=machine)
    made = parse_code(data, parse_table(data, source="x"), source="x")

    assert {"a"} <= {*made.find_reachable(["a"], ran=())} <= {*"abcd"}


PROGRAM = functions(
    ("_start", 0x1000, 16), ("_ZN3mgb3runEv", 0x1030, 64), ("memcpy", 0x1080, 8), ("x", 0x5000, 4)
)


@pytest.mark.parametrize(
    ("text", "address", "file"),
    [
        (LLD, 0xFFF, ""),
        (LLD, 0x1000, "/ndk/usr/lib/crtbegin_dynamic.o"),
        (LLD, 0x101F, "/ndk/usr/lib/crtbegin_dynamic.o"),
        (LLD, 0x1020, "a.dir/src/main.cpp.o"),
        (LLD, 0x1030, "lite/liblite.a(run.cpp.o)"),
        (LLD, 0x106F, "lite/liblite.a(run.cpp.o)"),
        (LLD, 0x1070, ""),
        (LLD, 0x1080, "/sys root/libc.a(memcpy.o)"),
        (LLD, 0x1090, ""),
        # A long name takes a line of its own; what was discarded is nowhere.
        (GNU, 0, ""),
        (GNU, 0x1000, "/usr/lib/Scrt1.o"),
        (GNU, 0x1020, ""),
        (GNU, 0x1040, "lite/liblite.a(run.cpp.o)"),
        (GNU, 0x1075, ""),
        (GNU, 0x1080, "/usr/lib/libc.a(memcpy.o)"),
    ],
)
def test_an_address_has_the_file_that_it_came_from(text: bytes, address: int, file: str) -> None:
    assert parse_map(text, source="x").of(address) == file


GNU_MERGED = b"""
 .rodata.str1.1
                0x0000000000001100        0x0 lite/lib (1).a(run.cpp.o)
                                          0x5 (size before relaxing)
"""


@pytest.mark.parametrize(
    ("text", "file", "parts"),
    [
        (LLD, "lite/liblite.a", {("run.cpp.o", ".text.run")}),
        (GNU, "lite/liblite.a", {("run.cpp.o", ".text._ZN3mgb3runEv")}),
        (LLD, "a.dir/src/main.cpp.o", {("", ".text.main")}),
        (GNU, "a.dir/src/main.cpp.o", None),
        # What the linker merged into another one's bytes has none of its own.
        (GNU + GNU_MERGED, "lite/lib (1).a", {("run.cpp.o", ".rodata.str1.1")}),
    ],
)
def test_what_the_linker_placed(text: bytes, file: str, parts: set[tuple[str, str]] | None) -> None:
    assert parse_placed(text).get(file) == parts


LLD_OUTSIDE = b"""\
            1080             1080       10     8 .tbss
            1080             1080       10     8         threads.o:(.tbss)
               0                0     2000     1 .debug_info
               0                0       40     1         a.dir/src/main.cpp.o:(.debug_info)
              40               40     1fc0     1         large.o:(.debug_info)
"""
GNU_OUTSIDE = b"""\
.tbss           0x0000000000001080       0x10
 .tbss          0x0000000000001080       0x10 threads.o

.debug_info     0x0000000000000000     0x2000
 .debug_info    0x0000000000000000       0x40 main.o
 .debug_info    0x0000000000000040     0x1fc0 large.o
"""


@pytest.mark.parametrize("text", [LLD + LLD_OUTSIDE, GNU + GNU_OUTSIDE])
def test_what_is_not_in_memory_is_nowhere(text: bytes) -> None:
    """Of a program that is loaded anywhere, places in debug information look like addresses."""
    origins = parse_map(text, source="x")

    assert origins.of(0x1000).endswith(".o")
    assert origins.of(0x1084).endswith("libc.a(memcpy.o)")
    assert not {"large.o", "threads.o"} & {*origins.files}
    assert platform_names(origins, PROGRAM) == {"_start", "memcpy"}


PLATFORM = (
    "/usr/lib/libc.a(memcpy.o)",
    "libm.a(sin.o)",
    "/cache/libcompiler_rt.a(rt.o)",
    "/ndk/libclang_rt.builtins-aarch64-android.a(udivti3.o)",
    "/usr/lib/gcc/libgcc.a(x.o)",
    "/usr/lib/crt1.o",
    "/usr/lib/rcrt1.o",
    "/usr/lib/crtbeginS.o",
)
OTHERS = (
    "/usr/lib/libgcc_eh.a(unwind-dw2.o)",
    "/ndk/libgcc_real.a(unwind-dw2.o)",
    "/ndk/libc++_static.a(string.o)",
    "/usr/lib/libstdc++.a(string.o)",
    "lite/liblite.a(libc.a)",
    "src/libc.a/main.o",
    "src/crt_names.cpp.o",
    "<internal>",
    "",
)


@pytest.mark.parametrize("file", PLATFORM + OTHERS)
def test_which_files_are_the_platform(file: str) -> None:
    assert is_platform(file) is (file in PLATFORM)


@pytest.mark.parametrize("data", [b"", b"hello\n", LLD.splitlines()[0], bytes(50)])
def test_what_reports_no_origin_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"p\.map: names no file that a part of the program"):
        parse_map(data, source="p.map")


@given(st.sampled_from([LLD, GNU]), st.integers(0, 800), st.binary(max_size=8))
def test_a_damaged_map_is_read_or_refused(text: bytes, at: int, noise: bytes) -> None:
    try:
        origins = parse_map(text[:at] + noise + text[at + len(noise) :], source="x")
    except InputError:
        return

    assert origins.of(0x1030) is not None


def test_a_map_is_read_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "p.map").write_bytes(LLD)

    assert read_map(tmp_path / "p.map") == parse_map(LLD, source="x")
    with pytest.raises(InputError, match="none: cannot be read"):
        read_map(tmp_path / "none")
