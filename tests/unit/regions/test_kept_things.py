from __future__ import annotations

import pytest

from megtrim.regions.keepset import LISTED, RAN, KeptThing, ThingKind, find_kept
from megtrim.regions.region import Region
from unit.regions.test_keepset_parts import CONV, FAST, MOBILE, POOL, QUANT, VGG, make_keep_set

LEFT_OUT = Region("conv", (2, "float"))
HELD = (CONV, POOL, QUANT, LEFT_OUT)


CONVOLUTION = KeptThing(kind=ThingKind.OPERATOR, name="Conv", rule=LISTED, by=("mobile", "vgg"))


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        (
            "pool<1>",
            KeptThing(kind=ThingKind.REGION, name="pool<1>", rule=RAN, by=(FAST,), regions=(POOL,)),
        ),
        # The profile build has it, no scenario ran it; its name may have any spacing.
        (
            "conv<2,float>",
            KeptThing(kind=ThingKind.REGION, name=str(LEFT_OUT), left_out=(LEFT_OUT,)),
        ),
        # All scenarios that ran one of a tag's regions keep it.
        (
            "conv",
            KeptThing(
                kind=ThingKind.TAG,
                name="conv",
                rule=RAN,
                by=tuple(sorted((MOBILE, FAST, VGG))),
                regions=(CONV,),
                left_out=(LEFT_OUT,),
            ),
        ),
        ("Conv", CONVOLUTION),
        ("ConvV2", CONVOLUTION),
        *((text, None) for text in ("con", "conv<3>", "Con", "conv<", "")),
    ],
)
def test_what_a_keep_set_says_of_a_name(text: str, thing: KeptThing | None) -> None:
    assert find_kept(text, make_keep_set(), HELD) == thing
