"""The history on a branch, with a real git and a bare repository as its remote."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from megtrim.libs.history.branch import DataBranch
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.times.nights.history import RUN_FILES
from support.history_entries import make_run
from support.source_forge import GIT_ENV

pytestmark = pytest.mark.chain

PROCESSES = ProcessRunner(GIT_ENV)
BRANCH = "perf-history"


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    PROCESSES.capture("git", "init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    return tmp_path / "remote.git"


def open_branch(folder: Path, remote: Path) -> DataBranch:
    PROCESSES.capture("git", "init", "--quiet", str(folder))
    PROCESSES.capture("git", "-C", str(folder), "remote", "add", "origin", str(remote))
    return DataBranch(PROCESSES, folder, BRANCH)


@pytest.fixture
def branch(tmp_path: Path, remote: Path) -> DataBranch:
    return open_branch(tmp_path / "a", remote)


def git(folder: Path, *arguments: str) -> str:
    return PROCESSES.capture("git", "-C", str(folder), *arguments).strip()


def test_the_first_run_makes_the_branch(branch: DataBranch, tmp_path: Path, remote: Path) -> None:
    first = make_run(0)
    second = make_run(1)

    branch.append([first])
    open_branch(tmp_path / "b", remote).append([second])

    other = open_branch(tmp_path / "c", remote)
    assert other.read(RUN_FILES).entries == (first, second)
    assert other.read(RUN_FILES, date(2026, 1, 2)).entries == (second,)


def test_eight_writers_at_once_lose_nothing(tmp_path: Path, remote: Path) -> None:
    writers = [open_branch(tmp_path / f"writer-{number}", remote) for number in range(8)]
    runs = [make_run(night, job=f"{night}/1") for night in range(8)]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: writers[number].append([runs[number]]), range(8)))

    found = open_branch(tmp_path / "reader", remote).read(RUN_FILES)
    assert found.entries == tuple(runs)
    assert found.unreadable == ()
    assert git(remote, "rev-list", "--count", BRANCH) == "8"


def test_writers_in_one_checkout_do_not_collide(branch: DataBranch, tmp_path: Path) -> None:
    runs = [make_run(night) for night in range(4)]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda run: branch.append([run]), runs))

    assert branch.read(RUN_FILES).entries == tuple(runs)
    assert git(tmp_path / "a", "for-each-ref", "refs/heads") == ""
    assert git(tmp_path / "a", "status", "--porcelain") == ""


def test_a_run_that_is_there_adds_no_commit(branch: DataBranch) -> None:
    assert branch.append([make_run(0)]) == branch.append([make_run(0)])


def test_a_hook_of_the_checkout_does_not_run(branch: DataBranch, tmp_path: Path) -> None:
    """A pre-push hook would be code of the project in the job that may write."""
    hook = tmp_path / "a/.git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)

    branch.append([make_run(0)])

    assert not (tmp_path / "ran").exists()


def test_what_others_left_on_the_branch_costs_itself_alone(
    branch: DataBranch, tmp_path: Path, remote: Path
) -> None:
    good = make_run(0)
    bad = make_run(1)
    link = make_run(2)
    branch.append([good])
    git(tmp_path / "a", "fetch", "--quiet", "origin", BRANCH)
    git(tmp_path / "a", "checkout", "--quiet", "-B", BRANCH, "FETCH_HEAD")
    (tmp_path / "a" / bad.path).write_text('{\n "version": 1,,\n}\n', encoding="utf-8")
    (tmp_path / "a" / link.path).symlink_to("/etc/passwd")
    (tmp_path / "a" / "README.md").write_text("The history.\n", encoding="utf-8")
    git(tmp_path / "a", "add", ".")
    git(tmp_path / "a", "commit", "--quiet", "-m", "Damage it")
    git(tmp_path / "a", "push", "--quiet", "origin", BRANCH)

    open_branch(tmp_path / "b", remote).append([make_run(3)])
    found = open_branch(tmp_path / "c", remote).read(RUN_FILES)

    assert found.entries == (good, make_run(3))
    assert [each.path for each in found.unreadable] == [bad.path, link.path]
    assert f"{bad.path}:2:" in found.unreadable[0].message
    assert "mode 120000" in found.unreadable[1].message
    assert "README.md" in git(remote, "ls-tree", "--name-only", BRANCH)


def test_a_missing_remote_is_infrastructure_and_a_missing_branch_input(
    branch: DataBranch, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="no branch perf-history"):
        branch.read(RUN_FILES)
    with pytest.raises(InfrastructureFailure, match="git ls-remote failed"):
        open_branch(tmp_path / "b", tmp_path / "nowhere.git").append([make_run(0)])


def test_a_remote_that_refuses_is_not_asked_again(tmp_path: Path, remote: Path) -> None:
    hook = remote / "hooks/pre-receive"
    words = "GH006: Protected branch update failed.\\n\\n\\033[31mpush a pull request"
    hook.write_text(f"#!/bin/sh\nprintf '{words}\\n'\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    pauses: list[float] = []
    PROCESSES.capture("git", "init", "--quiet", str(tmp_path / "a"))
    branch = DataBranch(PROCESSES, tmp_path / "a", BRANCH, remote=str(remote), sleep=pauses.append)

    with pytest.raises(InfrastructureFailure, match="git push failed") as failure:
        branch.append([make_run(0)])
    assert pauses == []
    assert failure.value.message.endswith(
        ": GH006: Protected branch update failed.;  [31mpush a pull request; "
        "pre-receive hook declined"
    )


def test_a_branch_whose_name_only_ends_so_is_another(branch: DataBranch, remote: Path) -> None:
    commit = branch.append([make_run(0)])
    git(remote, "update-ref", f"refs/heads/a/refs/heads/{BRANCH}", commit)

    branch.append([make_run(1)])

    assert branch.read(RUN_FILES).entries == (make_run(0), make_run(1))


def test_a_header_goes_with_every_request(tmp_path: Path) -> None:
    """A job's token, which is on no command line and in no file, nor in what is printed."""
    PROCESSES.capture("git", "init", "--quiet", str(tmp_path / "a"))
    header = "Authorization: basic c2VjcmV0"
    with HTTPServer() as server:
        branch = DataBranch(
            PROCESSES, tmp_path / "a", BRANCH, remote=server.url_for("/acme/phone"), header=header
        )
        with pytest.raises(InfrastructureFailure, match="git ls-remote failed") as raised:
            branch.append([make_run(0)])
        requests = [request for request, _ in server.log]

    assert [each.headers["Authorization"] for each in requests] == ["basic c2VjcmV0"]
    assert "c2VjcmV0" not in str(raised.value)
    assert "c2VjcmV0" not in (tmp_path / "a/.git/config").read_text(encoding="utf-8")
