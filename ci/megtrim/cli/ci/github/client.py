"""From a job's environment to the event it runs for and the API it may ask."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from megtrim.github.api import Api
from megtrim.github.event import Event, read_event
from megtrim.github.log_text import one_line
from megtrim.util.errors import InputError

_TAGS = "refs/tags/"


def open_event(env: Mapping[str, str]) -> Event:
    """Return the event of this job; an InputError names what is missing or malformed."""
    return read_event(env)


def open_api(env: Mapping[str, str], event: Event) -> Api:
    """Return the API of the event's server, asked with the token in GITHUB_TOKEN."""
    token = env.get("GITHUB_TOKEN", "").strip()
    return Api(event.api_url, token, user_agent=f"megtrim/{version('megtrim')}")


def expect_default_branch(event: Event) -> None:
    """Raise InputError for a run of anything else, which has no part in history and issues."""
    if not event.of_default_branch:
        msg = f"this run is for {one_line(event.ref, most=80)}, which is not the default branch"
        raise InputError(msg, hint="a night of another branch is measured and reported, no more")


def read_tag(event: Event) -> str:
    """Return the tag that this run is for. Raises InputError for a run of a branch."""
    if not event.ref.startswith(_TAGS):
        msg = f"this run is for {event.ref}, which is no tag"
        raise InputError(msg, hint="push a tag, or choose one where the workflow is started")
    return event.ref.removeprefix(_TAGS)
