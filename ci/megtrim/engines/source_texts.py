"""The sources that name a generated fact, as they are and as a reduced build has them."""

from collections.abc import Mapping
from functools import cached_property

from megtrim.engines.midout.header import (
    FORCED,
    SUFFIXES,
    Scopes,
    names_a_fact,
    rewritten,
    scopes,
    scopes_of,
)
from megtrim.places.compile.projects.checkout import Checkout


class SourceTexts:
    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout

    @cached_property
    def _naming(self) -> Mapping[str, str]:
        texts = (
            (name, self._checkout.text(name))
            for name in sorted(self._checkout.files)
            if name.endswith(SUFFIXES)
        )
        return {name: text for name, text in texts if names_a_fact(text)}

    @cached_property
    def scopes(self) -> Scopes:
        return scopes(self._naming.values())

    def overrides(self, header: Mapping[str, str], *, forced: str) -> tuple[tuple[str, str], ...]:
        """``header`` maps names of generated files to texts; ``forced`` is the path of one."""
        if not header:
            return ()
        scoped = scopes_of(header)
        written = ((name, rewritten(text, scoped)) for name, text in self._naming.items())
        changed = (pair for pair in written if pair[1] != self._naming[pair[0]])
        return ((forced, header[FORCED]), *changed)

    def include(self, header: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        return tuple((name, text) for name, text in header.items() if name != FORCED)
