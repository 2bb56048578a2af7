from __future__ import annotations

import pytest

from megtrim.elf.symbol_table import Function, FunctionTable
from megtrim.functions.keep_patterns import KeepPattern, KeepReason, KeepRule, KeptFunctions
from megtrim.functions.link_map import LinkMap
from megtrim.functions.observables import Observables

NAMES = (
    "ran",
    "my_log",
    "engine_log",
    "__assert_fail",
    "_Hashtable_x",
    "shown",
    "hidden",
    "called",
)
KEPT = KeptFunctions(
    ran={"ran": ("m/s@any", "m/t@any")},
    table=FunctionTable(
        machine="x86_64",
        entry=0,
        functions=tuple(Function(name, 16 * at, 16) for at, name in enumerate(NAMES)),
        imported=frozenset(),
        exported=frozenset({"shown"}),
        registrations=0,
        ifuncs=frozenset(),
    ),
    observables=Observables(
        link_sha256="0" * 64, groups=tuple((each,) for each in NAMES if each != "hidden")
    ),
    origins=LinkMap(starts=(), ends=(), files=()),
    patterns=(KeepPattern(text="my_*", where="megtrim.yaml:9"), KeepPattern(text="engine_log")),
)


@pytest.mark.parametrize(
    ("name", "rule", "by"),
    [
        ("ran", KeepRule.RAN, ("m/s@any", "m/t@any")),
        ("my_log", KeepRule.REQUESTED, ("my_*",)),
        ("engine_log", KeepRule.ENGINE, ("engine_log",)),
        ("__assert_fail", KeepRule.REPORTS, ("*assert_fail*",)),
        ("_Hashtable_x", KeepRule.BY_VALUES, ()),
        ("shown", KeepRule.SHARED, ()),
        ("hidden", KeepRule.UNOBSERVABLE, ()),
        ("called", KeepRule.CALLED, ()),
    ],
)
def test_the_first_rule_that_applies_is_the_reason(
    name: str, rule: KeepRule, by: tuple[str, ...]
) -> None:
    assert KEPT.find_reason(name) == KeepReason(rule=rule, by=by)


def test_what_the_link_does_not_have_has_no_reason() -> None:
    assert KEPT.find_reason("table") is None


def test_reasons_are_counted() -> None:
    found = KEPT.count_reasons([("other", "ran"), ("called",), ("ran",), ("table",)])

    assert [(reason.rule, count) for reason, count in found] == [
        (KeepRule.RAN, 2),
        (KeepRule.CALLED, 1),
    ]
