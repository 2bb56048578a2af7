"""What runs stored; whom they belong to is tried in test_find.py, with what a verdict does."""

from __future__ import annotations

import pytest

from megtrim.errors import InfrastructureFailure
from megtrim.github.baselines.stored import Home, StoredBaselines, fetch_home
from support.github_double import GithubDouble
from unit.github.support import asking


def test_a_repository_is_found_by_its_name(github: GithubDouble) -> None:
    """Its number is what runs are held against."""
    repository = github.repository("acme/phone")

    assert fetch_home(asking(github.url).api, "acme/phone") == Home(
        repository="acme/phone", repository_id=repository.id, default_branch="main"
    )


def test_a_repository_that_is_not_there_is_a_failure(github: GithubDouble) -> None:
    """Or one that the token may not see."""
    with pytest.raises(InfrastructureFailure, match="404"):
        fetch_home(asking(github.url).api, "acme/nowhere")


def test_artifacts_are_listed_newest_first(github: GithubDouble) -> None:
    """Those that expired, too; of another name, none."""
    repository = github.repository("acme/phone")
    run = repository.run(repository.commit({"a": "1"}, branch="main"))
    old = repository.artifact(run, {"a": "1"}, days_ago=2)
    new = repository.artifact(run, {"a": "1"}, days_ago=1, expired=True)
    repository.artifact(run, {"a": "1"}, name="megtrim-report")
    api = asking(github.url).api

    found = StoredBaselines(api, fetch_home(api, "acme/phone")).list_artifacts("megtrim-baseline")

    assert [(each.id, each.expired) for each in found] == [(new, True), (old, False)]
