"""The functions by which a library itself refuses what it is given, such as a damaged file.

Where exports are guarded, a call of one ends like a call of what was left out: it returns an error,
whose text says what was refused. Pure.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from megtrim.core.functions.linker_script import is_stub
from megtrim.libs.elf.symbol_names import (
    brief,
    find_literal_word,
    is_linkable,
    is_local_name,
    iter_spellings,
)
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

_CXX = "_Z"
_VARIES = "z"
"""How the linkage name of a C++ function ends that takes a varying number of arguments."""
_TEXT = re.compile("PK?c|S[0-9A-Z]*_")
"""A pointer to characters among the arguments of a C++ function, or what may stand for one."""
_CLONE = "."
"""Compilers put it before what they append to the name of a copy with other arguments."""
_WILD = re.compile(r"\[[^]]*\]|[*?[]")

OF_HEADER = ("megtrim_refused", "megtrim_lacks")
"""Functions of a generated header: its engine's traps call one, and regions that are not kept."""
_OWN: Mapping[str, tuple[str, str, str]] = {
    "megtrim_refused": ("refused in ", "(const char* in, int line)", '"%s, line %d", in, line'),
    "megtrim_lacks": ("left out: ", "(const char* region)", '"%s", region'),
}
"""What the text says of each, its parameters, and the format and values of its message."""

_DAMAGED = "is called where memory may be damaged: going on would help an attacker"
_CAUGHT = "throws: the library may catch it, and list what calls it instead"
UNREFUSABLE: tuple[tuple[str, str], ...] = (
    (r"abort|raise|t?g?kill|_?_?exit|_Exit|quick_exit|_ZSt9terminatev", _DAMAGED),
    (r"__stack_chk_\w+|__fortify_\w+|__chk_fail|\w+_chk|__libc_fatal", _DAMAGED),
    (r"__(asan|hwasan|msan|tsan|ubsan|sanitizer|cfi)_\w+", _DAMAGED),
    (r"__cxa_(pure|deleted)_virtual|__cxa_call_\w+|__clang_call_terminate", _DAMAGED),
    (r"malloc|calloc|realloc|free|_Zn[aw]\w+|_Zd[al]\w+", _DAMAGED),
    (r"__cxa_(re)?throw|_Unwind_\w+", _CAUGHT),
)
"""Functions that no configuration makes errors, and why."""


class RefusalRule(Value):
    function: str
    """Shell pattern for linkage names; C++ functions also as in the source."""
    message: int = 0
    """Number of the argument, from 1, that says what is refused; 0: none does."""
    formats: bool = False
    """The message is one of printf, and what belongs into it follows."""
    where: str = ""
    """``FILE:LINE: KEY``; empty: it is none of the configuration's, and means what can be meant."""
    needed: bool = False
    """It must mean a function: there is no other library."""

    def matches(self, name: str) -> bool:
        whole = name.partition(_CLONE)[0]
        return any(fnmatchcase(each, self.function) for each in iter_spellings(whole))


_SAYS_NOTHING = ("bad_alloc", "bad_array_new_length", "bad_cast", "bad_function_call")
_SAYS = ("invalid_argument", "length_error", "logic_error", "out_of_range", "runtime_error")
OF_CXX_LIBRARY = (
    *(RefusalRule(function=f"std::__throw_{each}") for each in (*_SAYS_NOTHING, "system_error")),
    *(RefusalRule(function=f"std::__throw_{each}", message=1) for each in _SAYS),
    RefusalRule(function="std::__throw_out_of_range_fmt", message=1, formats=True),
    RefusalRule(function="std::__1::__libcpp_verbose_abort", message=1, formats=True),
    RefusalRule(function="std::__ndk1::__libcpp_verbose_abort", message=1, formats=True),
)
"""How containers of a C++ library refuse, before anything is changed. Without exceptions, this
would end the process."""


class Refusal(Value):
    name: str
    message: int = 0
    formats: bool = False


def choose(
    table: FunctionTable,
    rules: Sequence[RefusalRule],
    groups: Iterable[Sequence[str]] = (),
    *,
    source: str,
) -> tuple[Refusal, ...]:
    """Return the functions that refuse, sorted by name; the first rule that means one decides.

    ``groups``: names of functions that share code. Raises InputError for a rule that means no
    function, or one that must not be an error.
    """
    same = {name: group for group in groups for name in group}
    chosen: dict[str, Refusal] = {}
    for rule in rules:
        found = _find(table, rule)
        if rule.needed and not found:
            msg = f"{rule.where}: {source} calls and has no function like {rule.function!r}"
            hint = "was it inlined everywhere? `nm FILE` lists the functions of an unstripped file"
            raise InputError(msg, hint=hint)
        for name in sorted(found):
            refused = _refuse(table, name, rule, source)
            if refused is not None:
                if rule.where:
                    raise refused
                continue
            # Other names of it, and the parts that a compiler split off, are the same function.
            for each in (name, *same.get(name, ())):
                says = rule.message if _CLONE not in each and each in found else 0
                refusal = Refusal(name=each, message=says, formats=rule.formats)
                chosen.setdefault(each, refusal)
    return tuple(chosen[name] for name in sorted(chosen))


def _find(table: FunctionTable, rule: RefusalRule) -> frozenset[str]:
    """What is in another file is meant by its whole name only."""
    wild = _WILD.search(rule.function)
    word = find_literal_word(_WILD.sub(" ", rule.function))
    names = table.names if wild else table.names | table.imported
    # To read all names of a large library takes seconds.
    return frozenset(name for name in names if word in name and rule.matches(name))


def _refuse(table: FunctionTable, name: str, rule: RefusalRule, source: str) -> InputError | None:
    """Return why a function must not be an error; None: it can be one."""
    whole = name.partition(_CLONE)[0]
    for pattern, why in UNREFUSABLE:
        if re.fullmatch(pattern, whole):
            msg = f"{rule.where}: {name} cannot be made an error: it {why}"
            return InputError(msg, hint="take it out of trim.refusals")
    if name in table.exported:
        msg = f"{rule.where}: {source} exports {brief(name)}, so other files may call it"
        hint = "let trim.exports leave it out, or take it out of trim.refusals"
        return InputError(msg, hint=hint)
    if name in table.ifuncs or name in table.data or not is_linkable(name):
        return _cannot_replace(rule.where, name)
    if rule.formats and name.startswith(_CXX) and not whole.endswith(_VARIES):
        msg = f"{rule.where}: {brief(name)} takes no values for a format"
        return InputError(msg, hint="write message in place of format")
    if rule.message and name.startswith(_CXX) and not _TEXT.search(whole):
        msg = f"{rule.where}: {brief(name)} takes no argument of type const char*"
        hint = "name the overload with its arguments, or leave message and format out of its row"
        return InputError(msg, hint=hint)
    if rule.message and is_local_name(name):
        return _has_no_message(rule.where, name)
    return None


def _cannot_replace(where: str, name: str) -> InputError:
    msg = f"{where}: {brief(name)} cannot be replaced by an error: its code may be too short"
    return InputError(msg, hint="take it out of trim.refusals")


def _has_no_message(where: str, name: str) -> InputError:
    msg = f"{where}: {brief(name)} is static, so a compiler may have changed its arguments"
    hint = "leave message and format out of its row of trim.refusals, or make it not static"
    return InputError(msg, hint=hint)


def expect_replaced(
    after: FunctionTable,
    refusals: Iterable[Refusal],
    emptied: Mapping[int, Function],
    *,
    source: str,
) -> None:
    """``emptied``: by their addresses, local functions that can be led to an error. Raises
    InputError for a function that a linked library still has.
    """
    ends = {each.address for each in after.functions if is_stub(each.name)}
    for refusal in refusals:
        found = {each.address for each in after.functions if each.name == refusal.name}
        if not found <= {*ends, *emptied} or refusal.name in after.imported:
            raise _cannot_replace(source, refusal.name)
        if refusal.message and found & emptied.keys():
            raise _has_no_message(source, refusal.name)


def expect_not_run(refusals: Iterable[Refusal], ran: Container[str], *, source: str) -> None:
    for refusal in refusals:
        if refusal.name in ran:
            msg = f"{source}: a scenario calls {brief(refusal.name)}, which would end it"
            hint = "take it out of trim.refusals: it does more than to refuse"
            raise InputError(msg, hint=hint)


def write_stubs(refusals: Iterable[Refusal], numbers: Mapping[str, int]) -> str:
    """Return what follows ``guard.c``: functions with the arguments of those that they replace."""
    return "".join(_write_stub(each, numbers[each.name]) for each in refusals)


def _write_stub(refusal: Refusal, number: int) -> str:
    if refusal.name in _OWN:
        what, parameters, values = _OWN[refusal.name]
        return f'REFUSES({number}, "{what}", {parameters}, {values})\n'
    what = f"refused by {_spell(refusal.name)}"
    before = "".join(f"const void* a{at}, " for at in range(1, refusal.message))
    if not refusal.message:
        return f'REFUSES({number}, "{what}", (void), NULL)\n'
    if refusal.formats:
        return f'REFUSES_BY_FORMAT({number}, "{what}: ", ({before}const char* said, ...))\n'
    return f'REFUSES({number}, "{what}", ({before}const char* said), TEXT(said))\n'


def _spell(name: str) -> str:
    """Return a name as in the source, without arguments, as part of a string of C."""
    text = [*iter_spellings(name)][-1]
    shown = "".join(each if " " <= each <= "~" else "?" for each in text)
    return shown.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
