"""Work that a verb imports only when it is called: its options and help need none of it."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from megtrim.core.parts import load


def call_later(place: str) -> Callable[..., Any]:
    """Return what calls ``module:name`` below ``megtrim``, and imports the module only then."""

    def call(*values: Any, **named: Any) -> Any:
        return load(place, "this verb")(*values, **named)

    return call


def do_later(place: str) -> Callable[[Callable[[], None]], Callable[..., Any]]:
    """Let a function, which has only the name and the help of a verb, do what is at a place."""

    def decorate(verb: Callable[[], None]) -> Callable[..., Any]:
        return wraps(verb)(call_later(place))

    return decorate
