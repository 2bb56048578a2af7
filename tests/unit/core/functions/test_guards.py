import re
import struct
from dataclasses import replace
from importlib.resources import files as package_files

import pytest

from megtrim.core.functions import guards, local_functions
from megtrim.core.functions.calls import parse_code
from megtrim.core.functions.guards import ErrorRule, Guard
from megtrim.libs.elf.layout import AARCH64, DYNAMIC_SYMBOLS, X86_64, ElfLayout
from megtrim.libs.elf.symbol_table import FunctionTable, parse_table
from megtrim.libs.util.errors import InputError, ProductFailure
from unit.core.functions.made_links import CODE_AT, Symbol, functions, linked

ALL = ErrorRule(exports="codec_*", value=-1)
CXX = "_ZN2my5Codec6decodeEi"


def exporting(
    *names: str, imported: tuple[str, ...] = (), machine: str = "x86_64"
) -> FunctionTable:
    placed = [(name, 16 * at, 16) for at, name in enumerate(names)]
    exported = frozenset(names)
    made = functions(*placed, machine=machine)
    return replace(made, exported=exported, imported=frozenset(imported))


def choose(
    table: FunctionTable, *rules: ErrorRule, safe: tuple[str, ...] = ()
) -> tuple[Guard, ...]:
    return guards.choose(table, rules, lambda name: name not in safe, source="lib.so")


def test_the_first_rule_that_names_an_export_decides() -> None:
    first = ErrorRule(exports="codec_open", value=0)
    rest = ErrorRule(exports="codec_*", value=-7, handles=(1, 2))

    found = choose(exporting("codec_run", "codec_open", "other"), first, rest, safe=("other",))

    assert found == (
        Guard(export="codec_open", value=0, handles=()),
        Guard(export="codec_run", value=-7, handles=(1, 2)),
    )


@pytest.mark.parametrize(
    ("pattern", "guarded"),
    [
        (CXX, True),
        ("_ZN2my*", True),
        ("my::Codec::decode", True),
        ("my::Codec::*", True),
        ("*", False),
        ("[_c]*", False),
        ("codec_*", False),
    ],
)
def test_a_rule_for_an_interface_in_c_means_no_function_in_cxx(pattern: str, guarded: bool) -> None:
    assert ErrorRule(exports=pattern, value=-1).matches(CXX) is guarded


@pytest.mark.parametrize(
    ("table", "rule", "said"),
    [
        (exporting("codec_a", "zone"), ALL, "what these exports return if a function .*: zone"),
        (
            exporting("codec_a", CXX),
            ALL,
            r"these C\+\+ exports return .*: my::Codec::decode\(int\)",
        ),
        (exporting("codec_a", *"abcdefg"), ALL, ": a, b, c, d, e and 2 more"),
        (
            exporting("codec_a"),
            ErrorRule(exports="b*", value=0, where="m.yaml:3: x"),
            "^m.yaml:3: x",
        ),
        (exporting("codec_a", machine="armv7l"), ALL, "not on armv7l"),
        (
            replace(exporting("codec_a"), ifuncs=frozenset(("codec_a",))),
            ALL,
            "codec_a cannot be guarded",
        ),
    ],
)
def test_exports_that_are_refused(table: FunctionTable, rule: ErrorRule, said: str) -> None:
    with pytest.raises(InputError, match=said):
        choose(table, ALL, rule, safe=("codec_a",))


def test_a_row_that_matches_nothing_may_be_misspelled() -> None:
    misspelled = ErrorRule(exports="b*", value=0, where="m.yaml:3: x")
    with pytest.raises(InputError) as refused:
        choose(exporting("codec_a"), ALL, misspelled)
    assert "spelled as exported" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pthread_create", "starts threads"),
        ("__kmpc_fork_call", "starts threads"),
        ("call_once", "waits for ever"),
        ("pthread_rwlock_tryrdlock", "does not give back"),
        ("pthread_mutex_timedlock", "does not give back"),
        ("sem_timedwait", "does not give back"),
        ("syscall", "does not give back"),
        ("pthread_sigmask", "changes its thread"),
        ("sigaction", "where no export is to return from"),
        ("__cxa_thread_atexit_impl", "where no export is to return from"),
        ("siglongjmp", "without returning"),
        ("__longjmp_chk", "without returning"),
        ("__sysv_signal", "where no export is to return from"),
        # As GCC's C++ library has them, which alone calls pthread_create then.
        (
            "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
            "starts threads",
        ),
        # As clang's and the NDK's have them.
        ("_ZNSt3__111__call_onceERVmPvPFvS2_E", "waits for ever"),
        ("_ZNSt6__ndk111__call_onceERVmPvPFvS2_E", "waits for ever"),
        ("_ZNSt3__15mutex4lockEv", "does not give back"),
        ("_ZNSt6__ndk15mutex8try_lockEv", "does not give back"),
        ("_ZNSt6__ndk115recursive_mutex4lockEv", "does not give back"),
        ("_ZNSt6__ndk119__shared_mutex_base11lock_sharedEv", "does not give back"),
        ("_ZNSt6__ndk118shared_timed_mutex15try_lock_sharedEv", "does not give back"),
    ],
)
def test_what_cannot_end_well_is_refused_by_name(name: str, said: str) -> None:
    table = exporting("codec_a", guards.MISSING, imported=(name, "memcpy"))
    with pytest.raises(InputError, match=f"it calls {name}, so it .*{said}"):
        guards.expect_safe(table, table, (), source="lib.so")


def test_what_only_dropped_functions_or_the_runtime_call_is_safe() -> None:
    given_back = ("pthread_mutex_lock", "_ZNSt6__ndk15mutex6unlockEv", "_ZNSt3__15mutexD1Ev")
    before = exporting("codec_a", imported=("pthread_create", *given_back))
    after = exporting("codec_a", guards.MISSING, imported=("pthread_key_create", *given_back))
    guards.expect_safe(before, after, (), source="lib.so")


def test_a_cxx_library_that_is_linked_in() -> None:
    """Its mutexes are the C library's, which guards give back."""
    lock = "_ZNSt6__ndk15mutex4lockEv"
    once = "_ZNSt6__ndk111__call_onceERVmPvPFvS2_E"
    without_once = exporting("codec_a", lock, guards.MISSING)
    with_once = exporting("codec_a", lock, once, guards.MISSING)

    guards.expect_safe(with_once, without_once, (), source="lib.so")
    with pytest.raises(InputError, match=f"it calls {once}, so it .*waits for ever"):
        guards.expect_safe(with_once, with_once, (), source="lib.so")


def test_exceptions_do_not_pass_a_guard() -> None:
    table = exporting("codec_a", CXX, guards.MISSING, imported=("__cxa_throw",))
    in_c = (Guard(export="codec_a", value=-1, handles=()),)
    guards.expect_safe(table, table, in_c, source="lib.so")

    with pytest.raises(InputError, match=r"my::Codec::decode\(int\) may throw"):
        in_cxx = (Guard(export=CXX, value=-1, handles=()),)
        guards.expect_safe(table, table, in_cxx, source="lib.so")


@pytest.mark.parametrize("machine", [AARCH64, X86_64])
def test_names_lead_to_guards_and_traps_to_the_end(machine: int) -> None:
    trap = local_functions.named_trap(machine, "gone")
    code = bytes(64) + trap + bytes(64)
    end_at = 64 + len(trap) + 32
    symbols = [
        Symbol(name="megtrim_guards", at=0, size=32),
        Symbol(name="codec_a", at=32),
        Symbol(name="gone", at=64, size=len(trap), binding=0),
        Symbol(name="megtrim_miss", at=end_at),
    ]
    dynamic = [Symbol(name="memcpy", at=None), Symbol(name="codec_a", at=32)]
    data = linked(symbols, code=code, dynamic=dynamic, machine=machine)
    table = parse_table(data, source="made")
    other = Guard(export="codec_0", value=0, handles=())
    chosen = (Guard(export="codec_a", value=-1, handles=()),)

    made = guards.patch(data, table, chosen, ("gone",), source="made")
    layout = ElfLayout(made)
    names = layout.find_table(DYNAMIC_SYMBOLS)
    places = (
        {name: (value, size) for name, _, _, value, size in layout.entries(names)} if names else {}
    )
    at = data.index(trap)
    found = made[at : at + len(trap)]

    assert places["codec_a"] == (CODE_AT, 16)
    assert places["memcpy"][0] == 0
    assert found == local_functions.lead_to(machine, "gone", end_at - 64)
    assert _read_target(machine, found) == end_at - 64
    assert found.endswith(b"gone\0") or machine == AARCH64
    with pytest.raises(ProductFailure, match="codec_0 is not exported"):
        guards.patch(data, table, (other, *chosen), (), source="made")
    with pytest.raises(ProductFailure, match="megtrim_guards"):
        guards.patch(data, replace(table, functions=()), chosen, (), source="made")


def _read_target(machine: int, code: bytes) -> int:
    if machine == AARCH64:
        (word,) = struct.unpack_from("<I", code, 4)
        return 4 + 4 * int(word & 0x3FFFFFF)
    (distance,) = struct.unpack_from("<i", code, 1)
    return 5 + int(distance)


@pytest.mark.parametrize(
    ("machine", "way_back", "results"),
    [
        ("__aarch64__", r"^2:.*?bl megtrim_leave(.*?)^    ret", "x0 x1 q0 q1 q2 q3"),
        ("__x86_64__", r"^2:.*?call megtrim_leave(.*?)^    jmp", "rax rdx xmm0 xmm1"),
    ],
)
def test_all_that_a_call_may_return_passes_its_guard(
    machine: str, way_back: str, results: str
) -> None:
    """Four vectors of 128 bits on aarch64; no test sees what a compiler's megtrim_leave leaves."""
    text = (package_files("megtrim.core.functions") / "guard.S").read_text(encoding="utf-8")
    code = text.partition(f"defined({machine})")[2]
    found = re.search(way_back, code, re.DOTALL | re.MULTILINE)
    loads = found[1] if found else ""

    for register in results.split():
        assert re.search(rf"\b{register}\b", loads), register


RETURN = struct.pack("<I", 0xD65F03C0)
BY_REGISTER = struct.pack("<I", 0xD63F0000)


@pytest.mark.parametrize(
    ("code", "machine", "may"),
    [
        (RETURN * 4, AARCH64, False),
        (BY_REGISTER + RETURN * 3, AARCH64, True),
        (struct.pack("<I", 0x94000000 | 4) + RETURN * 3, AARCH64, True),
        (struct.pack("<I", 0x94000000 | 8) + RETURN * 3, AARCH64, False),
        (struct.pack("<I", 0x94000000 | 99) + RETURN * 3, AARCH64, True),
        (b"\x90" * 15 + b"\xc3", X86_64, False),
        (b"\xff\xd0" + b"\x90" * 14, X86_64, True),
        (b"\xe8" + struct.pack("<i", 11) + b"\x90" * 11, X86_64, True),
        (b"\xe9" + struct.pack("<i", 27) + b"\x90" * 11, X86_64, False),
    ],
)
def test_what_may_reach_what_was_left_out(code: bytes, machine: int, may: bool) -> None:
    """The second function was left out; the third one returns."""
    returns = RETURN * 4 if machine == AARCH64 else b"\x90" * 15 + b"\xc3"
    symbols = [Symbol(name=name, at=16 * at, size=16) for at, name in enumerate(("a", "gone", "c"))]
    data = linked(symbols, code=code + returns * 2, machine=machine)
    made = parse_code(data, parse_table(data, source="made"), source="made")

    assert made.may_reach("a", ("gone",)) is may
    assert made.may_reach("nowhere", ("gone",))
