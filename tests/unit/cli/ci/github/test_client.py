"""From a job's environment to the event it runs for and the API it may ask."""

from __future__ import annotations

import os

import pytest

from megtrim.cli.ci.github.client import open_api
from megtrim.github.api import Forbidden
from megtrim.github.event import read_event
from megtrim.util.errors import InputError
from unit.cli.ci.github.job import Job


def test_the_event_is_that_of_the_job(job: Job) -> None:
    """Outside of a job, what is missing is named."""
    event = read_event(os.environ)

    assert event.api_url == job.github.url
    with pytest.raises(InputError, match="GITHUB_"):
        read_event({})


def test_the_api_is_asked_with_the_jobs_token(job: Job) -> None:
    """As it was pasted into a secret, with a line end; without it GitHub refuses."""
    event = read_event(os.environ)
    path = f"/repos/acme/phone/git/commits/{job.base}"
    api = open_api({"GITHUB_TOKEN": f" {job.github.token}\n"}, event)

    assert api.get(path)["sha"] == job.base
    with pytest.raises(Forbidden):
        open_api({"GITHUB_TOKEN": "other"}, event).get(path)
