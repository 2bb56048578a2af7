"""What runs stored; whom they belong to is tried in test_find.py, with what a verdict does."""

from __future__ import annotations

from megtrim.github.baselines.stored import Home, StoredBaselines
from support.github_double import GithubDouble
from unit.github.support import asking


def test_artifacts_are_listed_newest_first(github: GithubDouble) -> None:
    """Those that expired are left out, and those of another name."""
    repository = github.repository("acme/phone")
    run = repository.run(repository.commit({"a": "1"}, branch="main"))
    old = repository.artifact(run, {"a": "1"}, days_ago=2)
    new = repository.artifact(run, {"a": "1"}, days_ago=1)
    repository.artifact(run, {"a": "1"}, expired=True)
    repository.artifact(run, {"a": "1"}, name="megtrim-report")
    home = Home(repository="acme/phone", repository_id=repository.id, default_branch="main")

    found = StoredBaselines(asking(github.url).api, home).list_artifacts("megtrim-baseline")

    assert [each.id for each in found] == [new, old]
