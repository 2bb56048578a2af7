"""Algorithm caches, which hold what searches found, and several of them joined into one. Pure."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from megtrim.libs.util.value import Value

Key = tuple[str, bytes]
"""A kind of operator, and for what shapes and parameters of it something was searched."""


class CacheFormat(Protocol):
    """How a kind of engine writes its cache."""

    def parse(self, data: bytes, *, source: str) -> Mapping[Key, bytes]:
        """Return each key's answer. Raises InputError."""

    def dump(self, answers: Mapping[Key, bytes]) -> bytes: ...

    def describe(self, key: Key) -> str: ...

    def name_algorithm(self, answer: bytes) -> str:
        """Return the one that was found to be the fastest; two searches never take equally long."""


class Clash(Value):
    """A key that several searches answered differently."""

    key: str
    kept: str
    """The algorithm that the joined cache has."""
    by: str
    """The scenario whose search found it."""
    others: tuple[tuple[str, str], ...]
    """The other scenarios, each with the algorithm that its own search found."""

    def describe(self) -> str:
        others = ", ".join(f"{found} ({scenario})" for scenario, found in self.others)
        return f"{self.key}: {self.kept} ({self.by}) is kept, and not {others}"


class JoinedCache(Value):
    data: bytes
    answers: int
    clashes: tuple[Clash, ...]


def join_caches(caches: Sequence[tuple[str, bytes]], form: CacheFormat) -> JoinedCache:
    """Take pairs of scenario and cache. Of several answers, the first scenario's is kept.

    All scenarios are traced and verified with what is kept, so each answer is proven in all.
    Raises InputError for a cache that cannot be read.
    """
    kept: dict[Key, tuple[str, bytes]] = {}
    others: dict[Key, list[tuple[str, str]]] = {}
    for scenario, data in caches:
        for key, answer in form.parse(data, source=f"the cache of {scenario}").items():
            first, chosen = kept.setdefault(key, (scenario, answer))
            found = form.name_algorithm(answer)
            if first != scenario and found != form.name_algorithm(chosen):
                others.setdefault(key, []).append((scenario, found))
    clashes = (
        Clash(
            key=form.describe(key),
            kept=form.name_algorithm(kept[key][1]),
            by=kept[key][0],
            others=tuple(others[key]),
        )
        for key in sorted(others)
    )
    answers = {key: answer for key, (_, answer) in sorted(kept.items())}
    return JoinedCache(data=form.dump(answers), answers=len(answers), clashes=tuple(clashes))
