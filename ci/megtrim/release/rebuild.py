"""Compares a release with what was built again for it: the same causes, and the same bytes.

Every file that the rebuild would release is compared, and there may be no other. What devices
elsewhere proved is no result of a build: what follows from it is made again from the draft that was
built here and the proofs of the release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from megtrim.build_spec import EngineIdentity
from megtrim.pipeline.filenames import KEEP_SET_FILE
from megtrim.pipeline.session import Session
from megtrim.plan.graph import Stage, keep_task
from megtrim.release.check import ReleaseCheck
from megtrim.release.checksums import CHECKSUMS_FILE
from megtrim.release.collect import collect_parts, list_stage_keys
from megtrim.release.contents import ReleaseContents
from megtrim.release.proofs import clean_proofs
from megtrim.release.prove import prove


def is_traced(found: ReleaseCheck) -> bool:
    """Tell whether a release was built by new traces, and not by the committed keep set."""
    return any(task.startswith(f"{Stage.PROFILE}/") for task in found.stages)


def compare_rebuild(
    found: ReleaseCheck, session: Session, *, megtrim: str, by_other_device: bool
) -> tuple[str, ...]:
    """Return a line for each difference: first what the build is made from, then what it made.

    ``megtrim``: the version that built it here. ``by_other_device``: one that was asked for ran the
    scenarios, so what the release says of its own stays.
    """
    assert found.contents is not None
    causes = _compare_causes(found.contents, session)
    said = () if found.megtrim == megtrim else (found.megtrim,)
    versions = (f"megtrim is another: {megtrim} here, {each} in the release" for each in said)
    files = _compare_files(found, session, megtrim=megtrim, by_other_device=by_other_device)
    return (*causes, *versions, *files)


def _compare_causes(contents: ReleaseContents, session: Session) -> Iterator[str]:
    """Say what is another than in the release; then other bytes are no wonder."""
    engine, toolchain = contents.engine, session.services.toolchain
    here = session.services.engine.identity()
    if here.digest != engine.digest:
        ours, theirs = (_name(each) for each in (here, engine))
        yield f"the engine is another: {ours} here, {theirs} in the release"
    found, stated = (
        f"{each.kind} {each.version} for {each.target}" for each in (toolchain, contents.toolchain)
    )
    if found != stated:
        yield f"the toolchain is another: {found} here, {stated} in the release"
    if session.request.loaded.sha256 != contents.configuration_sha256:
        yield f"{session.request.loaded.path} is not the configuration of the release"
    kept = session.results.done[keep_task(session.request.config)].files[KEEP_SET_FILE]
    if kept != contents.keep_set_sha256:
        yield f"{session.request.config.keep_set} is not the keep set of the release"


def _compare_files(
    found: ReleaseCheck, session: Session, *, megtrim: str, by_other_device: bool
) -> Iterator[str]:
    released = found.contents
    assert released is not None
    left = any(each.on_devices is not None for each in released.scenarios)
    here, payload = collect_parts(session, draft=left)
    if by_other_device:
        here = _with_devices_of(released, here)
    proofs = clean_proofs(here, found.proofs)
    files = prove(here, payload, proofs, stages=list_stage_keys(session), megtrim=megtrim)
    built = {each.path: each.sha256 for each in files}
    stated = {**found.files, CHECKSUMS_FILE: found.sha256}
    for path in sorted(built.keys() | stated.keys()):
        if path not in built:
            yield f"{path} was not built"
        elif path not in stated:
            yield f"{path} was built, and is not in the release"
        elif built[path] != stated[path]:
            yield f"{path} has other bytes: its sha256 is {built[path]}, expected {stated[path]}"


def _with_devices_of(released: ReleaseContents, here: ReleaseContents) -> ReleaseContents:
    """Return what was built here, with what the release says of the devices that ran it there."""
    theirs = {each.id: each for each in released.scenarios}
    scenarios = tuple(
        replace(each, device=theirs[each.id].device, outputs=theirs[each.id].outputs)
        if each.id in theirs
        else each
        for each in here.scenarios
    )
    return replace(here, devices=released.devices, scenarios=scenarios)


def _name(engine: EngineIdentity) -> str:
    return engine.commit[:12] or f"digest {engine.digest[:12]}"
