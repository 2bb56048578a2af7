"""Growth divided by building each cause alone."""

from __future__ import annotations

from megtrim.size.growth.causes import Cause
from megtrim.size.growth.exact import CauseBuild, divide_exactly

NAME = "load_and_run"


def test_own_growth_and_the_rest_add_up() -> None:
    """A new kernel that only a new model keeps grows by neither alone."""
    builds = (
        CauseBuild(cause=Cause.SOURCE, sizes={NAME: 100}),
        CauseBuild(cause=Cause.MODELS, sizes={NAME: 104}),
        CauseBuild(cause=Cause.FLAGS, sizes={NAME: 90}),
    )

    (found,) = divide_exactly({NAME: 100}, {NAME: 150}, builds)

    assert found.own == ((Cause.SOURCE, 0), (Cause.MODELS, 4), (Cause.FLAGS, -10))
    assert (found.growth_bytes, found.together_bytes, found.unknown) == (50, 56, ())


def test_what_cannot_be_built_alone_is_in_the_rest() -> None:
    """Of an artifact that both have."""
    builds = (CauseBuild(cause=Cause.SOURCE, sizes={}, failure="it does not compile"),)

    (found,) = divide_exactly({NAME: 1, "old": 7}, {NAME: 9, "new": 7}, builds)

    assert (found.own, found.unknown, found.together_bytes) == ((), (Cause.SOURCE,), 8)
