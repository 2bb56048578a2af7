"""Names of branches; the branch itself is tested with a real git in tests/integration."""

from pathlib import Path

import pytest

from megtrim.history.branch import DataBranch, is_branch_name
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner


@pytest.mark.parametrize("name", ["perf-history", "data/perf", "v1.2_x"])
def test_plain_names_are_taken(name: str) -> None:
    assert is_branch_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "-f", "--upload-pack=x", "a..b", "a b", "a:b", "+a", "a/", "/a", "a.lock", "a\n", "HEAD"],
)
def test_odd_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="branch"):
        DataBranch(ProcessRunner({}), Path(), name)


@pytest.mark.parametrize("remote", ["", "--upload-pack=x", "a\nb"])
def test_odd_remotes_are_refused(remote: str) -> None:
    """An option in a remote's place would run a program."""
    with pytest.raises(InputError, match="remote"):
        DataBranch(ProcessRunner({}), Path(), "perf-history", remote=remote)
