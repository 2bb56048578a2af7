from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.build.engines.sample import SampleEngine, find_embedded_source
from megtrim.chain.session import Session
from megtrim.regions.header import Scopes
from megtrim.trim.stages import header
from megtrim.util.process import ProcessRunner
from unit.trim.stages.support import changed, keep_set, open_session


@pytest.fixture
def session(tmp_path: Path, processes: ProcessRunner) -> Session:
    engine = SampleEngine(find_embedded_source(), processes)
    return changed(open_session(tmp_path)[0], engine=engine)


def layout(session: Session, name: str) -> Session:
    config = session.request.config
    trim = config.trim.model_copy(update={"layout": name})
    loaded = replace(session.request.loaded, config=config.model_copy(update={"trim": trim}))
    return changed(session, loaded=loaded)


def test_scoped_facts_have_files_of_their_own(session: Session) -> None:
    scoped = layout(session, "scoped")
    one = header.files(keep_set(1), scoped)
    two = header.files(keep_set(1, 2), scoped)

    assert header.scopes(scoped) == session.services.engine.scopes()
    assert len(one) > 20
    assert one.keys() == two.keys()


def test_the_upstream_layout_is_one_header(session: Session) -> None:
    upstream = layout(session, "upstream")
    files = header.files(keep_set(1, 2), upstream)

    assert header.scopes(upstream) == Scopes()
    assert len(files) < len(header.files(keep_set(1, 2), layout(session, "scoped")))
    assert any("kern" in text for text in files.values())
    assert files != header.files(keep_set(1), upstream)
