"""What a keep set says of a region, a tag or an operator."""

from __future__ import annotations

import pytest

from megtrim.regions.keepset_parts import LISTED, RAN, KeptThing, ThingKind, find_kept
from megtrim.regions.region import Region
from unit.regions.test_keepset_parts import CONV, FAST, MOBILE, POOL, QUANT, VGG, make_keep_set

LEFT_OUT = Region("conv", (2, "float"))
HELD = (CONV, POOL, QUANT, LEFT_OUT)


def find(text: str) -> KeptThing | None:
    return find_kept(text, make_keep_set(), HELD)


def test_a_region_is_kept_by_the_scenarios_that_ran_it() -> None:
    found = find("pool<1>")

    assert found == KeptThing(
        kind=ThingKind.REGION, name="pool<1>", rule=RAN, by=(FAST,), regions=(POOL,)
    )


def test_a_region_that_no_scenario_ran_was_left_out() -> None:
    """The profile build has it; its name may have any spacing."""
    found = find("conv<2,float>")

    assert found == KeptThing(kind=ThingKind.REGION, name=str(LEFT_OUT), left_out=(LEFT_OUT,))


def test_a_tag_has_kept_regions_and_others() -> None:
    """All scenarios that ran one of them keep it."""
    found = find("conv")

    assert found == KeptThing(
        kind=ThingKind.TAG,
        name="conv",
        rule=RAN,
        by=tuple(sorted((MOBILE, FAST, VGG))),
        regions=(CONV,),
        left_out=(LEFT_OUT,),
    )


@pytest.mark.parametrize("text", ["Conv", "ConvV2"])
def test_an_operator_is_kept_by_the_models_that_list_it(text: str) -> None:
    found = find(text)

    assert found == KeptThing(
        kind=ThingKind.OPERATOR, name="Conv", rule=LISTED, by=("mobile", "vgg")
    )


@pytest.mark.parametrize("text", ["con", "conv<3>", "Con", "conv<", ""])
def test_other_names_are_nothing_of_a_keep_set(text: str) -> None:
    assert find(text) is None
