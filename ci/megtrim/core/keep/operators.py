"""The operators, data types and elementwise modes that models need, and who needs each. Pure."""

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import TypeVar

from megtrim.libs.util.value import Value

MAX_HASH = 2**64 - 1
_VERSION = re.compile(r"V\d+$", re.ASCII)
_Item = TypeVar("_Item", int, str)

Needed = tuple[tuple[str, tuple[str, ...]], ...]
"""Names, each with the models that need it, both sorted."""


class OperatorNeeds(Value):
    hashes: tuple[tuple[int, tuple[str, ...]], ...]
    dtypes: Needed
    operators: Needed
    """Class names without version suffix: ``MatrixMulV2`` becomes ``MatrixMul``."""
    elemwise_modes: Needed

    @property
    def checked_hashes(self) -> tuple[int, ...]:
        """What the engine compares a model's hash with: nothing if one of the models has none."""
        tables = (self.dtypes, self.operators, self.elemwise_modes)
        models = {model for table in tables for _, users in table for model in users}
        hashed = {model for _, users in self.hashes for model in users}
        return tuple(number for number, _ in self.hashes) if models <= hashed else ()


class OperatorCode(Value):
    """Where a linked program holds the code of operators, as patterns of names."""

    holders: str
    """How the mangled name begins of what refers to each operator: code that registers them before
    ``main``, or a table.
    """
    names: str
    """What they refer to, as a whole identifier without version suffix: ``{}`` is the operator."""

    def is_holder(self, names: Iterable[str]) -> bool:
        return any(re.match(self.holders, name) for name in names)

    def make_pattern(self, operators: Iterable[str]) -> re.Pattern[str]:
        any_of = "|".join(sorted(map(re.escape, operators)))
        return re.compile(self.names.replace("{}", f"(?:{any_of})"), re.ASCII)


def strip_version(name: str) -> str:
    return _VERSION.sub("", name)


def select_needs(needs: OperatorNeeds, model: str) -> OperatorNeeds:
    return OperatorNeeds(
        **{
            name: tuple((item, (model,)) for item, users in table if model in users)
            for name, table in vars(needs).items()
        }
    )


def unite_needs(every: Iterable[OperatorNeeds]) -> OperatorNeeds:
    parts = [vars(needs) for needs in every]
    return OperatorNeeds(
        **{
            field.name: collect_users(
                (model, (item,))
                for part in parts
                for item, users in part[field.name]
                for model in users
            )
            for field in fields(OperatorNeeds)
        }
    )


def collect_users(
    needs: Iterable[tuple[str, Iterable[_Item]]],
) -> tuple[tuple[_Item, tuple[str, ...]], ...]:
    users: dict[_Item, set[str]] = {}
    for model, items in needs:
        for item in items:
            users.setdefault(item, set()).add(model)
    return tuple((item, tuple(sorted(users[item]))) for item in sorted(users))
