"""A release is compared with what was built again: causes first, then bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.packaging.rebuild import compare_rebuild
from megtrim.pipeline.session import Session
from megtrim.plan.graph import HEADER, REDUCED
from megtrim.release.contents import ReleaseContents
from megtrim.verdict.model import EngineIdentity
from unit.release.examples import LIBRARY, MODELS, PROGRAM, contents, keep_set
from unit.stages.built import built, finish
from unit.stages.support import changed
from unit.verdict.examples import passing

BUILT = {"bin/load_and_run": PROGRAM, "bin/libengine.so": LIBRARY}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Return a session in which the release was built again."""
    return make_session(tmp_path, contents().engine, BUILT)


def make_session(folder: Path, engine: EngineIdentity, programs: dict[str, str]) -> Session:
    made = built(folder)
    found = contents().toolchain
    toolchain = SimpleNamespace(kind=found.kind, target=found.target, version=found.version)
    made = changed(
        made,
        engine=cast("Any", SimpleNamespace(identity=lambda: engine)),
        toolchain=cast("Any", toolchain),
    )
    finish(made, HEADER, {"keepset.json": keep_set(passing(), models=MODELS)})
    finish(made, REDUCED, programs)
    return made


def released(session: Session, **changes: Any) -> ReleaseContents:
    """Return what a release by the session's configuration says, with ``changes``."""
    said = replace(contents(), configuration_sha256=session.request.loaded.sha256)
    return replace(said, **changes)


def test_equal_bytes_are_no_difference(session: Session) -> None:
    """Of all files, from the same causes."""
    assert compare_rebuild(released(session), session) == ()


def test_other_bytes_are_named(tmp_path: Path) -> None:
    """And what was not built at all."""
    session = make_session(tmp_path, contents().engine, {"bin/load_and_run": "other\n"})
    program, library = sorted(compare_rebuild(released(session), session))

    assert program.startswith("bin/load_and_run has other bytes: its sha256 is ")
    assert library == "lib/libengine.so was not built"


def test_another_engine_is_named(tmp_path: Path) -> None:
    """By commit, or by digest where there is none."""
    other = replace(contents().engine, digest="e" * 64, commit="")
    session = make_session(tmp_path, other, BUILT)

    assert compare_rebuild(released(session), session) == (
        "the engine is another: digest eeeeeeeeeeee here, c2f1e0b6a3d9 in the release",
    )


def test_another_toolchain_is_named(session: Session) -> None:
    """By what identifies a compiler."""
    other = replace(contents().toolchain, version="clang 15.0.0")
    (line,) = compare_rebuild(released(session, toolchain=other), session)

    assert line.startswith("the toolchain is another: clang-linux-arm64 clang 14.0.6 for aarch")


def test_another_configuration_and_keep_set_are_named(session: Session) -> None:
    """Each by its path."""
    changes = {"configuration_sha256": "0" * 64, "keep_set_sha256": "0" * 64}
    configuration, kept = compare_rebuild(released(session, **changes), session)

    assert configuration.endswith("megtrim.yaml is not the configuration of the release")
    assert kept.endswith("is not the keep set of the release")
