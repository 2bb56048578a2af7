from __future__ import annotations

import pytest

from megtrim.models.operators import OperatorInfo, merge
from megtrim.regions.keepset import (
    KeepSet,
    build_keep_set,
    list_models,
    list_needs,
    model_of,
    select_scenarios,
)
from megtrim.regions.region import Region
from megtrim.util.errors import InputError
from support.scenario_records import make_record

CONV, POOL, QUANT = Region("conv", (1,)), Region("pool", (1,)), Region("quant", (1,))
VGG, FAST, MOBILE = "vgg/default@any", "vgg/fast@any", "mobile/default@any"


def make_keep_set() -> KeepSet:
    def info(*operators: str) -> OperatorInfo:
        return OperatorInfo(hash=None, dtypes=(), opr_types=operators, elemwise_modes=())

    records = (
        make_record([CONV], scenario=VGG),
        make_record([CONV, POOL], scenario=FAST),
        make_record([CONV, QUANT], scenario=MOBILE),
    )
    needs = merge([("vgg", info("Conv", "Pool")), ("mobile", info("Conv", "TypeCvt"))])
    return build_keep_set(20220507, records, needs)


def test_models_are_known_by_their_scenarios() -> None:
    assert model_of(FAST) == "vgg"
    assert list_models(make_keep_set()) == ("mobile", "vgg")


def test_operators_go_with_the_last_scenario_of_a_model() -> None:
    keep = make_keep_set()

    slower = list_needs(select_scenarios(keep, {VGG, MOBILE}))
    other = list_needs(select_scenarios(keep, {MOBILE}))

    assert {*slower.regions} == {*other.regions} == {CONV, QUANT}
    assert sorted(slower.operators) == ["Conv", "Pool", "TypeCvt"]
    assert sorted(other.operators) == ["Conv", "TypeCvt"]


def test_what_only_some_need_is_a_difference() -> None:
    keep = make_keep_set()

    gone = list_needs(keep) - list_needs(select_scenarios(keep, {VGG, FAST}))

    assert (list(gone.regions), list(gone.operators)) == ([QUANT], ["TypeCvt"])
    assert not gone.functions


def test_a_keep_set_of_no_scenario_is_refused() -> None:
    with pytest.raises(InputError, match="would keep everything"):
        select_scenarios(make_keep_set(), ())
