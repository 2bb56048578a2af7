"""From a draft and what devices found to the release: the same files, and documents that say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from megtrim.errors import InputError, ProductFailure
from megtrim.evidence.evidence import EvidenceSet, dump_set, load_proofs
from megtrim.input_files import read_text
from megtrim.json_text import LARGEST_DOCUMENT
from megtrim.release.check import ReleaseCheck, check_release, expect_whole
from megtrim.release.contents import (
    PROOFS_PATH,
    SETTLED,
    ReleaseContents,
)
from megtrim.release.documents import DOCUMENTS
from megtrim.release.files import ReleaseFile, from_text, seal_files
from megtrim.release.proofs import add_proofs, clean_proofs
from megtrim.verdict.model import CheckStatus, Verdict, parse_verdict


def prove_release(
    draft: Path, verdict: Path, *, proofs: Path | None, again: Path | None
) -> tuple[ReleaseFile, ...]:
    """Return the files of the release that a draft becomes by the joined ``verdict``.

    ``proofs``: those that the join left; ``again``: a draft that was built elsewhere, and must be
    equal. Raises ProductFailure for anything that is not whole, equal and proven, and InputError
    for proofs of something else.
    """
    found = check_release(draft, draft=True)
    contents = expect_whole(found, draft)
    if again is not None:
        _expect_equal(found, draft, again)
    text = read_text(verdict, most_bytes=LARGEST_DOCUMENT, expected="a verdict")
    _expect_settled(contents, parse_verdict(text, source=str(verdict)), str(verdict))
    brought = clean_proofs(contents, None if proofs is None else load_proofs(proofs))
    waiting = ", ".join(add_proofs(contents, brought).unproven)
    if waiting:
        msg = f"{waiting}: there is no proof by these programs, so there is nothing to release"
        raise InputError(msg, hint="name the evidence.json next to that verdict with --proofs")
    payload = (
        ReleaseFile(path=path, source=draft / path, sha256=sha256)
        for path, sha256 in found.files.items()
        if path not in DOCUMENTS
    )
    return prove(contents, payload, brought, stages=found.stages, megtrim=found.megtrim)


def prove(
    contents: ReleaseContents,
    payload: Iterable[ReleaseFile],
    proofs: EvidenceSet,
    *,
    stages: Mapping[str, str],
    megtrim: str,
) -> tuple[ReleaseFile, ...]:
    """Return the files of a release: they follow from its draft and what devices proved."""
    proven = add_proofs(contents, proofs)
    added = [from_text(PROOFS_PATH, dump_set(proofs))] if proofs.entries else []
    return seal_files(proven, (*payload, *added), stages=stages, megtrim=megtrim)


def _expect_equal(found: ReleaseCheck, draft: Path, again: Path) -> None:
    other = check_release(again, draft=True)
    expect_whole(other, again)
    paths = sorted(found.files.keys() | other.files.keys())
    differ = [path for path in paths if found.files.get(path) != other.files.get(path)]
    if differ:
        listed = "\n".join(f"  {path}" for path in differ)
        msg = f"{again} was built from the same, and differs from {draft}:\n{listed}"
        raise ProductFailure(msg, hint="something enters the build that is not in its inputs")


def _expect_settled(contents: ReleaseContents, joined: Verdict, shown: str) -> None:
    """Refuse a verdict of another build, and one that leaves something open."""
    built = (contents.engine, contents.toolchain, contents.trim, contents.bindings)
    bindings = {each.id: each.binding for each in joined.scenarios}
    if built != (joined.engine, joined.toolchain, joined.trim, bindings):
        msg = f"{shown} is of another build than the draft of this release"
        raise InputError(msg, hint="join what devices brought with the results of its own build")
    if joined.verdict not in SETTLED:
        open_ = ", ".join(each.id for each in joined.checks if each.status is not CheckStatus.PASS)
        msg = f"{shown}: the verdict is {joined.verdict}, so there is nothing to release: {open_}"
        raise ProductFailure(msg, hint="the report says why; run device jobs again")
