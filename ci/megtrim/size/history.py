"""How sizes changed over the commits of a history, oldest first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from megtrim.build_spec import Variant
from megtrim.config.measure_names import STRIPPED
from megtrim.history_files.entries import UnreadableFile
from megtrim.size.commit_sizes import CommitSizes, FileSize
from megtrim.strict_json import SignedInt

if TYPE_CHECKING:
    from megtrim.config.model import Budget

VERSION = 1
_MOST_COMPONENTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentGrowth:
    """By how much one component changed from one commit of the history to the next."""

    component: str
    growth_bytes: SignedInt


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePoint:
    """The size of a file at one commit."""

    commit: str
    committed_at: str
    """In UTC, such as ``2026-11-24T02:00:00Z``."""
    megtrim: str
    """The version of megtrim that measured; empty if it is not known."""
    size_bytes: int
    growth_bytes: SignedInt | None
    """Since the point before; None for the first."""
    components: tuple[ComponentGrowth, ...]
    """What changed most since then, at most three; empty if one of both does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTrend:
    """One file of one configuration over all commits that have it."""

    config: str
    """Path of the configuration in the repository, with its toolchain if it has several."""
    quick: bool
    """The sizes are those of quick trims."""
    artifact: str
    variant: str
    measure: str
    """What was measured; empty: the stripped file."""
    points: tuple[SizePoint, ...]
    """Oldest first; there is at least one."""
    max_bytes: int | None = None
    """The largest size that a budget allows; None: there is no such budget."""

    @property
    def left_bytes(self) -> int | None:
        """Return how much the budget leaves at the newest commit; negative: it is exceeded."""
        return None if self.max_bytes is None else self.max_bytes - self.points[-1].size_bytes

    @property
    def growth_bytes(self) -> int:
        """Return the growth from the first commit to the last."""
        return self.points[-1].size_bytes - self.points[0].size_bytes

    def find_steps(self, most: int = 3) -> tuple[SizePoint, ...]:
        """Return the points that changed the size most, the largest change first."""
        steps = [each for each in self.points if each.growth_bytes]
        steps.sort(key=lambda each: (-abs(each.growth_bytes or 0), each.committed_at, each.commit))
        return tuple(steps[:most])


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeHistory:
    """What ``megtrim size history --json`` prints."""

    version: int = VERSION
    trends: tuple[SizeTrend, ...]
    unreadable: tuple[UnreadableFile, ...]
    """Files of the history that could not be read, and why."""


def make_trends(
    entries: Iterable[CommitSizes],
    *,
    variant: str = "",
    measure: str = STRIPPED,
    budgets: Mapping[str, Sequence[Budget]] | None = None,
) -> tuple[SizeTrend, ...]:
    """Return the trend of each configuration, artifact and variant, by name.

    ``variant``: only of that one; ``measure``: what is measured; ``budgets``: by configuration.
    Quick trims start from another build, so they have trends of their own. A commit counts once in
    each, however often it was measured.
    """
    measured: dict[tuple[str, str, bool], list[CommitSizes]] = {}
    for each in entries:
        measured.setdefault(each.subject, []).append(each)
    commits = [_join(same) for same in measured.values()]
    in_order = sorted(commits, key=lambda each: (each.committed_at, each.commit))
    groups: dict[tuple[str, bool], list[CommitSizes]] = {}
    for each in in_order:
        groups.setdefault((each.config, each.quick), []).append(each)
    return tuple(
        SizeTrend(
            config=group[0],
            quick=group[1],
            artifact=key[0],
            variant=key[1],
            measure=measure,
            points=points,
            max_bytes=_find_most((budgets or {}).get(group[0], ()), commits[-1], key, measure),
        )
        for group, commits in sorted(groups.items())
        for key in sorted({key for each in commits for key in _list_keys(each)})
        if variant in ("", key[1]) and (points := tuple(_list_points(key, measure, commits)))
    )


def _join(same: Sequence[CommitSizes]) -> CommitSizes:
    """Return one entry of a commit, with the larger size of each file: none can hide growth."""
    files: dict[str, dict[str, FileSize]] = {}
    for entry in same:
        for artifact, variant in _list_keys(entry):
            size, known = entry.artifacts[artifact][variant], files.setdefault(artifact, {})
            if variant not in known or size.size_bytes > known[variant].size_bytes:
                known[variant] = size
    return same[0] if len(same) == 1 else replace(same[0], artifacts=files)


def _list_keys(entry: CommitSizes) -> Iterator[tuple[str, str]]:
    for artifact, variants in entry.artifacts.items():
        for variant in variants:
            yield artifact, variant


def _list_points(
    key: tuple[str, str], measure: str, commits: Sequence[CommitSizes]
) -> Iterator[SizePoint]:
    artifact, variant = key
    former: tuple[int, FileSize] | None = None
    for each in commits:
        file = each.artifacts.get(artifact, {}).get(variant)
        size_bytes = None if file is None else file.find(measure)
        if file is None or size_bytes is None:
            continue
        yield SizePoint(
            commit=each.commit,
            committed_at=each.committed_at,
            megtrim=each.megtrim,
            size_bytes=size_bytes,
            growth_bytes=None if former is None else size_bytes - former[0],
            components=() if former is None else _compare(former[1].components, file.components),
        )
        former = (size_bytes, file)


def _compare(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[ComponentGrowth, ...]:
    """Return the components that changed most; none if the components of one are not known."""
    if not before or not after:
        return ()
    changes = {
        name: growth
        for name in {*before, *after}
        if (growth := after.get(name, 0) - before.get(name, 0))
    }
    largest = sorted(changes.items(), key=lambda each: (-abs(each[1]), each[0]))
    return tuple(
        ComponentGrowth(component=name, growth_bytes=growth)
        for name, growth in largest[:_MOST_COMPONENTS]
    )


def _find_most(
    budgets: Sequence[Budget], newest: CommitSizes, key: tuple[str, str], measure: str
) -> int | None:
    """Return the largest size that budgets of one file allow; a share is one of the plain build."""
    artifact, variant = key
    plain = newest.artifacts.get(artifact, {}).get(str(Variant.PLAIN))
    whole_bytes = None if plain is None else plain.find(measure)
    limits = [
        each.max_size
        for each in budgets
        if (each.artifact, str(each.variant), each.measure) == (artifact, variant, measure)
        and each.max_size is not None
    ]
    found = [
        each.limit_bytes(whole_bytes or 0)
        for each in limits
        if not each.share or whole_bytes is not None
    ]
    return min(found, default=None)
