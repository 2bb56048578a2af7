"""What of a result other stages depend on: what was found, and not how long it took or where.

So a result that is made again and says something else replaces whatever was reported before it.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from megtrim.chain.stage_result import dump_result
from megtrim.chain.store import StageFolder
from megtrim.util.errors import InfrastructureFailure, MegtrimError

MEASURED = frozenset({"time_s", "conditions", "crash", "log_tail", "day", "rebuilt"})
"""Fields of a result, at any depth, that differ where the same is done again: times, logs, what
a device was like, and what a tree had compiled before."""
_LOG = ".log"


def content_of(folder: StageFolder) -> str:
    files = {name: sha256 for name, sha256 in folder.files.items() if not name.endswith(_LOG)}
    return _digest([_facts(dump_result(folder.result)), files])


def failure_content(failure: MegtrimError) -> str:
    attempts = failure.attempts if isinstance(failure, InfrastructureFailure) else ()
    return _digest([failure.exit_code, str(failure), *attempts])


def _facts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _facts(each) for key, each in value.items() if key not in MEASURED}
    return [_facts(each) for each in value] if isinstance(value, list) else value


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
