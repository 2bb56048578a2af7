"""What a release must be: its draft with what devices proved, and what is built again for it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import FUNCTIONS, LINKED, Stage, keep_task
from megtrim.core.chain.session import Session
from megtrim.core.checks.statuses import CheckStatus, VerdictKind
from megtrim.core.evidence.evidence import EvidenceSet, load_proofs
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.verdict.model import Verdict, parse_verdict
from megtrim.libs.elf.symbol_table import read_linked, read_table
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.input_files import read_text
from megtrim.libs.util.json_text import LARGEST_DOCUMENT
from megtrim.libs.util.strict_json import dump
from megtrim.ship.crashes.program import TrimmedProgram, parse_left_out
from megtrim.ship.crashes.trimmed_programs import FinishedTrim, finish_trim, make_program
from megtrim.ship.release.archive import ReleaseFile, from_text, list_released, seal_files
from megtrim.ship.release.check import (
    ReleaseCheck,
    add_proofs,
    check_release,
    clean_proofs,
    expect_whole,
)
from megtrim.ship.release.collect import collect_parts, list_stage_keys
from megtrim.ship.release.contents import (
    KEEP_SET_PATH,
    PROOFS_PATH,
    SETTLED,
    SYMBOLS,
    ReleaseArtifact,
    ReleaseContents,
    locate_left_out,
)
from megtrim.ship.release.documents import CHECKSUMS_FILE, DOCUMENTS


def prove_release(
    draft: Path, verdict: Path, *, proofs: Path | None, again: Path | None
) -> tuple[ReleaseFile, ...]:
    """Return the release that a draft becomes by the joined ``verdict``.

    ``proofs``: those that the join left; ``again``: a draft that was built elsewhere, and must be
    equal. Raises ProductFailure for anything that is not whole, equal and proven, InputError for
    proofs of something else, and InfrastructureFailure if a device was away, so nothing is known.
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
        msg = f"{waiting}: there is no proof of these programs, so there is nothing to release"
        raise InputError(msg, hint="name the evidence.json next to that verdict with --proofs")
    released = list_released(draft, found.files)
    payload = (each for each in released if each.path not in DOCUMENTS)
    return prove(contents, payload, brought, stages=found.stages, megtrim=found.megtrim)


def prove(
    contents: ReleaseContents,
    payload: Iterable[ReleaseFile],
    proofs: EvidenceSet,
    *,
    stages: Mapping[str, str],
    megtrim: str,
) -> tuple[ReleaseFile, ...]:
    proven = add_proofs(contents, proofs)
    added = [from_text(PROOFS_PATH, dump(proofs))] if proofs.entries else []
    return seal_files(proven, (*payload, *added), stages=stages, megtrim=megtrim)


def _expect_equal(found: ReleaseCheck, draft: Path, again: Path) -> None:
    other = check_release(again, draft=True)
    expect_whole(other, again)
    paths = sorted(found.files.keys() | other.files.keys())
    differ = [path for path in paths if found.files.get(path) != other.files.get(path)]
    if differ:
        listed = "\n".join(f"  {path}" for path in differ)
        msg = f"{again} was built from the same inputs, but differs from {draft}:\n{listed}"
        raise ProductFailure(msg, hint="something affects the build that is not among its inputs")


def _expect_settled(contents: ReleaseContents, joined: Verdict, shown: str) -> None:
    built = (contents.engine, contents.toolchain, contents.trim, contents.bindings)
    bindings = {scenario.id: scenario.binding for scenario in joined.scenarios}
    if built != (joined.engine, joined.toolchain, joined.trim, bindings):
        msg = f"{shown} is from another build than the draft of this release"
        raise InputError(
            msg, hint="join the evidence of devices with the results of the build that they ran"
        )
    if joined.verdict not in SETTLED:
        open_ = ", ".join(each.id for each in joined.checks if each.status is not CheckStatus.PASS)
        msg = f"{shown}: the verdict is {joined.verdict}, so there is nothing to release: {open_}"
        hint = "the report shows why; run the device jobs again"
        if joined.verdict is VerdictKind.UNVERIFIED:
            raise InfrastructureFailure(msg, hint=hint)
        raise ProductFailure(msg, hint=hint)


def is_traced(found: ReleaseCheck) -> bool:
    """Tell whether scenarios ran to find what they use; a committed keep set says so itself."""
    made_anyway = (LINKED, FUNCTIONS)
    stages = {task.partition("/")[0] for task in found.stages if task not in made_anyway}
    return Stage.PROFILE in stages or Stage.FUNCTIONS in stages


def compare_rebuild(
    found: ReleaseCheck, session: Session, *, megtrim: str, by_other_device: bool
) -> tuple[str, ...]:
    """Return a line for each difference: first what the build is made from, then what it made.

    ``by_other_device``: one that was asked for ran the scenarios, so what the release says of its
    own stays.
    """
    assert found.contents is not None
    lines = list(compare_causes(found.contents, session))
    if found.megtrim != megtrim:
        lines.append(f"megtrim is another: {megtrim} here, {found.megtrim} in the release")
    lines += _compare_files(found, session, megtrim=megtrim, by_other_device=by_other_device)
    return tuple(lines)


def compare_causes(contents: ReleaseContents, session: Session) -> Iterator[str]:
    engine = contents.engine
    toolchain = session.services.toolchain
    here = session.services.engine.identity()
    if here.digest != engine.digest:
        ours, theirs = (e.commit[:12] or f"digest {e.digest[:12]}" for e in (here, engine))
        yield f"the source is another: {ours} here, {theirs} in the release"
    found, stated = (
        f"{each.kind} {each.version} for {each.target}" for each in (toolchain, contents.toolchain)
    )
    if found != stated:
        yield f"the toolchain is another: {found} here, {stated} in the release"
    if session.request.loaded.sha256 != contents.configuration_sha256:
        yield f"{session.request.loaded.path} is not the configuration of the release"
    kept = session.done[keep_task(session.config)].files[KEEP_SET_FILE]
    if kept != contents.keep_set_sha256:
        yield f"{session.config.keep_set} is not the keep set of the release"


def _compare_files(
    found: ReleaseCheck, session: Session, *, megtrim: str, by_other_device: bool
) -> Iterator[str]:
    released = found.contents
    assert released is not None
    left = any(scenario.on_devices is not None for scenario in released.scenarios)
    here, payload = collect_parts(session, draft=left)
    here = replace(here, patch=released.patch)
    if by_other_device:
        # What the release says of the devices that ran it there stays.
        theirs = {scenario.id: scenario for scenario in released.scenarios}
        scenarios = tuple(
            replace(scenario, device=ran.device, outputs=ran.outputs)
            if (ran := theirs.get(scenario.id))
            else scenario
            for scenario in here.scenarios
        )
        here = replace(here, devices=released.devices, scenarios=scenarios)
    proofs = clean_proofs(here, found.proofs)
    files = prove(here, payload, proofs, stages=list_stage_keys(session), megtrim=megtrim)
    built = {file.path: file.sha256 for file in files}
    stated = {**found.files, CHECKSUMS_FILE: found.sha256}
    for path in sorted(built.keys() | stated.keys()):
        if path not in built:
            yield f"{path} was not built"
        elif path not in stated:
            yield f"{path} was built, and is not in the release"
        elif built[path] != stated[path]:
            yield f"{path} has other bytes: its sha256 is {built[path]}, expected {stated[path]}"


def read_release(folder: Path, *, shown: str) -> FinishedTrim:
    """Raises ProductFailure for one that is not whole, InputError if nothing in it has symbols."""
    contents = expect_whole(check_release(folder, draft=True), Path(shown))
    return read_programs(folder, contents, shown=shown)


def read_programs(folder: Path, contents: ReleaseContents, *, shown: str) -> FinishedTrim:
    """Raises InputError if nothing in the release has symbols."""
    keep = read_keep_set(folder / KEEP_SET_PATH)
    crash_ids = contents.trim.crash_ids
    found = {
        each.name: _read_program(folder, each, keep, crash_ids=crash_ids)
        for each in contents.artifacts
    }
    return finish_trim(dict(sorted(found.items())), keep, shown=shown)


def _read_program(
    folder: Path, artifact: ReleaseArtifact, keep: KeepSet, *, crash_ids: bool | None
) -> TrimmedProgram | None:
    twin = folder / SYMBOLS / artifact.name
    if not twin.is_file():
        return None
    try:
        table = read_table(twin)
    except InputError:
        return None  # of a machine whose functions megtrim cannot read
    shipped = read_linked(folder / artifact.path)
    path = locate_left_out(artifact.name)
    left_out: tuple[str, ...] = ()
    if (folder / path).is_file():
        text = read_text(
            folder / path, most_bytes=LARGEST_DOCUMENT, expected="a part of a release", shown=path
        )
        left_out, _ = parse_left_out(text, source=path)
    return make_program(artifact.name, shipped, table, left_out, keep, crash_ids=crash_ids)
