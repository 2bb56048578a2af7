"""``megtrim verify``: which options go together, and what it is not for."""

from __future__ import annotations

import pytest

from unit.cli.support import Shell


@pytest.mark.parametrize("more", [(), ("--input", "data=x.npy"), ("--", "--cpu")])
def test_a_probe_is_no_option_of_verify(shell: Shell, more: tuple[str, ...]) -> None:
    """It is a verb, which the error names."""
    answer = shell("verify", "--probe", "m", *more)

    assert (answer.status, answer.out) == (2, "")
    assert "No such option: --probe. Did you mean `megtrim probe MODEL" in answer.err
