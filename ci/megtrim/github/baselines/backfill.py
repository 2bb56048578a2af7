"""Sizes for a history from the baselines that former runs stored. Part of the github room.

Those that expire first are read first. What is in the history already is not asked for, so a second
search costs the list of artifacts alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from megtrim.errors import InputError
from megtrim.github.api import NotFound
from megtrim.github.baselines.stored import SIZES_FILE, StoredBaseline, StoredBaselines
from megtrim.github.log_text import one_line
from megtrim.size.baseline import load_sizes
from megtrim.size.commit_sizes import CommitSizes, make_commit_sizes


@dataclass(slots=True, kw_only=True)
class BackfillTally:
    """What became of the artifacts that were listed."""

    listed: int = 0
    known: int = 0
    """Their commits are in the history."""
    elsewhere: int = 0
    """Of other branches."""
    expired: int = 0
    untrusted: list[str] = field(default_factory=list)
    """Commits whose artifacts no run of the branch stored."""
    refused: list[str] = field(default_factory=list)
    """What was wrong with the others, in one line each."""
    added: int = 0
    left: int = 0
    """Not looked at: there were more than were asked for."""


class Backfill:
    """Searches the artifacts of one configuration on one branch.

    ``artifact`` is the name under which runs stored them, ``known`` are the commits that the
    history has. ``most`` artifacts are opened at most.
    """

    def __init__(
        self,
        baselines: StoredBaselines,
        *,
        artifact: str,
        branch: str,
        config: str,
        known: Collection[str],
        most: int,
    ) -> None:
        self._baselines = baselines
        self._artifact = artifact
        self._branch = branch
        self._config = str(PurePosixPath(config))
        self._known = known
        self._most = most
        self.tally = BackfillTally()

    def find(self) -> Iterator[CommitSizes]:
        """Yield the sizes that the history does not have, oldest first.

        Raises InfrastructureFailure if GitHub does not answer, or asks for a longer pause than a
        call may take; what was yielded before is good.
        """
        chosen = self._choose()
        for each in chosen[: self._most]:
            try:
                if not self._baselines.is_trusted(each):
                    self.tally.untrusted.append(each.sha)
                    continue
                with tempfile.TemporaryDirectory() as scratch:
                    found = self._open(each, Path(scratch, "baseline"))
            except InputError as error:
                self.tally.refused.append(_describe(each, error.message))
            except NotFound:
                self.tally.expired += 1
            else:
                self.tally.added += 1
                yield found
        self.tally.left = len(chosen[self._most :])

    def _choose(self) -> tuple[StoredBaseline, ...]:
        """Return the newest artifact of each commit that may be read and is missing."""
        newest: dict[str, StoredBaseline] = {}
        listed = self._baselines.list_artifacts(self._artifact)
        self.tally.listed = len(listed)
        for each in reversed(listed):
            if each.branch != self._branch:
                self.tally.elsewhere += 1
            elif each.sha in self._known:
                self.tally.known += 1
            elif each.expired:
                self.tally.expired += 1
            else:
                newest[each.sha] = each
        return tuple(newest.values())

    def _open(self, stored: StoredBaseline, folder: Path) -> CommitSizes:
        self._baselines.unpack(stored, folder)
        sizes = load_sizes(folder / SIZES_FILE, shown=SIZES_FILE)
        found = make_commit_sizes(sizes, shown=SIZES_FILE, run=stored.run_id)
        return expect_sizes_of(found, commit=stored.sha, config=self._config)


def expect_sizes_of(found: CommitSizes, *, commit: str, config: str) -> CommitSizes:
    """Return sizes if they are of a run's commit and configuration. Raises InputError."""
    for key, said, expected in (
        ("commit", found.commit, commit),
        ("config", found.config, config),
    ):
        if said != expected:
            shown = one_line(said, most=80)
            msg = f"{SIZES_FILE}: {key}: found {shown!r}, expected {expected!r} of the run"
            raise InputError(msg, hint="name the artifact of this configuration's runs")
    return found


def _describe(stored: StoredBaseline, message: str) -> str:
    return one_line(f"the baseline of {stored.sha[:12]}: {message}", most=300)
