"""``megtrim devices`` where no phone is: this machine, and phones that a test plays."""

from __future__ import annotations

import pytest

from unit.cli.devices.bench import Bench


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "pixel"), "found no program, expected [NAME] -- PROGRAM"),
        (("run", "pixel", "--", "nowhere"), "there is no file nowhere on this machine"),
        (("run", "--", "program"), "found no name of a device, expected one: there are several"),
        (("run", "--env", "X", "pixel", "--", "program"), "--env: found 'X', expected NAME=VALUE"),
        (("list", "pixle"), "there is no device 'pixle'"),
        (("list", "--class", "none"), "no device fits class none"),
        (("list", "--match", "ro.product.model=x"), "no device fits ro.product.model=x"),
        (("list", "--match", "x"), "--match: found 'x', expected KEY=VALUE"),
        (("quarantine", "here", "--reason", "x"), "here is of kind local"),
        (("quarantine", "pixel", "--reason", " "), "--reason: found nothing"),
        (("quarantine", "pixel"), "Missing option '--reason'"),
        (("recover", "here"), "here: found no phone and no board"),
        (("heal", "pixel"), "Did you mean `megtrim devices recover`?"),
        (("list", "--config", "other.yaml"), "other.yaml"),
    ],
)
def test_what_cannot_be_is_refused(bench: Bench, words: tuple[str, ...], said: str) -> None:
    """As bad usage, with what was expected."""
    bench.program("exit 0")
    answer = bench(*words)

    assert answer.status == 2
    assert said in answer.err
