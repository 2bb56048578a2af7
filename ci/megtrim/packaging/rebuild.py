"""Compares a release with what was built again for it: the same causes, and the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.build_spec import EngineIdentity
from megtrim.pipeline.filenames import KEEP_SET_FILE
from megtrim.pipeline.session import Session
from megtrim.plan.graph import REDUCED, keep_task
from megtrim.release.contents import ReleaseContents


def compare_rebuild(contents: ReleaseContents, session: Session) -> tuple[str, ...]:
    """Return a line for each difference: first what the build is made from, then what it made."""
    return (*_compare_causes(contents, session), *_compare_programs(contents, session))


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


def _compare_programs(contents: ReleaseContents, session: Session) -> Iterator[str]:
    built = session.results.done[REDUCED].files
    for each in contents.artifacts:
        sha256 = built.get(f"bin/{each.name}")
        if sha256 is None:
            yield f"{each.path} was not built"
        elif sha256 != each.sha256:
            yield f"{each.path} has other bytes: its sha256 is {sha256}, expected {each.sha256}"


def _name(engine: EngineIdentity) -> str:
    return engine.commit[:12] or f"digest {engine.digest[:12]}"
