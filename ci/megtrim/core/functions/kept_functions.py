"""Functions that stay: those that a team names, those that report errors, and what they call.

A pattern is a shell pattern for linkage names or names in the source (``my::log::*``), or a folder
(``src/log/``), which stands for the functions of objects and archives in it. Pure.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from fnmatch import translate
from functools import cached_property

from megtrim.core.functions.calls import Disassembly
from megtrim.core.functions.link_map import LinkMap
from megtrim.core.functions.linker_script import SUBSTITUTES, list_aliased
from megtrim.core.functions.observables import Observables
from megtrim.libs.elf.symbol_names import (
    NOT_SPELLED_OUT,
    WORD,
    find_literal_word,
    identifiers,
    is_linkable,
    iter_spellings,
)
from megtrim.libs.elf.symbol_table import FunctionTable
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

REPORTS = ("*Error::*", "*Exception::*", "*ErrorHandler::*", "*assert_fail*")

BY_VALUES = re.compile(
    r"__(?:stable_|partial_|insertion_|selection_|intro|unguarded_|partition)?sort"
    r"|__(?:sift|push_heap|pop_heap|make_heap|adjust_heap|heap_select|half_inplace|inplace_merge)"
    r"|__(?:buffered_inplace|unguarded_linear|linear_insert|move_median|merge_)"
    r"|__tree_|_Rb_tree_|__hash_table|_Hashtable|_M_rehash|__rehash"
    r"|_M_(?:push|pop)_(?:back|front)_aux|_M_reallocate_map|_M_realloc_(?:insert|append)"
    r"|_M_default_append|_M_(?:fill|range|insert)_(?:insert|assign|aux)"
    r"|__(?:push|emplace)_back_slow_path|__add_(?:back|front)_capacity|__append"
)
"""Helpers of libc++ and libstdc++: sorts, trees, hash tables, growth of vectors and queues.
Which of them run depends on values, such as addresses that differ from run to run. Seen: a sort
of memory chunks that trapped under another environment, and a queue that grew on the second run.
"""

THROW = "__cxa_throw"
_UNWINDING = (
    "__gxx_personality_v0",
    "_Unwind_*",
    "unw_*",
    "libunwind::*",
    "__clang_call_terminate",
    "__cxa_begin_catch",
    "__cxa_end_catch",
    "__cxa_rethrow",
    "__cxa_free_exception",
    "__cxxabiv1::*_type_info::*",
    "__dynamic_cast",
    "std::terminate",
    "*terminate_handler*",
    # On 32-bit Arm.
    "__aeabi_unwind_cpp_pr*",
    "__gnu_*nwind*",
    "__cxa_type_match",
    "__cxa_*_cleanup",
)
"""Functions that a thrown exception needs, and that are reached by tables, not by direct calls."""
_NEAR = 3
_HINT = "name functions as in the source, my::log::*, or a folder of objects: src/log/"
_SET = re.compile(r"\[[^]]*\]")


class KeepPattern(Value):
    text: str
    where: str = ""
    """``FILE:LINE`` of the request; empty: it need not match any function."""


def keep_always(
    patterns: Sequence[KeepPattern],
    *,
    ran: Collection[str],
    unseen: Collection[str],
    code: Disassembly,
    origins: LinkMap,
) -> tuple[str, ...]:
    """Return the functions that stay although they did not run, with what they call, sorted.

    ``unseen`` may have run. Raises InputError for requested patterns that match nothing.
    """
    search = _Search(code.table, origins)
    done = {*ran, *SUBSTITUTES}
    kept = [(pattern, search.matches(pattern.text)) for pattern in patterns]
    missed = []
    for pattern in (pattern for pattern, names in kept if pattern.where and not names):
        near = ", ".join(search.near(pattern.text))
        similar = f" (similar: {near})" if near else ""
        missed.append(f"{pattern.where}: no function matches {pattern.text!r}{similar}")
    if missed:
        raise InputError("\n".join(missed), hint=_HINT)
    seeds = search.any_of(REPORTS).union(*(names for _, names in kept)) - {*ran}
    there = code.called_by({*ran, *unseen})
    seeds |= {name for name in there if BY_VALUES.search(name)} - {*ran}
    found = code.find_reachable(seeds, ran=done)
    if THROW in found:
        seeds |= search.any_of(_UNWINDING) - {*ran}
        found = code.find_reachable(seeds, ran=done)
    return tuple(sorted({*found} - {*ran}))


def without_chance(
    ran: Collection[str], *, unseen: Collection[str], code: Disassembly, observables: Observables
) -> tuple[str, ...]:
    """Return the functions that ran, without those that depend on values and always stay.

    If another function that ran calls such a helper, :func:`keep_always` keeps it.
    """
    by_values = {
        name for group in observables.groups if any(map(BY_VALUES.search, group)) for name in group
    }
    others = {*ran} - by_values
    there = code.called_by({*others, *unseen})
    reached = {*code.find_reachable(there & by_values, ran={*others, *SUBSTITUTES})}
    stay = {name for group in observables.groups if not reached.isdisjoint(group) for name in group}
    return tuple(sorted({*ran} - (stay & by_values)))


def matching(texts: Iterable[str], table: FunctionTable, origins: LinkMap) -> frozenset[str]:
    return _Search(table, origins).any_of(texts)


class _Search:
    """Finds functions by patterns. Demangling all names takes seconds, so few are demangled."""

    def __init__(self, table: FunctionTable, origins: LinkMap) -> None:
        self._table = table
        self._origins = origins
        self._lines = "\n".join(("", *table.names, ""))

    def matches(self, text: str) -> frozenset[str]:
        if text.endswith("/"):
            folder = "/" + text.removeprefix("./").lstrip("/")
            files = {file for file in {*self._origins.files} if folder in _place(file)}
            places = ((each.name, self._origins.of(each.address)) for each in self._table.functions)
            return frozenset(name for name, file in places if file in files)
        match = re.compile(translate(text)).match
        names = self._with(find_literal_word(_SET.sub(" ", text)))
        return frozenset(name for name in names if any(map(match, iter_spellings(name))))

    def any_of(self, texts: Iterable[str]) -> frozenset[str]:
        return frozenset(name for text in texts for name in self.matches(text))

    def _with(self, word: str) -> Iterator[str]:
        if not word:
            yield from self._table.names
            return
        at = self._lines.find(word)
        while at >= 0:
            start = self._lines.rfind("\n", 0, at) + 1
            end = self._lines.find("\n", at)
            yield self._lines[start:end]
            at = self._lines.find(word, end)

    def near(self, text: str) -> Iterable[str]:
        if "/" in text:
            folders = (_place(file).strip("/").rpartition("/")[0] for file in self._origins.files)
            known = {f"{folder}/" for folder in folders if folder}
            words = {text}
        else:
            known = {*identifiers(self._lines.split())}
            words = {*WORD.findall(text)} - known - NOT_SPELLED_OUT
        close = (get_close_matches(word, sorted(known), _NEAR) for word in sorted(words))
        return dict.fromkeys(name for names in close for name in names)


def _place(file: str) -> str:
    archive = file.partition("(")[0] if file.endswith(")") else file
    return "/" + re.sub(r"(?:^|(?<=/))CMakeFiles/[^/]+\.dir/", "", archive)


class KeepRule(StrEnum):
    RAN = "ran in a scenario"
    REQUESTED = "trim.keep names it"
    ENGINE = "the engine's own list keeps it"
    REPORTS = "it reports errors"
    BY_VALUES = "whether it runs depends on values, such as addresses"
    SHARED = "other files import or export its name"
    ALIASED = "its own object refers to it by another name, which must be the same address"
    UNOBSERVABLE = "no recorder can observe it"
    CALLED = "functions that always stay call it"


class KeepReason(Value):
    rule: KeepRule
    by: tuple[str, ...] = ()


class KeptFunctions(Value):
    ran: Mapping[str, tuple[str, ...]]
    table: FunctionTable
    observables: Observables
    origins: LinkMap
    patterns: Sequence[KeepPattern]

    def find_reason(self, name: str) -> KeepReason | None:
        if scenarios := self.ran.get(name):
            return KeepReason(rule=KeepRule.RAN, by=scenarios)
        if name not in self.table.names:
            return None
        for rule, matches in self._matches:
            if by := tuple(text for text, names in matches if name in names):
                return KeepReason(rule=rule, by=by)
        rule = KeepRule.BY_VALUES if BY_VALUES.search(name) else KeepRule.CALLED
        if name in self._shared:
            rule = KeepRule.SHARED
        elif not is_linkable(name) or name not in self.observables.names:
            rule = KeepRule.UNOBSERVABLE
        elif name in self._aliased:
            rule = KeepRule.ALIASED
        return KeepReason(rule=rule)

    def count_reasons(
        self, functions: Iterable[Sequence[str]]
    ) -> tuple[tuple[KeepReason, int], ...]:
        counts: dict[KeepReason, int] = {}
        for names in functions:
            found = (self.find_reason(name) for name in names)
            if reason := next((each for each in found if each is not None), None):
                counts[reason] = counts.get(reason, 0) + 1
        ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0].rule, each[0].by))
        return tuple(ranked)

    @cached_property
    def _shared(self) -> frozenset[str]:
        return self.table.imported | self.table.exported | self.table.data

    @cached_property
    def _aliased(self) -> frozenset[str]:
        return list_aliased(self.observables)

    @cached_property
    def _matches(self) -> Sequence[tuple[KeepRule, Sequence[tuple[str, frozenset[str]]]]]:
        search = _Search(self.table, self.origins)
        asked = (
            (KeepRule.REQUESTED, [pattern.text for pattern in self.patterns if pattern.where]),
            (KeepRule.ENGINE, [pattern.text for pattern in self.patterns if not pattern.where]),
            (KeepRule.REPORTS, REPORTS),
        )
        return [(rule, [(text, search.matches(text)) for text in texts]) for rule, texts in asked]
