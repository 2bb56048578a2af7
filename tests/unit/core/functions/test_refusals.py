from collections.abc import Sequence
from dataclasses import replace

import pytest

from megtrim.core.functions import refusals
from megtrim.core.functions.refusals import Refusal, RefusalRule
from megtrim.libs.elf.symbol_table import Function, FunctionTable
from megtrim.libs.util.errors import InputError
from unit.core.functions.made_links import functions

WHERE = "megtrim.yaml:9: trim.refusals[0]"
FAIL = "_ZN6engine4failEPKcz"
CHECK = "_ZN6engine5checkEPKc"
NUMBER = "_ZN6engine6numberEi"
INSIDE = "_ZN12_GLOBAL__N_15checkEPKc"


def table(*names: str, imported: Sequence[str] = (), exported: Sequence[str] = ()) -> FunctionTable:
    made = functions(*((name, 16 * at, 16) for at, name in enumerate(names)), machine="x86_64")
    return replace(made, imported=frozenset(imported), exported=frozenset(exported))


def choose(
    of: FunctionTable, *rules: RefusalRule, groups: Sequence[Sequence[str]] = ()
) -> tuple[Refusal, ...]:
    return refusals.choose(of, rules, groups, source="lib.so")


@pytest.mark.parametrize(
    ("function", "names"),
    [
        ("die", ("die", "die.constprop.0")),
        ("di*", ("die", "die.constprop.0")),
        ("engine::fail", (FAIL,)),
        ("engine::*", (FAIL, CHECK)),
        ("_ZN6engine4*", (FAIL,)),
        ("std::__throw_bad_alloc", ("_ZSt17__throw_bad_allocv",)),
        ("std::__throw_*", ()),
        ("fail", ()),
    ],
)
def test_what_a_rule_means(function: str, names: tuple[str, ...]) -> None:
    """What another file has is meant by its whole name only: a pattern could mean anything."""
    known = ("die", "die.constprop.0", "undied", FAIL, CHECK)
    of = table(*known, imported=("_ZSt17__throw_bad_allocv", "stderr"))

    assert tuple(each.name for each in choose(of, RefusalRule(function=function))) == names


def test_the_first_rule_decides_and_other_names_of_a_function_go_with_it() -> None:
    of = table("die", "die_alias", "die.cold", "die.part.0")
    first = RefusalRule(function="die", message=2)
    rest = RefusalRule(function="die*")

    assert choose(of, first, rest, groups=[("die", "die_alias", "die.cold")]) == (
        Refusal(name="die", message=2),
        Refusal(name="die.cold"),
        Refusal(name="die.part.0"),
        Refusal(name="die_alias"),
    )


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (RefusalRule(function="gone", needed=True), f"{WHERE}: lib.so calls and has no function"),
        (RefusalRule(function="abort"), "abort cannot be made an error"),
        (RefusalRule(function="__cxa_throw"), f"{WHERE}: __cxa_throw cannot be made an error"),
        (RefusalRule(function="shown"), "lib.so exports shown, so other files may call it"),
        (RefusalRule(function="chosen"), "chosen cannot be replaced"),
        (RefusalRule(function=INSIDE, message=1), "is static"),
        (RefusalRule(function="engine::check", message=1, formats=True), "takes no values"),
        (RefusalRule(function="engine::number", message=1), "takes no argument of type"),
    ],
)
def test_what_is_refused(rule: RefusalRule, text: str) -> None:
    of = table("shown", "chosen", INSIDE, CHECK, NUMBER, imported=("abort", "__cxa_throw"))
    of = replace(of, exported=frozenset(["shown"]), ifuncs=frozenset(["chosen"]))

    with pytest.raises(InputError) as refused:
        choose(of, replace(rule, where=WHERE))

    assert text in str(refused.value)
    # What is no person's request means what can be meant.
    assert choose(of, replace(rule, needed=False)) == ()


def test_a_rule_of_an_engine_need_not_mean_any_function() -> None:
    assert choose(table("other"), *refusals.OF_CXX_LIBRARY) == ()


def test_what_a_scenario_runs_is_more_than_a_refusal() -> None:
    refusals.expect_not_run([Refusal(name="die")], {"other"}, source="lib.so")

    with pytest.raises(InputError, match="a scenario calls die"):
        refusals.expect_not_run([Refusal(name="die")], {"die"}, source="lib.so")


def test_what_the_link_still_has_is_refused() -> None:
    after = table("megtrim_stub_0", "local", "whole")
    same = replace(after.functions[0], name="die")
    after = replace(after, functions=(same, *after.functions))
    local = next(each for each in after.functions if each.name == "local")

    def expect(*rows: Refusal, imported: Sequence[str] = ()) -> None:
        emptied: dict[int, Function] = {local.address: local}
        linked = replace(after, imported=frozenset(imported))
        refusals.expect_replaced(linked, rows, emptied, source="lib.so")

    expect(Refusal(name="die", message=1), Refusal(name="local"), Refusal(name="gone"))
    with pytest.raises(InputError, match="local is static"):
        expect(Refusal(name="local", message=1))
    with pytest.raises(InputError, match="whole cannot be replaced"):
        expect(Refusal(name="whole"))
    with pytest.raises(InputError, match="gone cannot be replaced"):
        expect(Refusal(name="gone"), imported=["gone"])


def test_each_stub_has_the_arguments_of_the_function_that_it_replaces() -> None:
    rows = (
        Refusal(name="die"),
        Refusal(name=CHECK, message=3),
        Refusal(name=FAIL, message=1, formats=True),
        Refusal(name="megtrim_refused"),
    )
    numbers = {each.name: at for at, each in enumerate(rows)}
    third = "(const void* a1, const void* a2, const char* said)"

    assert refusals.write_stubs(rows, numbers).splitlines() == [
        'REFUSES(0, "refused by die", (void), NULL)',
        f'REFUSES(1, "refused by engine::check", {third}, TEXT(said))',
        'REFUSES_BY_FORMAT(2, "refused by engine::fail: ", (const char* said, ...))',
        'REFUSES(3, "refused in ", (const char* in, int line), "%s, line %d", in, line)',
    ]
