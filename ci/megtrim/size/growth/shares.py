"""Divides a file's growth among the causes that differ, as far as its symbols prove it.

A cause is ruled out for a change, never guessed: who is left has it, and if several are left, the
change is in a share that these have together. The shares add up to the growth, to the byte. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from megtrim.elf.components import OTHER
from megtrim.size.byte_change import ByteChange
from megtrim.size.growth.causes import Cause

_BUILT_IN_ADVANCE = re.compile(r"C\+\+ library|C library|toolchain")
"""Components whose code comes with the toolchain."""
_DEPENDENCY = "dependencies/"
_KEEPING = (Cause.KEEP_SET, Cause.MODELS)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_NO_NAMES = frozenset({"const", "operator", "lambda", "volatile"})
_INSTANCES = "<…>"
"""In names: the arguments of a template, which are left out."""
_MOST_LARGEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthShare:
    """The growth that some causes have, together if they are several."""

    causes: tuple[Cause, ...]
    """Empty: nothing that is known differs."""
    grown_bytes: int
    shrunk_bytes: int
    """Zero or positive."""
    largest: tuple[str, ...] = ()
    """The symbols that changed most."""

    @property
    def growth_bytes(self) -> int:
        """Return by how much the file grew."""
        return self.grown_bytes - self.shrunk_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthEvidence:
    """What rules causes out."""

    causes: tuple[Cause, ...]
    """Those that differ at all."""
    source_words: frozenset[str] | None = None
    """All identifiers in the source files that differ; None: files are included by others or went,
    so any code may differ."""
    dependencies: frozenset[str] = frozenset()
    """Names of the third parties that differ."""
    headers_of_dependencies: bool = True
    """Files of third parties that the engine may include differ."""
    functions_only: bool = False
    """What is kept differs by functions alone, and these are linked or not, as they are."""
    kept_names: frozenset[str] = frozenset()
    """Readable names of the functions that are kept now and were not."""
    lost_functions: bool = False
    """Some functions are not kept any more."""
    links_as_a_whole: bool = False
    """The link inlines across files, so any code may differ by any."""


def divide_growth(
    changes: Sequence[ByteChange], evidence: GrowthEvidence
) -> tuple[GrowthShare, ...]:
    """Return the share of each cause, then those of several together; they add up.

    ``changes`` are all changes by symbol, the largest first.
    """
    found: dict[tuple[Cause, ...], list[ByteChange]] = defaultdict(list)
    for each in changes:
        if each.growth_bytes:
            found[_list_possible(each, evidence)].append(each)
    shares = (_add_up(causes, of) for causes, of in found.items())
    order = list(Cause)
    return tuple(
        sorted(shares, key=lambda each: (len(each.causes), [*map(order.index, each.causes)]))
    )


def _add_up(causes: tuple[Cause, ...], changes: Sequence[ByteChange]) -> GrowthShare:
    named = (each for each in changes if not each.label.startswith("["))
    return GrowthShare(
        causes=causes,
        grown_bytes=sum(max(0, each.growth_bytes) for each in changes),
        shrunk_bytes=sum(max(0, -each.growth_bytes) for each in changes),
        largest=tuple(each.label for each, _ in zip(named, range(_MOST_LARGEST), strict=False)),
    )


def _list_possible(change: ByteChange, evidence: GrowthEvidence) -> tuple[Cause, ...]:
    """Return the causes that are not ruled out; all of them if each would be."""
    if len(evidence.causes) == 1 or change.label.startswith("["):
        # Headers, padding and tables follow from everything else.
        return evidence.causes
    left = tuple(each for each in evidence.causes if not _is_ruled_out(each, change, evidence))
    return left or evidence.causes


def _is_ruled_out(cause: Cause, change: ByteChange, evidence: GrowthEvidence) -> bool:
    if evidence.links_as_a_whole:
        return False
    stayed = bool(change.before_bytes and change.after_bytes)
    # A family of instances or overloads may have got another member.
    as_it_was = stayed and _INSTANCES not in change.label
    if _BUILT_IN_ADVANCE.fullmatch(change.component):
        # Others decide whether it is linked, but not what it is.
        return as_it_was and cause not in (Cause.TOOLCHAIN, Cause.FLAGS, Cause.MEGTRIM)
    if cause in _KEEPING:
        return as_it_was and evidence.functions_only and not _may_be_kept(change, evidence)
    theirs = change.component.startswith(_DEPENDENCY)
    if cause is Cause.SOURCE:
        return as_it_was and (theirs or not _may_be_of_source(change, evidence))
    if cause is Cause.DEPENDENCIES and not evidence.headers_of_dependencies:
        if change.component == OTHER:
            return False  # a third party may have any names
        return not theirs or change.component.removeprefix(_DEPENDENCY) not in evidence.dependencies
    return False


def _may_be_kept(change: ByteChange, evidence: GrowthEvidence) -> bool:
    return change.label in evidence.kept_names or (
        evidence.lost_functions and change.growth_bytes < 0
    )


def _may_be_of_source(change: ByteChange, evidence: GrowthEvidence) -> bool:
    """Tell whether a file that differs may define it: then the file has its name."""
    if evidence.source_words is None:
        return True
    *around, last = change.label.split("::")
    words = {each for each in _IDENTIFIER.findall(last) if each not in _NO_NAMES}
    if not words or words.isdisjoint(evidence.source_words):
        return not words
    # A macro may open a namespace, but the class of a function is named where it is defined.
    return not around or not around[-1][:1].isupper() or around[-1] in evidence.source_words
