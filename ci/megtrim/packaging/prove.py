"""From a draft and what devices found to the release: the same files, and documents that say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from megtrim.errors import InputError, ProductFailure
from megtrim.evidence.evidence import EvidenceSet, dump_set, load_proofs
from megtrim.input_files import read_text
from megtrim.json_text import LARGEST_DOCUMENT
from megtrim.packaging.check import (
    ReleaseCheck,
    check_release,
    expect_whole,
    list_without_proof,
)
from megtrim.packaging.files import ReleaseFile, from_text
from megtrim.release.contents import PROOFS_PATH, ReleaseContents, add_proofs, hide_machine
from megtrim.release.documents import DOCUMENTS, seal
from megtrim.release.statement import STATEMENT_FILE, parse_statement
from megtrim.verdict.model import VerdictKind, parse_verdict


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
    joined = parse_verdict(text, source=str(verdict))
    proven = add_proofs(contents, joined, source=str(verdict))
    brought = EvidenceSet(entries=()) if proofs is None else _without_times(load_proofs(proofs))
    _expect_proven(proven, brought, str(verdict))
    payload = [*_list_payload(draft, found)]
    if proofs is not None:
        payload.append(from_text(PROOFS_PATH, dump_set(brought)))
    stated = parse_statement(
        (draft / STATEMENT_FILE).read_text(encoding="utf-8"), source=STATEMENT_FILE
    )
    digests = {each.path: each.sha256 for each in payload}
    texts = seal(proven, digests, stages=stated.stages, megtrim=stated.megtrim)
    return (*payload, *(from_text(path, text) for path, text in texts.items()))


def _list_payload(draft: Path, found: ReleaseCheck) -> Iterator[ReleaseFile]:
    for path, sha256 in found.files.items():
        if path not in DOCUMENTS:
            yield ReleaseFile(path=path, source=draft / path, sha256=sha256)


def _without_times(proofs: EvidenceSet) -> EvidenceSet:
    """Leave out what is another each time, and whose machine it was.

    A release that is proven again stays the same.
    """
    entries = (
        replace(
            evidence,
            device=hide_machine(evidence.device),
            results=tuple(
                replace(each, time_s=0.0, conditions=None, log_tail="", crash="")
                for each in evidence.results
            ),
        )
        for evidence in proofs.entries
    )
    return EvidenceSet(entries=tuple(entries))


def _expect_equal(found: ReleaseCheck, draft: Path, again: Path) -> None:
    other = check_release(again, draft=True)
    expect_whole(other, again)
    paths = sorted(found.files.keys() | other.files.keys())
    differ = [path for path in paths if found.files.get(path) != other.files.get(path)]
    if differ:
        listed = "\n".join(f"  {path}" for path in differ)
        msg = f"{again} was built from the same, and differs from {draft}:\n{listed}"
        raise ProductFailure(msg, hint="something enters the build that is not in its inputs")


def _expect_proven(contents: ReleaseContents, brought: EvidenceSet, shown: str) -> None:
    if contents.verdict is VerdictKind.FAIL:
        msg = f"{shown}: the verdict is {contents.verdict}, so there is nothing to release"
        raise ProductFailure(msg, hint="the report says why")
    if contents.unproven:
        listed = ", ".join(contents.unproven)
        msg = f"{shown}: {listed}: not proven, so there is nothing to release"
        raise ProductFailure(msg, hint="run the device jobs again")
    missing = ", ".join(list_without_proof(contents, brought.entries))
    if missing:
        msg = f"{missing}: there is no proof by these programs, so there is nothing to release"
        raise InputError(msg, hint="name the evidence.json next to that verdict with --proofs")
