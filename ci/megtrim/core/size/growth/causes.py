"""What a program was built from, so finely that reports can name what differs. Pure.

A baseline keeps a print: what came and what differs has a name, and what went is counted.
"""

import base64
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from megtrim.core.keep.keepset import model_of
from megtrim.core.size.byte_table import Label, tidy
from megtrim.libs.elf.symbol_names import fold_if_possible
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count


class Cause(StrEnum):
    SOURCE = "source"
    DEPENDENCIES = "dependencies"
    """Third parties in the engine's tree: its submodules, and folders that are called so."""
    KEEP_SET = "keep set"
    MODELS = "models"
    FLAGS = "flags"
    TOOLCHAIN = "toolchain"
    MEGTRIM = "megtrim"
    """Another version of megtrim, which may write other headers and give other flags."""


ORDERS = "orders"
"""What megtrim asked of the build. It follows from the causes, and explains nothing by itself."""

_CAUSES = (
    (Cause.SOURCE, re.compile(r"source files|application .*")),
    (Cause.DEPENDENCIES, re.compile(r"dependency .*")),
    (Cause.KEEP_SET, re.compile(r"keep set")),
    (Cause.MODELS, re.compile(r"scenario .*")),
    (Cause.FLAGS, re.compile(r"setting .*|build files")),
    (Cause.TOOLCHAIN, re.compile(r"toolchain (?!compile flags|link flags).*")),
    (Cause.MEGTRIM, re.compile(r"megtrim")),
)
_FOLLOWS = re.compile(r"engine|base|link .*")
"""Digests of all that others name one by one, and of what earlier stages made of it."""


def digest_causes(inputs: Mapping[str, str]) -> dict[str, str]:
    lines: dict[str, list[str]] = {cause: [] for cause in (*Cause, ORDERS)}
    for label, value in sorted(inputs.items()):
        if not _FOLLOWS.fullmatch(label):
            lines[find_cause(label) or ORDERS].append(f"{label}={value}")
    return {str(cause): digest("\n".join(found)) for cause, found in lines.items()}


def list_causes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Cause, ...]:
    """Nothing where the baseline does not say what it was made from, or names fewer causes."""
    if Cause.MEGTRIM not in before:
        return ()
    found = tuple(each for each in Cause if before.get(each) != after.get(each))
    if not found and before.get(ORDERS) != after.get(ORDERS):
        return (Cause.FLAGS,)
    return found


def find_cause(label: str) -> Cause | None:
    return next((cause for cause, labels in _CAUSES if labels.fullmatch(label)), None)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:20]


PRINT_LENGTH = 5
"""Characters of one print: 30 bits, so that two things of a large engine hardly ever share one."""
_LONGEST_VALUE = 120
NAMELESS = "hash"
"""Numbers that stand for elementwise modes, which are kept by name as well."""
_KIND_NAMES = {"dtype": "data type", "elemwise_mode": "elementwise mode"}
_SHOWN_CAUSES = (Cause.FLAGS, Cause.TOOLCHAIN, Cause.DEPENDENCIES, Cause.MEGTRIM)
"""Causes of which a baseline keeps the inputs as they are: comparisons show what they were."""


class BuildInputs(Value):
    values: Mapping[str, str]
    """Other inputs by label, as :func:`find_cause` knows them."""
    sources: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """With the scenarios that need it, sorted: ``function _ZN3fooEv``, for example."""
    scenarios: Mapping[str, str] = field(default_factory=dict)
    """By id: a text that names its model by digest, and its arguments."""

    def digests(self) -> dict[str, str]:
        sources = [f"{name} {sha256}" for name, sha256 in sorted(self.sources.items())]
        named = {
            "source files": "\n".join(sources),
            "keep set": "\n".join(sorted(self.kept)),
        }
        for name, value in self.scenarios.items():
            named[f"scenario {name}"] = value
        return digest_causes({**self.values, **named})


Name = Annotated[str, Field(max_length=4096)]
_Prints = Annotated[str, Field(pattern=rf"^(?:[A-Za-z0-9_-]{{{PRINT_LENGTH}}})*$")]


class InputPrint(Value):
    __pydantic_config__ = ConfigDict(extra="forbid")

    made_from: Mapping[Label, Label] = field(default_factory=dict)
    sources: _Prints = ""
    kept: Mapping[Label, _Prints] = field(default_factory=dict)
    """Prints of what is kept, by kind and indices of its scenarios: ``function 0,2``."""
    scenarios: Mapping[Name, Label] = field(default_factory=dict)
    """A digest of each scenario, sorted by id: indices count these."""
    values: Mapping[Name, Label] = field(default_factory=dict)
    """Settings and versions by label; long ones are digests."""


class ValueChange(Value):
    label: str
    before: str
    after: str


class InputChanges(Value):
    causes: tuple[Cause, ...] = ()
    files: tuple[str, ...] = ()
    removed_files: int = 0
    """Prints of source files that are not there any more, beyond those of ``files``."""
    values: tuple[ValueChange, ...] = ()
    came: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What is kept now and was not, with the scenarios that need it."""
    went: Mapping[str, int] = field(default_factory=dict)
    new_scenarios: tuple[str, ...] = ()
    new_models: tuple[str, ...] = ()
    changed_scenarios: tuple[str, ...] = ()
    lost_scenarios: tuple[str, ...] = ()


def make_print(inputs: BuildInputs) -> InputPrint:
    at = {name: str(index) for index, name in enumerate(sorted(inputs.scenarios))}
    groups: dict[str, list[str]] = defaultdict(list)
    for name, users in inputs.kept.items():
        indices = ",".join(at[user] for user in users if user in at)
        groups[f"{kind_of(name)} {indices}"].append(_print(name))
    kept = {users: "".join(sorted(prints)) for users, prints in sorted(groups.items())}
    scenarios = {name: digest(text) for name, text in sorted(inputs.scenarios.items())}
    return InputPrint(
        made_from=inputs.digests(),
        sources="".join(sorted(_prints_of(inputs.sources))),
        kept=kept,
        scenarios=scenarios,
        values=_shorten_values(inputs.values),
    )


def compare_inputs(before: InputPrint, after: BuildInputs, *, traced: bool = False) -> InputChanges:
    """What is kept differently for scenarios that came, went or changed has the models as cause,
    what else is kept differently the keep set. A model that changes nothing in what is kept changes
    no byte, so it is no cause. ``traced``: the trim found out by itself what to keep, so that
    follows from whatever else differs, and is a cause only if nothing else does.
    """
    digests = after.digests()
    causes = list_causes(before.made_from, digests)
    if not causes:
        return InputChanges()
    known = {*_cut(before.sources)}
    prints = _prints_of(after.sources)
    new_files = prints.keys() - known
    came, gone = _compare_kept(before, after)
    scenarios = {name: digest(text) for name, text in sorted(after.scenarios.items())}
    stayed = {name for name, text in scenarios.items() if before.scenarios.get(name) == text}
    found = {*causes} - {Cause.KEEP_SET, Cause.MODELS}
    for users in (*came.values(), *(users for _, users in gone)):
        by_model = bool(users) and stayed.isdisjoint(users)
        found.add(Cause.MODELS if by_model else Cause.KEEP_SET)
    if traced and any(cause is not Cause.KEEP_SET for cause in found):
        found.discard(Cause.KEEP_SET)
    if not found and before.made_from.get(ORDERS) != digests[ORDERS]:
        found = {*causes}
    new_scenarios = sorted(scenarios.keys() - before.scenarios.keys())
    new_models = {*map(model_of, new_scenarios)} - {*map(model_of, before.scenarios)}
    removed = known - prints.keys()
    went = Counter(kind for kind, _ in gone)
    changed = [name for name in scenarios if name in before.scenarios and name not in stayed]
    lost = before.scenarios.keys() - scenarios.keys()
    return InputChanges(
        causes=tuple(cause for cause in Cause if cause in found),
        files=tuple(sorted(prints[file] for file in new_files)),
        removed_files=max(0, len(removed) - len(new_files)),
        values=_compare_values(before.values, _shorten_values(after.values)),
        came=came,
        went=dict(sorted(went.items())),
        new_scenarios=tuple(new_scenarios),
        new_models=tuple(sorted(new_models)),
        changed_scenarios=tuple(changed),
        lost_scenarios=tuple(sorted(lost)),
    )


def _compare_values(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[ValueChange, ...]:
    labels = sorted(before.keys() | after.keys())
    return tuple(
        ValueChange(label=label, before=before.get(label, ""), after=after.get(label, ""))
        for label in labels
        if before.get(label) != after.get(label)
    )


def _compare_kept(
    before: InputPrint, after: BuildInputs
) -> tuple[dict[str, tuple[str, ...]], list[tuple[str, tuple[str, ...]]]]:
    names = tuple(sorted(before.scenarios))
    was = {
        each: (kind_of(users), _read_indices(users, names))
        for users, found in before.kept.items()
        for each in _cut(found)
    }
    now = {_print(name): name for name in after.kept}
    came = {name: after.kept[name] for each, name in sorted(now.items()) if each not in was}
    return came, [gone for each, gone in was.items() if each not in now]


def kind_of(name: str) -> str:
    """``region``, ``function``, ``operator`` and so on."""
    return name.partition(" ")[0]


def count_kinds(counts: Mapping[str, int]) -> str:
    named = [(kind, n) for kind, n in sorted(counts.items()) if kind != NAMELESS]
    shown = [count(n, name_kind(kind)) for kind, n in named or counts.items()]
    *others, last = shown
    return f"{', '.join(others)} and {last}" if others else last


def name_kind(kind: str) -> str:
    return _KIND_NAMES.get(kind, kind)


def _read_indices(group: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the scenarios of ``function 0,2``; unknown ones are left out."""
    indices = (int(at) for at in group.partition(" ")[2].split(",") if at.isdecimal())
    return tuple(names[at] for at in indices if at < len(names))


def _prints_of(sources: Mapping[str, str]) -> dict[str, str]:
    return {_print(f"{name}\0{at}"): name for name, at in sources.items()}


def _shorten_values(values: Mapping[str, str]) -> dict[str, str]:
    return {
        label: value
        if len(value) <= _LONGEST_VALUE and value.isprintable()
        else f"sha256 {digest(value)}"
        for label, value in sorted(values.items())
        if find_cause(label) in _SHOWN_CAUSES
    }


def _cut(prints: str) -> list[str]:
    return [prints[at : at + PRINT_LENGTH] for at in range(0, len(prints), PRINT_LENGTH)]


def _print(text: str) -> str:
    made = hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
    return base64.urlsafe_b64encode(made)[:PRINT_LENGTH].decode("ascii")


_MOST_NAMED = 3
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


class CauseNote(Value):
    cause: Cause
    seen: str
    advice: str


def describe_causes(changes: InputChanges) -> tuple[CauseNote, ...]:
    return tuple(
        CauseNote(
            cause=cause,
            seen="; ".join(_describe(cause, changes)) or f"the {cause} differs",
            advice=_ADVICE[cause],
        )
        for cause in changes.causes
    )


def _describe(cause: Cause, changes: InputChanges) -> Iterator[str]:
    match cause:
        case Cause.SOURCE:
            if changes.files:
                verb = "differs" if len(changes.files) == 1 else "differ"
                yield f"{_name_first(changes.files)} {verb}"
            if changes.removed_files:
                yield f"{count(changes.removed_files, 'file')} fewer"
        case Cause.KEEP_SET:
            yield from _describe_kept(cause, changes)
        case Cause.MODELS:
            for names, what in (
                (changes.new_scenarios, "new"),
                (changes.changed_scenarios, "changed"),
                (changes.lost_scenarios, "gone"),
            ):
                if names:
                    yield f"{_name_first(names)} {'is' if len(names) == 1 else 'are'} {what}"
            yield from _describe_kept(cause, changes)
        case _:
            yield from _describe_values(cause, changes)


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
        kind, _, what = first.partition(" ")
        if kind == "function":
            what = fold_if_possible(what)
        yield f"now kept: {counts}, such as {tidy(what)}{whom}"
    if changes.went and (cause is Cause.KEEP_SET or Cause.KEEP_SET not in changes.causes):
        yield f"no longer kept: {count_kinds(changes.went)}"


def _describe_values(cause: Cause, changes: InputChanges) -> Iterator[str]:
    for value in changes.values:
        if find_cause(value.label) is not cause:
            continue
        label = value.label.removeprefix("setting ").removeprefix("dependency ")
        if cause is Cause.DEPENDENCIES:
            if not value.before:
                yield f"{label} is new"
            elif not value.after:
                yield f"{label} is gone"
            else:
                yield f"{label} differs"
        elif cause is Cause.FLAGS and value.label == "build files":
            yield "build files differ"
        else:
            yield f"{label}: {value.before or 'not set'} → {value.after or 'not set'}"


def _name_first(names: Sequence[str]) -> str:
    others = len(names) - _MOST_NAMED
    listed = ", ".join(names[:_MOST_NAMED])
    return f"{listed} and {others:,} more" if others > 0 else listed
