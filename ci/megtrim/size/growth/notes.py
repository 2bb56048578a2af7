"""What differs, cause by cause, and what to do about growth: for people, a line each. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from megtrim.elf.symbol_names import fold_if_possible
from megtrim.size.growth.causes import Cause, find_cause
from megtrim.size.growth.inputs import InputChanges, count_kinds, kind_of
from megtrim.wording import count

_MOST_NAMED = 3
_LONGEST = 100
_ADVICE = {
    Cause.SOURCE: "look at What changed, which lists the functions and tables that grew",
    Cause.DEPENDENCIES: "if it was not meant, go back to the former commit of the third party",
    Cause.KEEP_SET: "if no model should need it, trace again and accept the keep set",
    Cause.MODELS: "if one of them should not ship, take it out of the configuration and the keep "
    "set; otherwise raise the budget for it",
    Cause.FLAGS: "if it was not meant, set it back",
    Cause.TOOLCHAIN: "if it was not meant, pin the former toolchain; otherwise raise the budget, "
    "for no change of the source will win it back",
    Cause.MEGTRIM: "its change log says what is built in another way; pin the former version if "
    "that was not meant",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseNote:
    """One cause that differs."""

    cause: Cause
    seen: str
    """What differs."""
    advice: str
    """What to do if that is not welcome."""


def describe_causes(changes: InputChanges) -> tuple[CauseNote, ...]:
    """Return a note for each cause that differs."""
    return tuple(
        CauseNote(
            cause=each,
            seen="; ".join(_describe(each, changes)) or f"the {each} differs",
            advice=_ADVICE[each],
        )
        for each in changes.causes
    )


def _describe(cause: Cause, changes: InputChanges) -> Iterator[str]:
    match cause:
        case Cause.SOURCE:
            yield from _describe_files(changes)
        case Cause.KEEP_SET | Cause.MODELS:
            if cause is Cause.MODELS:
                yield from _describe_scenarios(changes)
            yield from _describe_kept(cause, changes)
        case _:
            yield from _describe_values(cause, changes)


def _describe_files(changes: InputChanges) -> Iterator[str]:
    if changes.files:
        yield f"{_name(changes.files)} {'differs' if len(changes.files) == 1 else 'differ'}"
    if changes.removed_files:
        yield f"{count(changes.removed_files, 'file')} fewer"


def _describe_scenarios(changes: InputChanges) -> Iterator[str]:
    for names, what in (
        (changes.new_scenarios, "new"),
        (changes.changed_scenarios, "changed"),
        (changes.lost_scenarios, "gone"),
    ):
        if names:
            yield f"{_name(names)} {'is' if len(names) == 1 else 'are'} {what}"


def _describe_kept(cause: Cause, changes: InputChanges) -> Iterator[str]:
    moved = {*changes.new_scenarios, *changes.changed_scenarios}
    came = {
        name: users
        for name, users in changes.came.items()
        if (bool(users) and moved.issuperset(users)) is (cause is Cause.MODELS)
    }
    if came:
        counts = count_kinds(Counter(map(kind_of, came)))
        first = min(came, key=lambda each: (kind_of(each) not in ("region", "function"), each))
        whom = f" for {came[first][0]}" if came[first] else ""
        what = _shorten(first)
        yield f"kept and was not: {counts}, such as {what}{whom}"
    if changes.went and (cause is Cause.KEEP_SET or Cause.KEEP_SET not in changes.causes):
        yield f"not kept any more: {count_kinds(changes.went)}"


def _describe_values(cause: Cause, changes: InputChanges) -> Iterator[str]:
    for each in changes.values:
        if find_cause(each.label) is not cause:
            continue
        label = each.label.removeprefix("setting ").removeprefix("dependency ")
        if cause is Cause.DEPENDENCIES:
            came = "is new" if not each.before else "is gone" if not each.after else "differs"
            yield f"{label} {came}"
        elif cause is Cause.FLAGS and each.label == "build files":
            yield "the engine's build files differ"
        else:
            yield f"{label}: {each.before or 'not set'} → {each.after or 'not set'}"


def _shorten(kept: str) -> str:
    kind, _, text = kept.partition(" ")
    if kind == "function":
        text = fold_if_possible(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _name(names: Sequence[str]) -> str:
    shown, others = names[:_MOST_NAMED], len(names) - _MOST_NAMED
    listed = ", ".join(shown)
    return f"{listed} and {others:,} more" if others > 0 else listed
