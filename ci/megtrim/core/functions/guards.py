"""Guards around a library's exports: a call that reaches what was left out returns an error.

The library is linked with a runtime (``guard.c``, ``guard.S``), in which what was left out ends.
Here callers are led to the guards, by the library's own table of names, and the local functions
that were emptied to the runtime. Pure: bytes in, bytes out.
"""

import hashlib
import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.resources import files as package_files

from megtrim.core.build_spec import LinkSpec, StubForm
from megtrim.core.functions import linker_script
from megtrim.core.functions.calls import OWN_CALLS
from megtrim.core.functions.local_functions import lead_to, named_trap, number_names
from megtrim.core.functions.refusals import Refusal, write_stubs
from megtrim.libs.elf.layout import DAMAGE, DYNAMIC_SYMBOLS, LOADED, ElfLayout
from megtrim.libs.elf.symbol_names import brief, is_linkable, iter_spellings, list_brief
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.value import Value

MISSING = "megtrim_missing"
"""The library exports it: it names for the application what the last call lacked."""
MACHINES = ("aarch64", "x86_64")
_RUNTIME, _GUARDS = (
    (package_files("megtrim.core.functions") / name).read_text("utf-8")
    for name in ("guard.c", "guard.S")
)
_EXPORT = f"VERSION {{ {{ global: {MISSING}; }}; }}\n"
IDENTITY = hashlib.sha256(f"{_RUNTIME}{_GUARDS}{_EXPORT}".encode()).hexdigest()
_FIRST = "megtrim_guards"
_END = "megtrim_miss"
ENDS = frozenset((_END, "megtrim_missed"))
"""Functions of the runtime: a call that lacks a function and passed no guard traps there."""
_GUARD_BYTES = 16
_MOST_GUARDS = 65_536
_LOCKS = ("pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_unlock")
_STATICS = ("__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort")
_ONCE_MADE = ("pthread_once",)
_FUNCTION = 2
_CXX = "_Z"
_SYMBOL_BYTES = 24
_VALUE_AT = 8
_VALUE = struct.Struct("<QQ")
"""Address and size, in an entry of the table of names."""
_HINT = "this linker cannot guard exports as megtrim needs it: trim.on_missing: trap"
_SHOWN = 5

_THREADS = "starts threads: one that lacks a function has no export to return from"
_ONCE = "initializes something once: if that fails, each later call waits for ever"
_HELD = "takes a lock that a guard does not give back: a later call would wait for ever"
_KEPT = "changes its thread for longer than the call: a guard does not change it back"
_BEHIND = "calls functions where no export is to return from"
_STACKS = "leaves calls without returning from them, or changes stacks"
_LIBCXX = r"_ZNSt\d__(1|2|ndk1|Cr)"
"""How names in clang's C++ library begin: its versions are namespaces."""
_LIBCXX_ONCE = rf"{_LIBCXX}11__call_once\w*"
_LIBCXX_LOCKS = r"5mutex|15recursive_mutex|11timed_mutex|21recursive_timed_mutex"
_LIBCXX_SHARED_LOCKS = r"19__shared_mutex_base|18shared_timed_mutex"
UNGUARDABLE: tuple[tuple[str, str], ...] = (
    (r"pthread_create|thrd_create|GOMP_\w*|__kmpc_\w+|timer_create|dispatch_\w+", _THREADS),
    (r"_ZNSt6thread15_M_start_thread\w*", _THREADS),
    (r"call_once", _ONCE),
    (_LIBCXX_ONCE, _ONCE),
    (r"pthread_(rwlock|spin)_\w*lock\w*|pthread_barrier_wait|sem_\w*wait", _HELD),
    (r"pthread_mutex_(timed|clock)lock|mtx_\w*lock|flock|lockf|flockfile|omp_set_\w*lock", _HELD),
    (rf"{_LIBCXX}({_LIBCXX_LOCKS}|{_LIBCXX_SHARED_LOCKS})\d+(try_)?lock\w*", _HELD),
    (r"syscall|dl_iterate_phdr", _HELD),
    (r"pthread_sigmask|sigprocmask|sigaltstack|fesetround|fesetenv|feholdexcept", _KEPT),
    (r"uselocale|pthread_setcancel(state|type)|vfork", _KEPT),
    (r"sigaction|signal|bsd_signal|(__)?sysv_signal|sigset", _BEHIND),
    (r"pthread_atfork|pthread_key_create", _BEHIND),
    (r"__cxa_thread_atexit(_impl)?|tss_create|on_exit", _BEHIND),
    (r"(_|sig|__sig)?longjmp|__longjmp_chk|(make|swap|set)context|pthread_exit", _STACKS),
)
"""Functions of other files whose callers cannot be guarded, and why."""
_THROWS = ("__cxa_throw", "__cxa_rethrow", "_Unwind_RaiseException")
_CATCHES = ("__cxa_begin_catch",)


class ErrorRule(Value):
    """What exports return that reach what was left out."""

    exports: str
    """Shell pattern for linkage names; C++ functions also as in the source."""
    value: int
    handles: tuple[int, ...] = ()
    """Numbers of arguments, from 1: they are not usable after an error."""
    where: str = ""
    """``FILE:LINE: KEY``; empty: it need not match any export."""

    def matches(self, name: str) -> bool:
        if fnmatchcase(name, self.exports):
            # What is meant for an interface in C says nothing of what functions in C++ return.
            return not name.startswith(_CXX) or self.exports.startswith(_CXX)
        if not name.startswith(_CXX) or self.exports[0] in "*?[":
            return False
        return any(fnmatchcase(each, self.exports) for each in iter_spellings(name))


class Guard(Value):
    export: str
    value: int
    handles: tuple[int, ...]


def choose(
    table: FunctionTable,
    rules: Sequence[ErrorRule],
    may_miss: Callable[[str], bool],
    *,
    source: str,
) -> tuple[Guard, ...]:
    """Return the guards of a library's exports, sorted by name.

    An export without a rule needs no guard if it cannot miss anything. Raises InputError for
    others, and for rules that match no export.
    """
    functions = sorted(table.exported & table.names)
    guards = []
    refused = []
    for name in functions:
        rule = next((each for each in rules if each.matches(name)), None)
        if rule is not None:
            guards.append(Guard(export=name, value=rule.value, handles=rule.handles))
        elif may_miss(name):
            refused.append(name)
    if refused:
        language = "C++ " if all(name.startswith(_CXX) for name in refused) else ""
        msg = (
            f"{source}: trim.errors does not say what these {language}exports return "
            f"if a function is missing: {list_brief(refused, _SHOWN)}"
        )
        hint = "list them in trim.errors, or let trim.exports name only what applications use"
        raise InputError(msg, hint=hint)
    for rule in rules:
        if rule.where and not any(map(rule.matches, functions)):
            msg = f"{rule.where}: {source} exports no function like {rule.exports!r}"
            hint = "is it spelled as exported? `nm -D --defined-only FILE` lists the exports"
            raise InputError(msg, hint=hint)
    _expect_guardable(table, guards, source)
    return tuple(guards)


def _expect_guardable(table: FunctionTable, guards: Sequence[Guard], source: str) -> None:
    if table.machine not in MACHINES:
        msg = f"{source}: exports are guarded on {' and '.join(MACHINES)}, not on {table.machine}"
        raise InputError(msg, hint="use trim.on_missing: trap for this machine")
    chosen = [each.export for each in guards if each.export in table.ifuncs]
    odd = [each.export for each in guards if not is_linkable(each.export)]
    if chosen or odd or len(guards) > _MOST_GUARDS:
        name = (*chosen, *odd, f"one of {len(guards)} exports")[0]
        msg = f"{source}: {brief(name)} cannot be guarded"
        raise InputError(msg, hint="let trim.exports leave it out, or use trim.on_missing: trap")


def expect_safe(
    before: FunctionTable, after: FunctionTable, guards: Sequence[Guard], *, source: str
) -> None:
    """``after``: of the library as it ships. Raises InputError for what no guard can end well."""
    called = before.imported & after.imported
    # The locks of a C++ library that is linked in are guarded; how it initializes once is not.
    called |= {name for name in before.names & after.names if re.fullmatch(_LIBCXX_ONCE, name)}
    for pattern, why in UNGUARDABLE:
        match = re.compile(pattern).fullmatch
        for name in sorted(called):
            if match(name):
                msg = f"{source}: trim.on_missing: error is not safe: it calls {name}, so it {why}"
                raise InputError(msg, hint="use trim.on_missing: trap, or build it without that")
    own = next((each.export for each in guards if each.export.startswith(_CXX)), None)
    thrower = next((each for each in _THROWS if each in called or each in after.names), None)
    if own and thrower:
        msg = (
            f"{source}: {brief(own)} may throw, because the library calls {thrower}, "
            "and an exception does not pass a guard"
        )
        hint = "list no C++ exports in trim.errors, or use trim.on_missing: trap"
        raise InputError(msg, hint=hint)
    # What others throw, such as std::stoi, passes its frames as well.
    thrower = thrower or next((each for each in _CATCHES if each in called | after.names), None)
    if thrower and any(f"__wrap_{name}" in after.names for name in _ONCE_MADE):
        msg = (
            f"{source}: trim.on_missing: error is not safe: it calls pthread_once and {thrower}, "
            "so an exception may leave what is initialized once: later calls would wait for ever"
        )
        hint = "use trim.on_missing: trap, or build it without exceptions"
        raise InputError(msg, hint=hint)
    if MISSING not in after.exported:
        msg = f"{source}: its version script hides {MISSING}, which tells what a call lacked"
        raise InputError(msg, hint=f"add {MISSING} to the script's global names")


def specify_link(
    spec: LinkSpec,
    guards: Sequence[Guard],
    before: FunctionTable,
    refusals: Sequence[Refusal] = (),
    *,
    by_lld: bool,
) -> LinkSpec:
    """Return the link that leaves out what ``spec`` empties, with guards. A version script of the
    library's own may hide all names that it does not know; GNU ld takes no second one.
    """
    numbers = number_names(spec.emptied)
    # Nothing but a local function, which is led to it afterwards, may refer to one.
    stubs = (_refer(f"{linker_script.STUB}_{numbers[each.name]}") for each in refusals)
    return replace(
        spec,
        flags=(*spec.flags, *_list_flags(before), *stubs),
        sources=_write_sources(guards, numbers, before, refusals),
        script=linker_script.named_script(spec.emptied),
        left_out=(),
        layout=_EXPORT if by_lld else "",
        form=StubForm.NAMED,
    )


def _write_sources(
    guards: Sequence[Guard],
    numbers: Mapping[str, int],
    before: FunctionTable,
    refusals: Sequence[Refusal],
) -> tuple[tuple[str, str], ...]:
    """Write the runtime. A linker drops the ends of functions that nothing refers to."""
    defines = ""
    if _refers(before, _LOCKS):
        defines += "#define MEGTRIM_LOCKS\n"
    if _refers(before, _STATICS):
        defines += "#define MEGTRIM_STATICS\n"
    if _refers(before, _ONCE_MADE):
        defines += "#define MEGTRIM_ONCE\n"
    if refusals:
        defines += "#define MEGTRIM_REFUSALS\n"
    refused = {each.name for each in refusals}
    ends = (f'MISSING({at}, "{name}")\n' for name, at in numbers.items() if name not in refused)
    table = (
        '.section .rodata.megtrim_exports, "a", %progbits\n'
        ".hidden megtrim_exports\n.globl megtrim_exports\n.p2align 2\nmegtrim_exports:\n"
    )
    for each in guards:
        mask = sum(1 << number - 1 for number in each.handles)
        table += f".long {each.value & 0xFFFFFFFF}, {mask}\n"
    entries = (
        f'.section .text.{_FIRST}, "ax", %progbits\n.p2align 4\n.hidden {_FIRST}\n'
        f".globl {_FIRST}\n.type {_FIRST}, %function\n{_FIRST}:\n"
    )
    entries += "".join(f"GUARD({at}, {each.export})\n" for at, each in enumerate(guards))
    entries += f".size {_FIRST}, . - {_FIRST}\n"
    return (
        ("megtrim_guard.c", defines + _RUNTIME + write_stubs(refusals, numbers)),
        ("megtrim_guards.S", "".join((_GUARDS, table, entries, *ends))),
        *linker_script.SUBSTITUTE_SOURCES,
    )


def _list_flags(before: FunctionTable) -> tuple[str, ...]:
    """The library's own calls of exports pass no guard. Nothing refers to the guards before names
    are led to them.
    """
    each = (_LOCKS, _STATICS, _ONCE_MADE)
    wrapped = [name for names in each if _refers(before, names) for name in names]
    return (
        *OWN_CALLS,
        *map(_refer, (_FIRST, _END, MISSING)),
        *(f"-Wl,--wrap={name}" for name in wrapped),
    )


def _refer(name: str) -> str:
    return f"-Wl,--undefined={name}"


def _refers(before: FunctionTable, names: Iterable[str]) -> bool:
    return not (before.imported | before.names).isdisjoint(names)


def patch(
    data: bytes,
    table: FunctionTable,
    guards: Sequence[Guard],
    dropped: Sequence[str],
    refusals: Iterable[Refusal] = (),
    *,
    source: str,
) -> bytes:
    """Return a linked library, stripped or not, with names that lead to guards.

    ``table``: of the library before it was stripped; ``dropped`` as its link empties them. Raises
    ProductFailure.
    """
    image = bytearray(data)
    numbers = number_names(dropped)
    stubs = {each.name: f"{linker_script.STUB}_{numbers[each.name]}" for each in refusals}
    try:
        found = ElfLayout(data)
        places = {each.name: each.address for each in table.functions}
        edits = [*_lead_names(found, places[_FIRST], guards)]
        for at, each in _iter_emptied(data, found, table, dropped):
            refuses = each.name in stubs
            distance = places[stubs.get(each.name, _END)] - each.address
            edits.append((at, lead_to(found.machine, each.name, distance, jumps=refuses)))
    except (*DAMAGE, KeyError) as error:
        msg = f"{source}: its exports cannot be guarded: {error}"
        raise ProductFailure(msg, hint=_HINT) from None
    for at, new in edits:
        image[at : at + len(new)] = new
    return bytes(image)


def _lead_names(
    layout: ElfLayout, first: int, guards: Sequence[Guard]
) -> Iterator[tuple[int, bytes]]:
    addresses = {each.export: first + at * _GUARD_BYTES for at, each in enumerate(guards)}
    ahead = set(addresses)
    names = layout.find_table(DYNAMIC_SYMBOLS)
    entry = names.offset if names else 0
    for name, kind, place, *_ in layout.entries(names) if names else ():
        if place != 0 and name in addresses:
            if kind & 15 != _FUNCTION or name not in ahead:
                msg = f"{name} is no function, or has several versions"
                raise ValueError(msg)
            ahead.remove(name)
            yield entry + _VALUE_AT, _VALUE.pack(addresses[name], _GUARD_BYTES)
        entry += _SYMBOL_BYTES
    if ahead:
        msg = f"{min(ahead)} is not exported"
        raise ValueError(msg)


def find_emptied(
    data: bytes, table: FunctionTable, dropped: Collection[str], *, source: str
) -> dict[int, Function]:
    """Return the functions by their addresses. Raises ProductFailure for a damaged file."""
    try:
        layout = ElfLayout(data)
        return {each.address: each for _, each in _iter_emptied(data, layout, table, dropped)}
    except DAMAGE as error:
        msg = f"{source}: its exports cannot be guarded: {error}"
        raise ProductFailure(msg, hint=_HINT) from None


def _iter_emptied(
    data: bytes, layout: ElfLayout, table: FunctionTable, dropped: Collection[str]
) -> Iterator[tuple[int, Function]]:
    names = frozenset(dropped)
    for each in table.functions:
        if each.name in names:
            code = named_trap(layout.machine, each.name)
            at = _find_offset(layout, each.address)
            if data[at : at + len(code)] == code:
                yield at, each


def _find_offset(layout: ElfLayout, address: int) -> int:
    for each in layout.segments:
        if each.kind == LOADED and 0 <= address - each.address < each.size_bytes:
            return address - each.address + each.offset
    msg = f"no code is at {address:#x}"
    raise ValueError(msg)
