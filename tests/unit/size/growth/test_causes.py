"""Why a file may differ from the baseline's."""

from __future__ import annotations

import pytest

from megtrim.size.growth.causes import ORDERS, Cause, digest_causes, list_causes

INPUTS = {
    "engine": "a",
    "source files": "s",
    "targets": "load_and_run",
    "options": "MGE_INFERENCE_ONLY=ON",
    "toolchain version": "14",
    "toolchain link flags": "-s",
    "header midout.h": "b",
    "application app": "c",
    "dependency third_party/cpuinfo": "d",
    "setting trim.optimize": "size",
    "build files": "e",
    "base": "d",
    "link load_and_run": "e",
    "keep set": "f",
    "scenario resnet/default@any": "g",
    "megtrim": "1",
}


@pytest.mark.parametrize(
    ("label", "causes"),
    [
        ("source files", (Cause.SOURCE,)),
        ("application app", (Cause.SOURCE,)),
        ("dependency third_party/cpuinfo", (Cause.DEPENDENCIES,)),
        ("keep set", (Cause.KEEP_SET,)),
        ("scenario resnet/default@any", (Cause.MODELS,)),
        ("setting trim.optimize", (Cause.FLAGS,)),
        ("build files", (Cause.FLAGS,)),
        ("toolchain version", (Cause.TOOLCHAIN,)),
        ("toolchain link flags", (Cause.FLAGS,)),
        ("megtrim", (Cause.MEGTRIM,)),
        ("engine", ()),
        ("base", ()),
        ("link load_and_run", ()),
    ],
)
def test_an_input_has_a_cause(label: str, causes: tuple[Cause, ...]) -> None:
    """What an earlier stage made of the others has none of its own."""
    before, after = digest_causes(INPUTS), digest_causes(INPUTS | {label: "other"})

    assert list_causes(before, after) == causes


@pytest.mark.parametrize(
    ("also", "causes"),
    [
        ({}, (Cause.FLAGS,)),
        ({"megtrim": "2"}, (Cause.MEGTRIM,)),
        ({"build files": "f"}, (Cause.FLAGS,)),
    ],
)
def test_other_orders_follow_from_their_cause(
    also: dict[str, str], causes: tuple[Cause, ...]
) -> None:
    """A header or options that follow from nothing that is known are flags."""
    orders = {"header midout.h": "x", "options": "y", "toolchain link flags": "z", "targets": "t"}

    found = list_causes(digest_causes(INPUTS), digest_causes(INPUTS | orders | also))

    assert found == causes


def test_what_came_or_went_differs() -> None:
    """A model more, for example; several causes are in the order of reports."""
    after = INPUTS | {"scenario mobilenet/default@any": "h", "toolchain version": "15"}

    found = list_causes(digest_causes(INPUTS), digest_causes(after))

    assert found == (Cause.MODELS, Cause.TOOLCHAIN)


@pytest.mark.parametrize("before", [{}, {"source": "0a1b", "flags": "2c"}])
def test_a_baseline_without_causes_explains_nothing(before: dict[str, str]) -> None:
    """It is from before they were stored, or before there were all of these."""
    assert list_causes(before, digest_causes(INPUTS)) == ()


def test_every_input_counts_once() -> None:
    """There is a digest for each cause, and one for what follows from them."""
    assert digest_causes(INPUTS).keys() == {*Cause, ORDERS}
