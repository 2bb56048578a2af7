"""The contract of all stages: a key changes with every fact that its task depends on, and no other.

It is made from what there is: a new stage, a new key of megtrim.yaml, a new field of a session or
of a toolchain and a new file that a task leaves fail here until a row says what depends on them.
"""

import re
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cached_property

import pytest
from pydantic import BaseModel

from megtrim.core.build_spec import Toolchain
from megtrim.core.chain.graph import Stage
from megtrim.core.chain.result_store import MEASURED
from megtrim.core.chain.session import Session
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.checks.invocation import Options
from megtrim.core.config.model import Config
from unit.core.trim.stages.contract_facts import (
    AROUND,
    CONFIG,
    EDITED,
    FOUND,
    IDENTITIES,
    LEFT,
    NO_FACTS,
    OPTIONS_ELSEWHERE,
    PLACES,
    TIES,
    TOOLCHAIN,
    TRACED,
    VERDICT,
    VERSIONS,
    Fact,
)
from unit.core.trim.stages.contract_world import World, worlds
from unit.core.trim.stages.results import SAMPLES, field_names, found_facts

FACTS = (*CONFIG, *EDITED, *VERSIONS, *AROUND, *TOOLCHAIN, *IDENTITIES)
LEAST_OMISSIONS = 60
Labels = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Seen:
    """What tasks named before and after a fact was changed, and which were to name another."""

    fact: str
    world: str
    before: Labels
    after: Labels
    expected: frozenset[str]

    @property
    def changed(self) -> frozenset[str]:
        both = self.before.keys() & self.after.keys()
        return frozenset(task for task in both if self.before[task] != self.after[task])

    @property
    def unlike(self) -> str:
        lacking = sorted(self.expected - self.changed)
        more = sorted(self.changed - self.expected)
        return f"{self.fact}, {self.world}: unchanged {lacking}, changed for nothing {more}"


class Contract:
    def __init__(self, every: Iterator[World]) -> None:
        self.worlds = {world.name: world for world in every}
        self.labels: dict[str, Labels] = {
            name: world.labels() for name, world in self.worlds.items()
        }
        self._tried: dict[int, list[Seen]] = {}

    def tried(self, fact: Fact) -> list[Seen]:
        if id(fact) not in self._tried:
            self._tried[id(fact)] = [self._try(fact, name) for name in fact.where]
        return self._tried[id(fact)]

    def _try(self, fact: Fact, name: str) -> Seen:
        patterns = fact.rest + (f" {fact.traced}" if name in TRACED else "")
        return self.seen(fact.name, name, fact.change(self.worlds[name]), patterns)

    def seen(self, fact: str, name: str, world: World, patterns: str) -> Seen:
        before = self.labels[name]
        after = world.labels()
        expected = _matching(before.keys() & after.keys(), patterns)
        return Seen(fact, name, before, after, expected)

    @cached_property
    def left(self) -> list[Seen]:
        return list(self._left())

    def _left(self) -> Iterator[Seen]:
        for name, world in self.worlds.items():
            for task, folder in world.session.done.items():
                for field, value in found_facts(folder.result):
                    after = world.found(task, **{field: value})
                    file = FOUND.format(field)
                    yield self.seen(f"{task}: {file}", name, after, self._rest(name, task, file))
                for file in folder.files:
                    after = world.left(task, file)
                    yield self.seen(f"{task}: {file}", name, after, self._rest(name, task, file))

    def _rest(self, name: str, task: str, file: str) -> str:
        if file.endswith(".log"):
            return ""
        rows = (
            row.rest
            for row in LEFT
            if name in row.where and fnmatchcase(task, row.task) and fnmatchcase(file, row.file)
        )
        verdict = next(each for each in self.worlds[name].tasks if each.stage == "verdict")
        return " ".join((*rows, VERDICT if task in verdict.wants else ""))


def _matching(tasks: typing.AbstractSet[str], patterns: str) -> frozenset[str]:
    return frozenset(
        task for task in tasks if any(fnmatchcase(task, each) for each in patterns.split())
    )


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Contract:
    return Contract(worlds(tmp_path_factory.mktemp("contract")))


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
def test_exactly_what_depends_on_a_fact_has_another_key(contract: Contract, fact: Fact) -> None:
    assert [seen.unlike for seen in contract.tried(fact) if seen.changed != seen.expected] == []


def test_exactly_what_depends_on_a_result_has_another_key(contract: Contract) -> None:
    assert [seen.unlike for seen in contract.left if seen.changed != seen.expected] == []


def test_what_is_measured_is_in_no_key(contract: Contract) -> None:
    for name, world in contract.worlds.items():
        for task in world.session.done:
            assert world.made_again(task).labels() == contract.labels[name], (name, task)


def test_every_omission_is_noticed(contract: Contract) -> None:
    """A label that a stage did not name would let an old result pass for a new one.

    Each label of each kind of task is left out in turn, everywhere: then some fact must leave a key
    as it was that ought to change.
    """
    planted = {
        (kind(task), sort_of(label))
        for labels in contract.labels.values()
        for task, named in labels.items()
        for label in named
    }
    killed: set[tuple[str, str]] = set()
    everything = (seen for fact in FACTS for seen in contract.tried(fact))
    for seen in (*everything, *contract.left):
        for task in seen.expected:
            before = seen.before[task]
            after = seen.after[task]
            every = {*before, *after}
            differing = {sort_of(each) for each in every if before.get(each) != after.get(each)}
            if len(differing) == 1:
                killed.add((kind(task), differing.pop()))

    assert len(planted) >= LEAST_OMISSIONS
    assert sorted(planted - killed) == []


def kind(task: str) -> str:
    return f"{task.partition('/')[0]}/SCENARIO" if "@" in task else task


def sort_of(label: str) -> str:
    """Return what labels of one sort have in common: those of scenarios, and of neighbours."""
    label = re.sub(r"neighbour .*", "neighbour NAME", label)
    return re.sub(r"[mn]/\w+@\w+", "SCENARIO", label)


def test_every_stage_is_in_it(contract: Contract) -> None:
    named = {
        task.stage
        for name, world in contract.worlds.items()
        for task in world.tasks
        if contract.labels[name][task.id]
    }

    assert named == set(Stage)


def test_every_key_of_the_configuration_is_in_it() -> None:
    rows = {
        ".".join(each for each in fact.name.split(".") if not each.isdigit()) for fact in CONFIG
    }

    keys = {*leaves(Config)}
    # The reader puts the chosen toolchain in the place of `toolchain`: no stage sees the list.
    chosen = {key for key in keys if "toolchains" in key.split(".")}

    assert sorted(keys - chosen - rows - TIES.keys()) == []
    branches = {path.rpartition(".")[0] for path in keys}
    assert sorted((rows | TIES.keys()) - keys - rows.intersection(branches)) == []


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        section = section_of(field.annotation)
        if section is None:
            yield prefix + name
        else:
            yield from leaves(section, f"{prefix}{name}.")


def section_of(annotation: object) -> type[BaseModel] | None:
    """Return the section that a key is, or is a list of; None: a plain value."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (tuple, typing.Union, types.UnionType, typing.Annotated):
        found = (section_of(each) for each in typing.get_args(annotation))
        return next((each for each in found if each is not None), None)
    return None


def test_every_kind_of_result_is_in_it() -> None:
    assert SAMPLES.keys() == set(result_types())
    fields_of = {name for sample in SAMPLES.values() for name in field_names(sample)}
    assert fields_of >= MEASURED


def result_types() -> Iterator[type[StageResult]]:
    for result_type in StageResult.__subclasses__():
        if not result_type.__module__.startswith("megtrim."):
            continue
        # A class with slots is made twice: what its module names is the one in use.
        if getattr(sys.modules[result_type.__module__], result_type.__name__) is result_type:
            yield result_type


def test_every_field_of_a_session_and_of_a_toolchain_is_in_it() -> None:
    rows = {fact.name.partition(".")[0] for fact in AROUND}
    types = typing.get_type_hints(Session)
    facts = [fact.name for part in fields(Session) for fact in fields(types[part.name])]
    facts += {field.name for field in fields(Options)} - OPTIONS_ELSEWHERE

    assert len(facts) == len(set(facts)), "a name alone says which fact is meant"
    assert sorted(set(facts) ^ (rows | NO_FACTS.keys())) == []
    tools = {fact.name for fact in TOOLCHAIN} | PLACES.keys()
    assert sorted({field.name for field in fields(Toolchain)} ^ tools) == []
