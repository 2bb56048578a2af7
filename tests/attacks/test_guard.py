"""Calls of a library through its exports that reach what was left out of it: each is an error.

The library, its guards and three consumers are built by real toolchains. What cannot be guarded is
refused by name.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.links import Lease, lease
from megtrim.core.build_spec import Link, LinkSpec
from megtrim.core.functions import guards, linker_script, refusals
from megtrim.core.functions.calls import OWN_CALLS, parse_code
from megtrim.core.functions.guards import ErrorRule
from megtrim.core.functions.refusals import RefusalRule
from megtrim.core.trim.builds.size_options import WITH_LLD
from megtrim.libs.elf.layout import WITH_BUILD_ID
from megtrim.libs.elf.symbol_table import parse_table, read_dynamic_names, read_table
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner

SOURCES = Path(__file__).with_name("guard")
ERROR = -7
RULES = (
    ErrorRule(exports="codec_open", value=0),
    ErrorRule(exports="codec_made", value=0),
    ErrorRule(exports="codec_joins", value=ERROR, handles=(2, 3)),
    ErrorRule(exports="codec_[!v]*", value=ERROR, handles=(1,)),
)
"""codec_version has no guard, because it cannot miss anything."""
REFUSALS = (
    RefusalRule(function="gives_up"),
    RefusalRule(function="gives_up_with", message=2),
    RefusalRule(function="gives_up_like_*", message=2, formats=True),
    RefusalRule(function="engine::check_failed", message=3),
    RefusalRule(function="gives_up_alone"),
    RefusalRule(function="std::__throw_length_error", message=1),
)
LEFT_OUT = "left_out"
"""Part of the names of what is left out."""
CONSUMERS = ("c", "cxx", "loads")
CALLS = {
    "nothing_is_missing": "nothing",
    "the_first_call_misses": "first",
    "a_call_misses_in_its_middle": "middle",
    "a_local_function_is_missing": "local",
    "a_call_misses_a_hundred_frames_deep": "deep",
    "a_call_misses_with_a_lock": "locked",
    "a_call_misses_with_two_locks": "two_locks",
    "a_call_misses_with_forty_locks": "forty_locks",
    "a_static_misses": "static",
    "a_static_throws_once_and_the_call_misses": "throws",
    "a_sort_misses_its_order": "sorts",
    "a_call_misses_behind_a_callback": "behind_callback",
    "a_callback_misses": "in_callback",
    "a_callback_misses_and_its_caller": "in_callback_and_itself",
    "a_call_misses_in_three_hundred_calls": "hundreds_nested",
    "a_call_with_arguments_on_the_stack_misses": "many_arguments",
    "a_call_with_numbers_misses": "numbers",
    "a_call_that_saved_numbers_misses": "wide",
    "a_call_with_a_large_frame_misses": "large",
    "a_call_that_rounds_another_way_misses": "rounds",
    "a_call_with_two_handles_misses": "joins",
    "a_call_that_makes_a_handle_misses": "makes",
    "two_calls_miss": "twice",
    "one_of_two_handles_misses": "two_handles",
    "hundreds_of_calls_miss": "hundreds",
    "more_calls_miss_than_handles_are_noted": "too_many",
    "four_threads_miss": "threads",
    "four_threads_miss_with_locks": "locked_threads",
    "forty_threads_miss_and_end": "forty_threads",
    "a_handler_misses": "in_handler",
    "a_handler_on_its_own_stack_misses": "on_own_stack",
    "handlers_were_installed_before": "handlers_before",
    "handlers_are_installed_after": "handlers_after",
    "a_child_misses": "in_child",
    "a_child_of_a_callback_misses": "fork_in_callback",
    "a_library_is_closed_and_loaded_again": "closes",
    "two_libraries_miss": "two_libraries",
    "a_library_refuses": "gives_up",
    "a_library_refuses_with_a_message": "with_message",
    "a_library_refuses_with_a_format": "with_format",
    "a_library_refuses_in_cxx": "in_cxx",
    "a_library_refuses_by_a_local_function": "by_local",
    "a_library_refuses_by_the_cxx_library": "by_library",
    "a_message_is_no_text": "no_text",
    "a_message_has_no_end": "no_end",
    "a_message_is_a_format": "percents",
    "a_message_is_null": "null_message",
    "a_library_crashes": "crashes",
    "hundreds_refuse": "hundreds_refuse",
}
MACHINES = (
    pytest.param("host", marks=pytest.mark.chain),
    pytest.param("x86-64 by lld", marks=pytest.mark.clang),
    pytest.param("clang-linux-arm64", marks=pytest.mark.clang),
    pytest.param("arm64 by GNU ld", marks=pytest.mark.clang),
)


@dataclass(frozen=True)
class Built:
    folder: Path
    at: Lease

    def use(self, consumer: str, way: str) -> CompletedCommand:
        foreign = self.at.toolchain.machine != os.uname().machine
        emulator = self.at.emulator if foreign else ()
        argv = (*emulator, f"./{consumer}", way)
        return ProcessRunner(os.environ).run(Command(argv=argv, timeout_s=60, cwd=self.folder))


def guard(
    at: Lease,
    target: str,
    rules: tuple[ErrorRule, ...],
    refusing: tuple[RefusalRule, ...] = (),
    ran: frozenset[str] = frozenset(),
) -> bytes:
    """Return the library with guards, as ``reduce`` makes it."""
    by_lld = at.toolchain.kind in WITH_LLD
    unfolded = LinkSpec(target=target, label=Link.UNFOLDED, unfolded=True, flags=OWN_CALLS)
    data = (at.link(unfolded) / Link.UNFOLDED / target).read_bytes()
    before = parse_table(data, source=target)
    code = parse_code(data, before, source=target)
    listed = refusals.choose(before, refusing, source=target)
    refusals.expect_not_run(listed, ran, source=target)
    refused = {each.name for each in listed}
    left_out = tuple(sorted({*refused, *(name for name in before.names if LEFT_OUT in name)}))

    def may_miss(name: str) -> bool:
        return code.may_reach(name, left_out)

    chosen = guards.choose(before, rules, may_miss, source=target)
    plain = LinkSpec(target=target, label=Link.SHIPPED, flags=(WITH_BUILD_ID,), emptied=left_out)
    spec = guards.specify_link(plain, chosen, before, listed, by_lld=by_lld)
    linked = at.link(spec) / Link.SHIPPED
    after = read_table(linked / target)
    guards.expect_safe(before, after, chosen, source=target)
    emptied = guards.find_emptied((linked / target).read_bytes(), after, left_out, source=target)
    refusals.expect_replaced(after, listed, emptied, source=target)
    linker_script.prove(
        before,
        after,
        kept=(),
        dropped=left_out,
        source=target,
        added=(guards.MISSING,),
        emptied=emptied,
    )
    stripped = (linked / "stripped" / target).read_bytes()
    return guards.patch(stripped, after, chosen, left_out, listed, source=target)


def build(kind: str, root: Path) -> Built:
    at = lease(kind, root, SOURCES, "codec", "other", *CONSUMERS)
    folder = root / "made"
    folder.mkdir()
    plain = at.link(*(LinkSpec(target=name, label=Link.UNFOLDED) for name in CONSUMERS))
    for name in CONSUMERS:
        (folder / name).write_bytes((plain / Link.UNFOLDED / name).read_bytes())
        (folder / name).chmod(0o755)
    for target in ("libcodec.so", "libother.so"):
        made = guard(at, target, RULES, REFUSALS)
        (folder / target).write_bytes(made)
    return Built(folder=folder, at=at)


@pytest.fixture(scope="module", params=MACHINES)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(request.param, tmp_path_factory.mktemp("guard"))


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("name", CALLS)
def test_attempt(name: str, consumer: str, built: Built) -> None:
    """The consumer ends with 0 if each error has its name, and what follows works."""
    ended = built.use(consumer, CALLS[name])
    assert (ended.rc, ended.stdout) == (0, "good\n"), ended.stdout + ended.stderr


@dataclass(frozen=True)
class Refusal:
    library: str
    says: tuple[str, ...]
    exports: tuple[str, ...] = ("refused_*",)


REFUSED = {
    "a_library_with_worker_threads": Refusal("thread", ("pthread_create", "starts threads")),
    "a_library_with_worker_threads_in_cxx": Refusal("std_thread", ("starts threads",)),
    "a_library_that_throws_where_it_initializes": Refusal(
        "throws", ("pthread_once and __cxa_throw", "wait for ever")
    ),
    "a_library_with_locks_for_readers": Refusal("readers", ("pthread_rwlock_rdlock", "lock")),
    "a_library_that_holds_the_loaders_lock": Refusal("lister", ("dl_iterate_phdr", "lock")),
    "an_export_in_cxx_that_nobody_listed": Refusal(
        "thrower", ("C++ exports", "refused_member(int)"), ("refused_*", "*")
    ),
    "an_export_in_cxx_that_throws": Refusal(
        "thrower", ("refused_member(int)", "__cxa_throw"), ("refused_call", "refused_member")
    ),
}


@dataclass(frozen=True)
class RefusedRefusal:
    """Rows of ``trim.refusals`` that are refused, one by one."""

    functions: tuple[str, ...]
    says: str
    message: int = 0
    formats: bool = False
    ran: frozenset[str] = frozenset()


_ENDS = ("abort", "__stack_chk_fail", "std::terminate", "__asan_report_load1", "__cxa_pure_virtual")
REFUSED_REFUSALS = {
    "a_refusal_that_ends_damage": RefusedRefusal(_ENDS, "memory may be damaged"),
    "a_refusal_that_is_thrown": RefusedRefusal(("__cxa_throw",), "may catch it"),
    "a_refusal_that_is_exported": RefusedRefusal(("refused_refuses",), "exports refused_refuses"),
    "a_refusal_that_a_scenario_calls": RefusedRefusal(
        ("gives_up_anew",), "a scenario calls gives_up_anew", ran=frozenset(("gives_up_anew",))
    ),
    "a_refusal_that_does_not_exist": RefusedRefusal(("gives_in",), "megtrim.yaml:7: trim"),
    "a_message_of_a_local_function": RefusedRefusal(
        ("gives_up_there", "inside::gives_up"), "is static", message=1
    ),
    "a_format_of_a_function_without_values": RefusedRefusal(
        ("engine::check",), "takes no values", message=1, formats=True
    ),
}
CALL = """\
import ctypes
import sys
library = ctypes.CDLL(sys.argv[1])
library.megtrim_missing.restype = ctypes.c_char_p
print(library.refused_call(3), library.megtrim_missing().decode())
"""
OTHERS = ("a_version_script_hides_the_name", "a_library_that_initializes_once_in_a_child")
ATTEMPTS = (*CALLS, *REFUSED, *REFUSED_REFUSALS, *OTHERS)


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Lease:
    names = {"refuser", "once", *(each.library for each in REFUSED.values())}
    root = tmp_path_factory.mktemp("refusing")
    return lease("host", root, SOURCES, *sorted(names))


@pytest.mark.chain
@pytest.mark.parametrize("name", REFUSED)
def test_attempt_that_is_refused(name: str, refusing: Lease) -> None:
    refusal = REFUSED[name]
    rules = tuple(ErrorRule(exports=each, value=ERROR) for each in refusal.exports)
    with pytest.raises(InputError) as refused:
        guard(refusing, f"lib{refusal.library}.so", rules)
    assert all(part in str(refused.value) for part in refusal.says)


@pytest.mark.chain
@pytest.mark.parametrize("name", REFUSED_REFUSALS)
def test_attempt_of_a_refusal(name: str, refusing: Lease) -> None:
    row = REFUSED_REFUSALS[name]
    rules = (ErrorRule(exports="refused_*", value=ERROR),)
    for function in row.functions:
        rule = RefusalRule(
            function=function,
            message=row.message,
            formats=row.formats,
            where="megtrim.yaml:7: trim.refusals[0]",
            needed=True,
        )
        with pytest.raises(InputError) as refused:
            guard(refusing, "librefuser.so", rules, (rule,), row.ran)
        assert row.says in str(refused.value), function


ONCE = """\
import ctypes
import os
import sys
import threading
import time
library = ctypes.CDLL(sys.argv[1])
found = []
def begin(call):
    threads = [threading.Thread(target=lambda: found.append(call(3))) for _ in range(8)]
    for thread in threads:
        thread.start()
    return threads
for call in (library.refused_call, library.refused_call):
    for thread in begin(call):
        thread.join()
threads = begin(library.refused_other)
time.sleep(0.05)
child = os.fork()
if not child:
    os._exit(library.refused_other(5))
for thread in threads:
    thread.join()
print(sorted(set(found[:16])), found[16:], os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.chain
def test_a_library_that_initializes_once(refusing: Lease, tmp_path: Path) -> None:
    """The child of the fork is the attempt a_library_that_initializes_once_in_a_child."""
    rules = (ErrorRule(exports="refused_*", value=ERROR),)
    made = tmp_path / "libonce.so"
    made.write_bytes(guard(refusing, made.name, rules))
    program = Command(argv=(sys.executable, "-c", ONCE, str(made)), timeout_s=20)
    called = ProcessRunner(os.environ).run(program)

    assert (called.rc, called.stdout) == (0, f"[{ERROR}] {[3] * 8} 5\n"), called.stderr


@pytest.mark.chain
@pytest.mark.parametrize(
    ("library", "starts"),
    [("thread", "pthread_create"), ("std_thread", "std::thread::_M_start_thread")],
)
def test_a_library_whose_threads_are_refusals(
    library: str, starts: str, refusing: Lease, tmp_path: Path
) -> None:
    rules = (ErrorRule(exports="refused_*", value=ERROR),)
    made = tmp_path / f"lib{library}.so"
    made.write_bytes(guard(refusing, made.name, rules, (RefusalRule(function=starts),)))
    program = Command(argv=(sys.executable, "-c", CALL, str(made)), timeout_s=20)
    called = ProcessRunner(os.environ).run(program)

    assert (called.rc, called.stdout) == (0, f"{ERROR} refused by {starts}\n"), called.stderr


@pytest.mark.parametrize("kind", MACHINES[:2])
def test_attempt_with_a_version_script(kind: str, tmp_path: Path) -> None:
    rules = (ErrorRule(exports="refused_*", value=ERROR),)
    at = lease(kind, tmp_path, SOURCES, "hidden")
    if kind == "host":
        with pytest.raises(InputError, match=f"version script hides {guards.MISSING}"):
            guard(at, "libhidden.so", rules)
    else:
        made = tmp_path / "libhidden.so"
        made.write_bytes(guard(at, made.name, rules))
        assert read_dynamic_names(made).exported == {guards.MISSING, "refused_call"}
