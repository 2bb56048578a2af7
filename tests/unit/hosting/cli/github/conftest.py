"""A job whose GitHub is a server of the test."""

from collections.abc import Iterator

import pytest

from unit.core.cli.support import Shell
from unit.hosting.cli.github.job import Job, open_job


@pytest.fixture
def job(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    with open_job(shell, monkeypatch) as job:
        repository = job.repository
        ends = {
            "head": {"sha": job.head, "ref": "feature", "repo": repository.brief()},
            "base": {"sha": job.base, "ref": "main", "repo": repository.brief()},
        }
        content = {"pull_request": {"number": 7, **ends}, "repository": repository.brief()}
        job.event("pull_request", content, SHA=job.head, REF="refs/pull/7/merge")
        yield job
