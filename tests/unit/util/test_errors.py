import pytest

from megtrim.util.errors import (
    InfrastructureFailure,
    InputError,
    Interrupted,
    MegtrimError,
    ProductFailure,
    worst_exit_code,
)


def test_every_ending_has_its_own_exit_status() -> None:
    kinds = (ProductFailure, InputError, InfrastructureFailure, Interrupted)

    assert [kind.exit_code for kind in kinds] == [1, 2, 3, 130]


def test_the_hint_stands_below_the_message() -> None:
    assert str(InputError("no model", hint="name one")) == "no model\n  name one"
    assert str(MegtrimError("no model")) == "no model"


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], 0),
        ([0, 0], 0),
        ([0, 3], 3),
        ([3, 1], 1),
        ([1, 2, 3], 2),
        ([2, 70, 1], 70),
        ([70, 130, 2, 1, 3, 0], 130),
    ],
)
def test_a_chain_exits_as_its_worst_stage(codes: list[int], expected: int) -> None:
    assert worst_exit_code(codes) == expected


def test_what_a_program_printed_can_be_left_out() -> None:
    error = ProductFailure("plain does not compile:\na.cpp:1: error\n  int secret;", hint="x")
    error.shorten()
    plain = ProductFailure("one line")
    plain.shorten()

    assert error.message.startswith("plain does not compile: its output is not shown")
    assert "secret" not in str(error)
    assert plain.message == "one line"
