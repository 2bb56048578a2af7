"""What the commits of a change say of its growth, read by git from the checkout.

They count if the configuration says so in the commit that the baseline is of: what a change says of
itself, in its files or in a fork, makes no difference. Without git, or outside of a repository,
nothing is acknowledged.
"""

from __future__ import annotations

from megtrim.commit_digest import COMMIT_DIGEST
from megtrim.config.load import LoadedConfig
from megtrim.config.yaml.document import LARGEST_FILE_BYTES, parse_document
from megtrim.errors import InputError
from megtrim.process import ProcessRunner
from megtrim.size.acknowledgement import (
    TRAILER,
    Acknowledgements,
    CommitTrailer,
    read_trailers,
)
from megtrim.size.budgets import Baseline
from megtrim.sources.git import SourceRepository

_SHOWN = 12


def read_acknowledgements(
    loaded: LoadedConfig, baseline: Baseline | None, processes: ProcessRunner
) -> Acknowledgements:
    """Return what the commits since the baseline say."""
    since = baseline.commit if baseline and baseline.sizes else ""
    if not COMMIT_DIGEST.fullmatch(since) or processes.which("git") is None:
        return Acknowledgements()
    repository = SourceRepository(loaded.path.parent, processes)
    try:
        if not repository.has(since):
            return _report_unknown(since, repository)
        found = repository.trailers(TRAILER, since=since)
        trailers = (CommitTrailer(commit=c, author=a, value=v) for c, a, v in found)
        allowed = _is_allowed(loaded, since, repository)
        return read_trailers(trailers, allowed=allowed, base=since)
    except InputError:  # no repository, or one that git cannot read
        return Acknowledgements()


def _report_unknown(since: str, repository: SourceRepository) -> Acknowledgements:
    """Warn if a commit acknowledges something, but it is not known which belong to the change."""
    if not repository.trailers(TRAILER):
        return Acknowledgements()
    why = f"the baseline's commit {since[:_SHOWN]} is not in this clone, which may be too shallow"
    return Acknowledgements(warnings=(f"{TRAILER} does not count: {why}",))


def _is_allowed(loaded: LoadedConfig, commit: str, repository: SourceRepository) -> bool:
    """Return what the configuration of a commit says; no for one that is not there."""
    path = f"{repository.prefix()}{loaded.path.name}"
    try:
        text = repository.linked_text(commit, path, most_bytes=LARGEST_FILE_BYTES)
        return parse_document(text.encode(), file=path).data.get("acknowledge") is True
    except InputError:
        return False
