"""What verbs of a job read: the API of its event, a report's verdict, the history in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from megtrim.core.chain.filenames import VERDICT_FILE
from megtrim.core.cli.environment import open_processes
from megtrim.hosting.github.api import Api
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_text
from megtrim.libs.util.json_text import LARGEST_DOCUMENT
from megtrim.libs.util.wording import one_line
from megtrim.places.github_event import Event, read_event

if TYPE_CHECKING:
    from megtrim.core.verdict.model import Verdict
    from megtrim.times.nights.history import HistoryRun

_TAGS = "refs/tags/"


def open_api(env: Mapping[str, str], event: Event) -> Api:
    token = env.get("GITHUB_TOKEN", "").strip()
    return Api(event.api_url, token, user_agent=f"megtrim/{version('megtrim')}")


def open_job() -> tuple[Mapping[str, str], Event, Api]:
    env = open_processes().env
    event = read_event(env)
    return env, event, open_api(env, event)


def expect_default_branch(event: Event) -> None:
    if not event.of_default_branch:
        msg = f"this run is for {one_line(event.ref, most=80)}, which is not the default branch"
        raise InputError(msg, hint="nights of other branches are only measured and reported")


def read_tag(event: Event) -> str:
    if not event.ref.startswith(_TAGS):
        msg = f"this run is for {event.ref}, which is not a tag"
        raise InputError(msg, hint="push a tag, or choose one where the workflow is started")
    return event.ref.removeprefix(_TAGS)


def read_runs(history: Path) -> tuple[HistoryRun, ...]:
    from megtrim.core.cli.clock import read_now
    from megtrim.core.cli.history_selector import warn_unreadable
    from megtrim.libs.history.folder import read_folder
    from megtrim.times.nights.history import RUN_FILES

    if not history.is_dir():
        return ()
    found = read_folder(history, RUN_FILES).until(read_now())
    warn_unreadable(found)
    return found.entries


def read_verdict(report: Path) -> Verdict:
    from megtrim.core.verdict.model import parse_verdict

    path = report / VERDICT_FILE
    hint = "name the folder of a report, with a verdict.json"
    text = read_text(path, most_bytes=LARGEST_DOCUMENT, expected="a verdict", hint=hint)
    return parse_verdict(text, source=str(path))
