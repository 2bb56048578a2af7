"""Why a file may differ from the baseline's."""

from __future__ import annotations

import pytest

from megtrim.size.causes import Cause, digest_causes, list_causes

INPUTS = {
    "engine": "a",
    "targets": "load_and_run",
    "options": "MGE_INFERENCE_ONLY=ON",
    "toolchain version": "14",
    "toolchain link flags": "-s",
    "header midout.h": "b",
    "application app": "c",
    "base": "d",
    "link load_and_run": "e",
    "keep set": "f",
    "model resnet": "g",
}


@pytest.mark.parametrize(
    ("label", "causes"),
    [
        ("engine", (Cause.SOURCE,)),
        ("application app", (Cause.SOURCE,)),
        ("keep set", (Cause.KEEP_SET,)),
        ("header midout.h", (Cause.KEEP_SET,)),
        ("model resnet", (Cause.MODELS,)),
        ("options", (Cause.FLAGS,)),
        ("targets", (Cause.FLAGS,)),
        ("toolchain link flags", (Cause.FLAGS,)),
        ("toolchain version", (Cause.TOOLCHAIN,)),
        ("base", ()),
        ("link load_and_run", ()),
    ],
)
def test_an_input_has_a_cause(label: str, causes: tuple[Cause, ...]) -> None:
    """What an earlier stage made of the others has none of its own."""
    before, after = digest_causes(INPUTS), digest_causes(INPUTS | {label: "other"})

    assert list_causes(before, after) == causes


def test_what_came_or_went_differs() -> None:
    """A model more, for example; several causes are in the order of reports."""
    after = INPUTS | {"model mobilenet": "h", "toolchain version": "15"}

    found = list_causes(digest_causes(INPUTS), digest_causes(after))

    assert found == (Cause.MODELS, Cause.TOOLCHAIN)


def test_a_baseline_without_causes_tells_nothing() -> None:
    """It is from before they were stored."""
    assert list_causes({}, digest_causes(INPUTS)) == ()
