"""GitHub on a socket."""

from collections.abc import Iterator

import pytest

from support.github_double import GithubDouble
from support.github_state import Repository


@pytest.fixture
def github() -> Iterator[GithubDouble]:
    with GithubDouble() as double:
        yield double
        double.check()


@pytest.fixture
def repository(github: GithubDouble) -> Repository:
    return github.repository("acme/phone")
