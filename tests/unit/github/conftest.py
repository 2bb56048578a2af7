"""GitHub on a socket."""

from collections.abc import Iterator

import pytest

from support.github_double import GithubDouble


@pytest.fixture
def github() -> Iterator[GithubDouble]:
    with GithubDouble() as double:
        yield double
        double.check()
