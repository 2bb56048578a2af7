"""From a job's environment to the event it runs for and the API it may ask."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from megtrim.github.api import Api
from megtrim.github.event import Event, read_event


def open_event(env: Mapping[str, str]) -> Event:
    """Return the event of this job; an InputError names what is missing or malformed."""
    return read_event(env)


def open_api(env: Mapping[str, str], event: Event) -> Api:
    """Return the API of the event's server, asked with the token in GITHUB_TOKEN."""
    token = env.get("GITHUB_TOKEN", "").strip()
    return Api(event.api_url, token, user_agent=f"megtrim/{version('megtrim')}")
