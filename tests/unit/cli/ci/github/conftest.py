"""A job whose GitHub is a server of the test."""

from collections.abc import Iterator

import pytest

from support.github_double import GithubDouble
from unit.cli.ci.github.job import Job, set_variables
from unit.cli.support import Shell


@pytest.fixture
def job(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    with GithubDouble() as github:
        repository = github.repository("acme/phone", workflows={"megtrim.yml": {"pull-request"}})
        base = repository.commit({"a": "1"}, branch="main")
        head = repository.commit({"a": "2"}, parents=[base], branch="feature")
        reported = Job(shell, github, repository, base, head, monkeypatch)
        ends = {
            "head": {"sha": head, "ref": "feature", "repo": repository.brief()},
            "base": {"sha": base, "ref": "main", "repo": repository.brief()},
        }
        set_variables(monkeypatch, github, shell.folder, SHA=head, REF="refs/pull/7/merge")
        content = {"pull_request": {"number": 7, **ends}, "repository": repository.brief()}
        reported.event("pull_request", content)
        yield reported
        github.check()
