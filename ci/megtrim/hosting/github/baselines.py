"""Finds the baseline of a change: the sizes and proofs that a run on the base branch stored.

A run of a fork could store anything under that name, so the run of each artifact is checked first.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import PurePosixPath
from urllib.parse import quote

from megtrim.core.config.config_id import is_inside
from megtrim.core.evidence.evidence import (
    EVIDENCE_FILE,
    EvidenceSet,
    expect_evidence_of,
    parse_proofs,
)
from megtrim.core.size.baseline import expect_same_kind, parse_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.hosting.github.api import Api, find_at, text_at
from megtrim.hosting.github.artifacts import StoredArtifact, download, list_artifacts
from megtrim.hosting.github.commits import fetch_head, is_ancestor
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.input_files import decode
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import COMMIT_DIGEST, count, one_line
from megtrim.places.github_event import Event

SIZES_FILE = "sizes.json"
_MOST_TRIES = 5
"""Number of artifacts that are opened before the search is given up."""
_LONGEST_REASON = 160
_NO_SIZES = Baseline(source="", sizes={})
_NO_PROOFS = EvidenceSet(entries=())


class BaselineSource(StrEnum):
    MERGE_BASE = "merge-base"
    LAST_KNOWN = "last-known"
    REBUILT = "rebuilt"
    NONE = "none"


class Base(Value):
    version: int = 1
    sha: str
    branch: str
    what: str
    """What the commit is, such as ``the merge base``."""

    def __post_init__(self) -> None:
        if not COMMIT_DIGEST.fullmatch(self.sha):
            msg = f"sha: found {one_line(self.sha, most=60)!r}, expected a commit"
            raise ValueError(msg)

    def __str__(self) -> str:
        return f"{one_line(self.branch, most=80)} at {self.sha[:12]}"


class FoundBaseline(Value):
    how: BaselineSource
    source: str
    base: Base | None
    """The commit that was searched for; None if GitHub did not report it, or it is the head."""
    stored: Baseline = _NO_SIZES
    commit: str = ""
    """Of what the sizes are; empty without sizes."""
    evidence: EvidenceSet = _NO_PROOFS
    warnings: tuple[str, ...] = ()

    @property
    def rebuild(self) -> str:
        """The commit that should be built to measure its sizes, or empty."""
        return "" if self.base is None or self.how is BaselineSource.MERGE_BASE else self.base.sha


def find(
    api: Api, event: Event, *, config: str, artifact: str, now_s: float, quick: bool = False
) -> FoundBaseline:
    """``now_s`` is in seconds since 1970. Never raises, whatever GitHub answers."""
    base: Base | None = None
    search = _Search(api, event, config=config, quick=quick)
    try:
        base = resolve_base(api, event)
        stored = search.list_artifacts(artifact)
    except InfrastructureFailure as failure:
        reason = one_line(failure.message, most=_LONGEST_REASON)
        source = f"none: GitHub did not answer ({reason})"
        warnings = (f"no baseline: {failure}",)
        return FoundBaseline(how=BaselineSource.NONE, source=source, base=base, warnings=warnings)
    matching = [each for each in stored if (each.sha, each.branch) == (base.sha, base.branch)]
    for each, sizes, evidence in search.open_trusted(matching):
        source = f"{base}, {base.what}, stored {_describe_age(each, now_s)}"
        return search.make_baseline(
            BaselineSource.MERGE_BASE, source, base, sizes, evidence, each.sha
        )
    # A baseline that an earlier run of this very commit stored would hide all its growth.
    passed_over = (base.sha, event.head_sha)
    others = [e for e in stored if e.branch == base.branch and e.sha not in passed_over]
    for each, sizes, evidence in search.open_trusted(others):
        known = Base(sha=each.sha, branch=each.branch, what="")
        lacking = f"{base.what} {base.sha[:12]} has stored none"
        age = _describe_age(each, now_s)
        source = f"{known}, the last that is known, stored {age}, as {lacking}"
        return search.make_baseline(
            BaselineSource.LAST_KNOWN, source, base, sizes, evidence, each.sha
        )
    branch = one_line(base.branch, most=80)
    reason = search.warnings[0] if search.warnings else f"no run on {branch} has stored one yet"
    source = f"none: {one_line(reason, most=_LONGEST_REASON)}"
    return search.make_baseline(BaselineSource.NONE, source, base)


def resolve_base(api: Api, event: Event) -> Base:
    root = f"/repos/{event.repository}"
    if event.pull_request is not None:
        pull = event.pull_request
        # Without the lists of commits and files, which may be long.
        answer = api.get(f"{root}/compare/{pull.base_sha}...{pull.head_sha}", {"per_page": 1})
        sha = text_at(answer, "merge_base_commit", "sha")
        return _base(sha, pull.base_ref, "the merge base")
    if event.merge_group_base:
        return _base(event.merge_group_base, event.merge_group_ref, "the merge group's base")
    if event.before and event.ref.startswith("refs/heads/"):
        return _base(event.before, event.ref.removeprefix("refs/heads/"), "the commit before")
    branch = event.default_branch or text_at(api.get(root), "default_branch")
    answer = api.get(f"{root}/compare/{quote(branch)}...{event.sha}", {"per_page": 1})
    sha = text_at(answer, "merge_base_commit", "sha")
    return _base(sha, branch, "this very commit" if sha == event.sha else "the merge base")


def _describe_age(stored: StoredArtifact, now_s: float) -> str:
    days = max(0, timedelta(seconds=now_s - stored.created.timestamp()).days)
    return "today" if days == 0 else f"{count(days, 'day')} ago"


def _base(sha: str, branch: str, what: str) -> Base:
    try:
        return Base(sha=sha, branch=branch, what=what)
    except ValueError as error:
        raise InfrastructureFailure(str(error)) from None


class _Search:
    def __init__(self, api: Api, event: Event, *, config: str, quick: bool) -> None:
        self._api = api
        self._event = event
        self._root = f"/repos/{event.repository}"
        self._config = config
        self._quick = quick
        self._in_repository = str(PurePosixPath(config)) if is_inside(config) else ""
        self.warnings: list[str] = []

    def list_artifacts(self, name: str) -> list[StoredArtifact]:
        own = self._event.repository_id
        return [
            stored
            for stored in list_artifacts(self._api, f"{self._root}/actions/artifacts", name)
            if stored.repository_id == stored.head_repository_id == own
        ]

    def open_trusted(
        self, stored: list[StoredArtifact]
    ) -> Iterator[tuple[StoredArtifact, Baseline, EvidenceSet]]:
        for each in stored[:_MOST_TRIES]:
            try:
                if not self._is_trusted(each):
                    continue
                sizes, evidence = self._read(each)
            except (InfrastructureFailure, InputError) as failure:
                self.warnings.append(f"the baseline of {each.sha[:12]}: {failure.message}")
                continue
            yield each, sizes, evidence

    def _is_trusted(self, stored: StoredArtifact) -> bool:
        """Check its run: whoever may push to the base branch may also define its sizes."""
        event = self._event
        run = self._api.get(f"{self._root}/actions/runs/{stored.run_id}")
        facts = [find_at(run, key) for key in ("id", "head_sha", "head_branch")]
        if facts != [stored.run_id, stored.sha, stored.branch]:
            return False
        if find_at(run, "head_repository", "id") != event.repository_id:
            return False
        events = ["push"]
        if stored.branch == event.default_branch:
            events += ["schedule", "workflow_dispatch"]
        if find_at(run, "event") not in events:
            return False
        # A run for a tag is listed as one for a branch of that name.
        head = fetch_head(self._api, event.repository, stored.branch)
        return is_ancestor(self._api, event.repository, stored.sha, head)

    def _read(self, stored: StoredArtifact) -> tuple[Baseline, EvidenceSet]:
        names = (SIZES_FILE, EVIDENCE_FILE)
        files = download(self._api, self._event.repository, stored, names)
        if SIZES_FILE not in files:
            msg = f"its archive has no {SIZES_FILE}"
            raise InputError(msg)
        text = decode(files[SIZES_FILE], shown=SIZES_FILE)
        sizes = expect_same_kind(
            parse_sizes(text, source=SIZES_FILE),
            quick=self._quick,
            shown=SIZES_FILE,
            config=self._in_repository,
        )
        proofs = self._read_proofs(files, stored)
        expect_evidence_of(self._config, "its proof", proofs.entries)
        return sizes, proofs

    def _read_proofs(self, files: Mapping[str, bytes], stored: StoredArtifact) -> EvidenceSet:
        try:
            if EVIDENCE_FILE in files:
                text = decode(files[EVIDENCE_FILE], shown=EVIDENCE_FILE)
                return parse_proofs(text, source=EVIDENCE_FILE)
        except InputError as error:
            self.warnings.append(f"the proofs of {stored.sha[:12]}: {error.message}")
        return _NO_PROOFS

    def make_baseline(
        self,
        how: BaselineSource,
        source: str,
        base: Base,
        stored: Baseline = _NO_SIZES,
        evidence: EvidenceSet = _NO_PROOFS,
        commit: str = "",
    ) -> FoundBaseline:
        return FoundBaseline(
            how=how,
            source=source,
            base=None if base.sha == self._event.head_sha else base,
            stored=stored,
            commit=commit,
            evidence=evidence,
            warnings=tuple(self.warnings),
        )
