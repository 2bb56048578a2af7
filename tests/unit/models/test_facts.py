from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.models.facts import operator_info
from megtrim.models.operators import OperatorInfo
from megtrim.util.errors import InputError
from unit.models.test_show import FACTS


def test_known_operators_are_all_that_is_needed() -> None:
    known = replace(FACTS, unknown_operators=())

    assert operator_info(known, source="net.mge") == OperatorInfo(
        hash=0,
        dtypes=("Float32", "Int8"),
        opr_types=("Elemwise", "Host2DeviceCopy"),
        elemwise_modes=("ADD",),
    )


def test_unknown_operators_are_not_guessed() -> None:
    with pytest.raises(InputError) as caught:
        operator_info(FACTS, source="net.mge")
    assert caught.value.message == (
        "net.mge: has operators that megtrim does not know: 0x00000000000000ff"
    )
    assert "strip_info" in caught.value.hint
