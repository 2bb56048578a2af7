"""The linker's input that leaves functions out: a script of assignments, and their targets.

As an input of the link, ``HIDDEN("_ZN3mgb3fooEv" = megtrim_stub);`` overrides the function of that
name, even if it is in an archive or in bitcode. Nothing refers to its body then, and
``--gc-sections`` drops it. Not hidden, the name of a local C function would become an export. Pure.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.resources import files as package_files

from megtrim.core.functions.calls import Disassembly
from megtrim.core.functions.observables import Observables
from megtrim.libs.elf.symbol_names import is_linkable, is_local_name, list_brief
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.errors import ACCEPT, InputError, ProductFailure

STUB = "megtrim_stub"
REPORTING = f"{STUB}_ran"
"""The function of a link with names that says which one is not kept, and traps."""
_LOCAL_ALIAS = ".localalias"
_MAIN = "main"
"""Called by the C library's start-up code, which no link shows."""
_NOT_KEPT = re.compile(r"megtrim: function #([0-9]{1,9}) is not kept")
_TRAP_BYTES = {"aarch64": 4, "armv7l": 4, "x86_64": 2}
"""Size of an emptied function: ``brk``, ``udf`` (2 in Thumb code) or ``ud2``."""
_NUMBERED_TRAP_BYTES = {"aarch64": 4, "armv7l": 4, "x86_64": 7}
_SHOWN = 3
_AGAIN = "a function that runs is not on the list: record them again"
_UNKNOWN = "the list was changed after it was recorded: record it again"
_HINT = "this linker cannot leave functions out as megtrim needs it: use another toolchain"


def _text(name: str) -> str:
    return (package_files("megtrim.core.functions") / name).read_text(encoding="utf-8")


_NO_NAME = ("megtrim_no_name.S", _text("no_name.S"))
SUBSTITUTES = {"__cxa_demangle": "megtrim_no_name"}
"""What replaces a function instead of a trap."""
SUBSTITUTE_SOURCES = (_NO_NAME,)
SOURCES = (("megtrim_stub.S", _text("stub.S")), _NO_NAME)
_STUB_NAME = re.compile(rf"{STUB}(?:_[0-9]{{1,9}})?")


def is_stub(name: str) -> bool:
    return _STUB_NAME.fullmatch(name) is not None


def numbered_sources(count: int) -> tuple[tuple[str, str], ...]:
    """``named_script`` goes with them. A linker drops the stubs that nothing refers to."""
    return (_number_stubs(range(count)), _NO_NAME)


def _number_stubs(numbers: Iterable[int]) -> tuple[str, str]:
    stubs = "".join(f"STUB({number})\n" for number in numbers)
    return "megtrim_numbered_stubs.S", _text("numbered_stubs.S") + stubs


def apart_sources(
    groups: Sequence[Sequence[str]], addressed: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """``script`` goes with them."""
    numbers = [
        number for number, names in enumerate(groups) if any(name in addressed for name in names)
    ]
    return (*SOURCES, _number_stubs(numbers)) if numbers else SOURCES


def named_sources(count: int) -> tuple[tuple[str, str], ...]:
    stubs = "".join(f"STUB({number})\n" for number in range(count))
    return (
        ("megtrim_named_stubs.S", _text("named_stubs.S") + stubs),
        ("megtrim_stub_ran.c", _text("named_stubs.c")),
        _NO_NAME,
    )


def hiding_sources(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """A name is no longer exported if one of its references is hidden. The engine may refer to it.

    Raises InputError for a name that an assembler cannot read.
    """
    _none((name for name in names if not is_linkable(name)), "names that cannot be hidden", _HINT)
    lines = (f'.globl "{name}"\n.hidden "{name}"\n' for name in names)
    note = '.section .note.GNU-stack, "", %progbits\n'
    return (("megtrim_hidden.S", "".join((*lines, note))),) if names else ()


def expect_hidden(table: FunctionTable, names: Iterable[str], *, source: str) -> None:
    _none(table.exported & {*names}, f"{source}: names are still exported", _HINT)


def droppable(
    table: FunctionTable, kept: Collection[str], observables: Observables
) -> tuple[str, ...]:
    """Return the names that a build can leave out, sorted, local functions included.

    Not ``kept``, nor what shares code with such a one, is not observable, is imported or exported,
    starts the program, is data in another file, or has a name for its own object alone.
    """
    aliased = list_aliased(observables)
    stay = {*table.imported, *table.exported, *table.data, _MAIN, *aliased, *kept}
    groups = (group for group in observables.groups if stay.isdisjoint(group))
    return tuple(sorted(name for group in groups for name in group))


def list_aliased(observables: Observables) -> frozenset[str]:
    """Return the names of functions to which GCC gave another name for their own object alone.

    Code there compares an address by that name with one that was made by the other, such as that of
    a virtual destructor. An assignment reaches only one of both, and they would be unequal.
    """
    found = set()
    for group in observables.groups:
        if any(_LOCAL_ALIAS in name for name in group):
            found |= {*group}
    return frozenset(found)


def script(groups: Iterable[Sequence[str]], addressed: Collection[str] = ()) -> str:
    """Lead the names of each function, one of ``groups``, to a stub.

    Functions with a name in ``addressed`` have one each, because code may compare addresses.
    """
    stubs = []
    for number, names in enumerate(groups):
        stub = f"{STUB}_{number}" if any(name in addressed for name in names) else STUB
        stubs += [(name, stub) for _, name in _enumerate_assignable(names)]
    return _assign(stubs)


def named_script(names: Iterable[str]) -> str:
    return _assign((name, f"{STUB}_{number}") for number, name in _enumerate_assignable(names))


def _assign(stubs: Iterable[tuple[str, str]]) -> str:
    return "".join(f'HIDDEN("{name}" = {SUBSTITUTES.get(name, stub)});\n' for name, stub in stubs)


def not_kept(stderr: str, names: Sequence[str]) -> str | None:
    found = _NOT_KEPT.search(stderr)
    number = int(found[1]) if found else len(names)
    return names[number] if number < len(names) else None


def _enumerate_assignable(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, name in enumerate(names):
        if not is_linkable(name):
            msg = f"found {name[:80]!r}, expected a name that is allowed in a linker script"
            raise InputError(msg, hint="record the functions again")
        if not is_local_name(name):
            yield number, name


def prove(
    before: FunctionTable,
    after: FunctionTable,
    *,
    kept: Collection[str],
    dropped: Collection[str],
    source: str,
    code: Disassembly | None = None,
    registrations: int | None = None,
    numbered: bool = False,
    added: Collection[str] = (),
    emptied: Collection[int] = (),
) -> None:
    """Compare the unfolded link with the one without the functions ``dropped``.

    ``kept`` is empty if the link inlines. With the ``code`` of the unfolded link, messages name the
    callers of lost functions. ``registrations``: the expected number if it differs, for link-time
    optimisation may evaluate one in advance. ``added``: exports of megtrim's own.
    ``emptied``: addresses of functions that are known to trap. Raises ProductFailure.
    """
    places: dict[str, list[Function]] = {}
    for function in after.functions:
        places.setdefault(function.name, []).append(function)
    stubs = {function.address for function in after.functions if is_stub(function.name)}
    others = {each.address for name in SUBSTITUTES.values() for each in places.get(name, ())}
    ends = {*stubs, *others, *emptied}
    trap_bytes = _NUMBERED_TRAP_BYTES if numbered else _TRAP_BYTES
    trap = trap_bytes[after.machine]
    # An assignment cannot reach a local function: its body may well be there.
    reachable = (name for name in dropped if not is_local_name(name))
    stayed = (name for name in reachable if not _is_gone(places.get(name, []), ends, trap))
    _none(stayed, f"{source}: functions that were to be left out are still there", _HINT)
    lost = [name for name in kept if name not in places]
    callers = code.callers(lost, dropped) if lost and code else ()
    called = f"; called by {list_brief(callers, _SHOWN)}" if callers else ""
    _none(lost, f"{source}: functions that are needed are no longer there", _AGAIN, called)
    # A function that only traps is folded with the stub, which changes nothing.
    whole = {function.name for function in before.functions if function.size_bytes > trap}
    stubbed = {function.name for function in after.functions if function.address in stubs}
    wrong = (stubbed & whole) - {*dropped}
    _none(wrong, f"{source}: functions that are needed became stubs", _AGAIN)
    _none(before.exported - after.exported, f"{source}: names are no longer exported", _HINT)
    # An exported stub would replace another file's function.
    new = after.exported - before.exported - {*added}
    _none(new, f"{source}: names became exported", _HINT)
    expected = before.registrations if registrations is None else registrations
    if after.registrations < expected:
        msg = (
            f"{source}: {after.registrations} functions are called before main, expected "
            f"{expected}, so the link lost a registration"
        )
        raise ProductFailure(msg, hint=_HINT)


def expect_known(unfolded: FunctionTable, listed: Iterable[str], *, source: str) -> None:
    problem = f"{source}: functions on the list are not in the link that it belongs to"
    _none({*listed} - unfolded.names, problem, _UNKNOWN)


def _is_gone(found: list[Function], ends: Collection[int], trap_bytes: int) -> bool:
    """One that leads to ``ends`` or a trap is enough: a local function may have the same name."""
    return not found or any(
        each.address in ends or 0 < each.size_bytes <= trap_bytes for each in found
    )


def _none(names: Iterable[str], problem: str, hint: str, more: str = "") -> None:
    found = sorted(names)
    if found:
        msg = f"{problem}: {list_brief(found, _SHOWN)}{more}"
        command = () if hint == _HINT else ACCEPT
        raise ProductFailure(msg, hint=hint, command=command)
