from __future__ import annotations

import io
from pathlib import Path

from megtrim.build.engines.sample import SampleEngine, find_embedded_source
from megtrim.chain.graph import Stage, Task
from megtrim.chain.session import Session
from megtrim.chain.store import StageFolder
from megtrim.regions.keepset import KeepSet
from megtrim.trim.committed_keepset import write_committed
from megtrim.trim.results import HeaderResult
from megtrim.trim.stages import header
from megtrim.util.process import ProcessRunner
from unit.trim.stages.support import changed, open_session

HEADER_TASK = Task(stage=Stage.HEADER, name="keepset", needs=())


def open_committed(tmp_path: Path, processes: ProcessRunner) -> tuple[Session, io.StringIO]:
    opened, console = open_session(tmp_path)
    engine = SampleEngine(find_embedded_source(), processes)
    return changed(opened, committed=True, engine=engine), console


def commit(session: Session, keep: KeepSet) -> Path:
    path = session.request.path(session.request.config.keep_set)
    write_committed(path, keep)
    return path


def make_header(session: Session) -> StageFolder:
    named = header.inputs(HEADER_TASK, session)
    return session.services.store.ensure(
        "header",
        "keepset",
        named,
        lambda folder: header.work(HEADER_TASK, session, folder),
        HeaderResult,
    )[0]
