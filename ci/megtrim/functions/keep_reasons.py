"""By which rule a function stays where functions are trimmed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from megtrim.elf.symbol_names import is_linkable
from megtrim.elf.symbol_table import FunctionTable
from megtrim.functions.keep_patterns import BY_VALUES, REPORTS, KeepPattern, matching
from megtrim.functions.link_map import LinkMap
from megtrim.functions.observables import Observables


class KeepRule(StrEnum):
    """Why a function stays, in words."""

    RAN = "ran in a scenario"
    REQUESTED = "trim.keep names it"
    ENGINE = "the engine's list of what always stays names it"
    REPORTS = "it reports errors"
    BY_VALUES = "whether it runs depends on values, such as addresses"
    SHARED = "other files import or export its name"
    UNOBSERVABLE = "no recorder can observe it"
    CALLED = "functions that always stay call it"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepReason:
    """Why one function stays."""

    rule: KeepRule
    by: tuple[str, ...] = ()
    """The scenarios that ran it, or the patterns that name it."""


@dataclass(frozen=True, kw_only=True)
class KeptFunctions:
    """What decides which functions of a program stay."""

    ran: Mapping[str, tuple[str, ...]]
    """The scenarios that ran each function, by its linkage name."""
    table: FunctionTable
    """Of the unfolded link."""
    observables: Observables
    origins: LinkMap
    patterns: Sequence[KeepPattern]

    def find_reason(self, name: str) -> KeepReason | None:
        """Return why a function stays; None: it is not in the unfolded link."""
        if scenarios := self.ran.get(name):
            return KeepReason(rule=KeepRule.RAN, by=scenarios)
        if name not in self._names:
            return None
        asked = self._find_patterns(name, [each.text for each in self.patterns if each.where])
        if asked:
            return KeepReason(rule=KeepRule.REQUESTED, by=asked)
        always = self._find_patterns(name, [e.text for e in self.patterns if not e.where])
        if always:
            return KeepReason(rule=KeepRule.ENGINE, by=always)
        if reports := self._find_patterns(name, REPORTS):
            return KeepReason(rule=KeepRule.REPORTS, by=reports)
        return KeepReason(rule=self._find_rule(name))

    def count_reasons(
        self, functions: Iterable[Sequence[str]]
    ) -> tuple[tuple[KeepReason, int], ...]:
        """Return why functions stay, and how many of them for each reason, that of most first.

        Each function is given by all its names. Those that no link has count for none.
        """
        counts: dict[KeepReason, int] = {}
        for names in functions:
            found = (self.find_reason(name) for name in names)
            if reason := next((each for each in found if each is not None), None):
                counts[reason] = counts.get(reason, 0) + 1
        ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0].rule, each[0].by))
        return tuple(ranked)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(each.name for each in self.table.functions)

    @cached_property
    def _matches(self) -> Mapping[str, frozenset[str]]:
        """The functions that each pattern names: a search goes through all names."""
        texts = (*(each.text for each in self.patterns), *REPORTS)
        return {text: matching((text,), self.table, self.origins) for text in texts}

    def _find_patterns(self, name: str, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if name in self._matches[text])

    def _find_rule(self, name: str) -> KeepRule:
        if name in self.table.imported | self.table.exported | self.table.data:
            return KeepRule.SHARED
        if not is_linkable(name) or name not in self.observables.names():
            return KeepRule.UNOBSERVABLE
        return KeepRule.BY_VALUES if BY_VALUES.search(name) else KeepRule.CALLED
