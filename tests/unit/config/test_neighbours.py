"""What a budget may ask of neighbours, and the other dumps of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from megtrim.config.model import Budget, ModelConfig
from unit.config.support import SMALL, load


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(1, 1), (1000, 1000), ("all", "all"), (["iter-1", "a.b_c"], ("iter-1", "a.b_c"))],
)
def test_a_number_all_or_names(asked: object, expected: object) -> None:
    """As they stand in the file."""
    budget = Budget.model_validate({"artifact": "load_and_run", "neighbours": asked})

    assert budget.neighbours == expected


@pytest.mark.parametrize("asked", [0, -1, 1001, True, 2.0, "some", "", [], ["a b"], [3], {}])
def test_anything_else_is_refused(asked: object) -> None:
    """With what was expected."""
    with pytest.raises(ValidationError, match="a whole number, 1 or more"):
        Budget.model_validate({"artifact": "load_and_run", "neighbours": asked})


@pytest.mark.parametrize(
    ("asked", "written"),
    [(["iter-1", "a"], '["iter-1","a"]'), (3, "3"), ("all", '"all"'), (None, "null")],
)
def test_what_is_asked_is_written_as_it_is(asked: object, written: str) -> None:
    """Without a warning, which is an error here: the stage that weighs names budgets so."""
    budget = Budget.model_validate({"artifact": "a", "max": "1 KiB", "neighbours": asked})

    assert budget.model_dump_json() == (
        '{"artifact":"a","variant":"reduced","size":"stripped","section":null,"component":null,'
        '"model":null,"max_size":"1024 B","warn":null,"growth":null,"warn_growth":null,'
        f'"ratchet":null,"owner":null,"neighbours":{written}}}'
    )


@pytest.mark.parametrize(
    ("limits", "weighs"),
    [
        ({"neighbours": "all"}, False),
        ({"neighbours": "all", "max": "1 MiB"}, True),
        ({"neighbours": 3, "growth": "1 KiB"}, True),
        ({"max": "1 MiB"}, True),
    ],
)
def test_a_budget_of_neighbours_alone_weighs_nothing(limits: dict[str, Any], weighs: bool) -> None:
    """The others are about size as well."""
    assert Budget.model_validate({"artifact": "a", **limits}).weighs is weighs


def test_one_dump_stands_for_a_list_of_one() -> None:
    """As operator JSON does."""
    keys = {"name": "m", "file": "m.mge", "scenarios": [{"name": "s"}]}

    assert ModelConfig.model_validate(keys).also == ()
    assert ModelConfig.model_validate(keys | {"also": "b.mge"}).also == (Path("b.mge"),)


def test_a_budget_of_neighbours_is_a_limit(tmp_path: Path) -> None:
    """It needs no size next to it."""
    text = f"{SMALL}budgets:\n  - {{artifact: load_and_run, neighbours: 3}}\n"

    assert load(tmp_path, text).config.budgets[0].neighbours == 3
