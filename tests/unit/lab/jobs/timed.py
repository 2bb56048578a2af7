"""A session whose times devices are to take."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from megtrim.core.chain.session import Session
from megtrim.engines.load_and_run.dialects import LITE
from megtrim.engines.load_and_run.program import LoadAndRun
from unit.core.trim.stages.built import CONFIG, built
from unit.core.trim.stages.support import changed

DIGEST = "e" * 64
PERF = (
    CONFIG
    + "perf: {experiments: [fast-run-cache], budget: {rounds: 12}, threshold: 2%, "
    + "other_load: any}\n"
)


def timed(folder: Path, config: str = PERF, **changes: Any) -> Session:
    identity = SimpleNamespace(generation=20220507, digest=DIGEST)
    engine = SimpleNamespace(identity=lambda: identity, flags=LoadAndRun(dialect=LITE), kept=())
    return changed(built(folder, config=config, **changes), engine=cast("Any", engine))
