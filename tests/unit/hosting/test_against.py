"""Baselines that are lost, wrong or another's: none is measured against without a word."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from megtrim.core.build_spec import Origin
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.revision import Revision
from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.hosting.against import ask_github
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from support.github_double import GithubDouble
from unit.core.cli.session.commits import CONFIG, FILES, KEY, Team, write
from unit.hosting.github.support import TOKEN
from unit.hosting.github.test_baselines import SIZES, team
from unit.hosting.github.test_baselines import Team as GithubTeam

__all__ = ["team"]

ORIGIN = Origin(project="app", config="megtrim.yaml")
BASELINE = "baseline: sizes.json\n"


def sizes(size_bytes: int, *, quick: bool = False) -> str:
    return dump_sizes(Baseline(sizes={KEY: size_bytes}, quick=quick))


@pytest.fixture
def github() -> Iterator[GithubDouble]:
    with GithubDouble() as double:
        yield double


class Project(Team):
    def commit_sizes(self, size_bytes: int, *, quick: bool = False) -> str:
        write(self.folder / "sizes.json", sizes(size_bytes, quick=quick))
        return self.commit("add", "--all")


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = Project(tmp_path_factory.mktemp("made") / "app")
    project.start({**FILES, "megtrim.yaml": CONFIG + BASELINE, "sizes.json": sizes(100)})
    project.git("tag", "v1")
    project.git("checkout", "--quiet", "-b", "mine")
    project.commit()
    project.git("checkout", "--quiet", "main")
    project.commit_sizes(50)
    project.git("checkout", "--quiet", "mine")
    return project.folder


@pytest.fixture
def project(made: Path, tmp_path: Path) -> Project:
    """Its branch ``mine`` left main, which then went on."""
    return Project(shutil.copytree(made, tmp_path / "app"))


def test_a_branch_counts_as_where_this_one_left_it(project: Project) -> None:
    first = project.git("rev-parse", "v1")

    source, size_bytes = project.find("main")
    assert (source, size_bytes) == (f"main at {first[:12]}, its merge base, its sizes.json", 100)
    assert any("main has gone on by 1 commit since" in line for line in project.said)


def test_a_tag_or_a_commit_counts_as_it_is(project: Project) -> None:
    first = project.git("rev-parse", "v1")
    tip = project.git("rev-parse", "main")

    assert project.find("v1") == (f"v1 at {first[:12]}, its sizes.json", 100)
    assert project.find(first[:9]) == (f"{first[:9]}, its sizes.json", 100)
    assert project.said == []
    assert project.find(tip)[1] == 50
    assert any("has 1 commit that this branch has not" in line for line in project.said)


def fetch(project: Project) -> None:
    project.git("fetch", "--quiet", ".", "main")


def track(project: Project) -> None:
    project.git("update-ref", "refs/remotes/origin/main", "main")
    project.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    project.git("config", "remote.origin.url", "../x")
    project.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    project.git("config", "branch.mine.remote", "origin")
    project.git("config", "branch.mine.merge", "refs/heads/main")


def track_alone(project: Project) -> None:
    track(project)
    project.git("branch", "--move", "main", "trunk")


def detach(project: Project) -> None:
    project.git("checkout", "--quiet", "--detach")


def slash(project: Project) -> None:
    project.git("branch", "--move", "main", "release/1.2")


def merge(project: Project) -> None:
    project.git("merge", "--quiet", "--no-edit", "main")


def stale(project: Project) -> None:
    """What lies in the tree is not the baseline that the commit has."""
    write(project.folder / "sizes.json", sizes(7))


def tag_tree(project: Project) -> None:
    project.git("tag", "tree", "main^{tree}")
    project.git("tag", "file", "main:sizes.json")


def merge_three(project: Project) -> None:
    """An octopus, then its revert: three parents, and the program of before."""
    for name in ("first", "second"):
        project.git("checkout", "--quiet", "-b", name, "v1")
        write(project.folder / name, name)
        project.commit("add", "--all")
    project.git("checkout", "--quiet", "mine")
    project.git("merge", "--quiet", "--no-edit", "first", "second")
    project.git("revert", "--no-edit", "--mainline", "1", "HEAD")


def nothing(_: Project) -> None:
    pass


BRANCHES: dict[str, tuple[Callable[[Project], object], str, int]] = {
    "a remote's branch": (track, "origin/main", 100),
    "a remote": (track, "origin", 100),
    "an upstream": (track, "@{upstream}", 100),
    "what was fetched": (fetch, "FETCH_HEAD", 100),
    "a detached head": (detach, "main", 100),
    "this very branch": (detach, "HEAD", 100),
    "a branch with a slash": (slash, "release/1.2", 100),
    "a whole name": (slash, "refs/heads/release/1.2", 100),
    "a branch that was merged": (merge, "main", 50),
    "the commit before a tip": (stale, "main~1", 100),
    "a space behind it": (nothing, "main ", 100),
    "a line behind it": (nothing, "main\n", 100),
    "a merge of three": (merge_three, "HEAD~1", 100),
    "a third parent": (merge_three, "HEAD~1^3", 100),
    "a revert": (merge_three, "HEAD", 100),
    "the branch before": (merge_three, "@{-1}", 100),
    "another file in the tree": (stale, "main", 100),
}


@pytest.mark.parametrize("what", BRANCHES)
def test_each_way_to_name_a_branch(project: Project, what: str) -> None:
    change, rev, expected = BRANCHES[what]
    change(project)

    assert project.find(rev)[1] == expected


def orphan(project: Project) -> None:
    project.git("checkout", "--quiet", "--orphan", "new")
    write(project.folder / "README.md", "new")
    project.commit("add", "--all")


def cut(project: Project) -> None:
    """As a job's checkout has it: the last commit of each branch."""
    shallow = f"{project.git('rev-parse', 'mine')}\n{project.git('rev-parse', 'main')}\n"
    write(project.folder / ".git/shallow", shallow)


def confuse(project: Project) -> None:
    project.git("tag", "main", "v1")


def break_sizes(text: str) -> Callable[[Project], object]:
    def change(project: Project) -> None:
        write(project.folder / "sizes.json", text)
        project.commit("add", "--all")

    return change


REFUSED: dict[str, tuple[Callable[[Project], object], str, str, str]] = {
    "an empty name": (nothing, "", "--against: found nothing", "a variable"),
    "a blank name": (nothing, " \n", "--against: found nothing", "a variable"),
    "a typo": (nothing, "mainn", "found no such commit", "did you mean main?"),
    "a remote's name left out": (
        track_alone,
        "main",
        "found no such commit",
        "did you mean origin/main?",
    ),
    "an option": (nothing, "--output=x", "found no such commit", "name a commit"),
    "a file": (nothing, "main:megtrim.yaml", "found no such commit", "name a commit"),
    "a range": (nothing, "main..mine", "found no such commit", "name a commit"),
    "all but a commit": (nothing, "^main", "found no such commit", "did you mean main?"),
    "all parents": (nothing, "mine^@", "found no such commit", "did you mean mine?"),
    "a commit without its parents": (
        nothing,
        "mine^!",
        "found no such commit",
        "did you mean mine?",
    ),
    "a tag of a tree": (tag_tree, "tree", "found no such commit", "name a commit"),
    "a tag of a file": (tag_tree, "file", "found no such commit", "name a commit"),
    "a message that no commit has": (nothing, ":/gone", "found no such commit", "name a commit"),
    "no stash": (nothing, "stash@{0}", "found no such commit", "name a commit"),
    "no upstream": (nothing, "@{u}", "found no such commit", "name a commit"),
    "a parent too many": (nothing, "mine^2", "found no such commit", "did you mean mine?"),
    "a merge base of two": (nothing, "main...mine", "found no such commit", "name a commit"),
    "a command": (nothing, "$(id)", "found no such commit", "name a commit"),
    "a gone commit": (nothing, "1" * 40, "found no such commit", "name a commit"),
    "a branch and a tag": (confuse, "main", "found refs/heads/main and refs/tags/main", "refs/"),
    "no common commit": (orphan, "main", "have no commit in common", "the commit itself"),
    "a shallow clone": (cut, "main", "have no commit in common", "git fetch --unshallow"),
    "a shallow clone's past": (cut, "v9", "found no such commit", "git fetch --unshallow"),
    "a damaged baseline": (break_sizes("{"), "mine", "sizes.json of mine at", ""),
    "a baseline that is a pointer": (
        break_sizes("version https://git-lfs.github.com/spec/v1\n"),
        "mine",
        "sizes.json of mine at",
        "",
    ),
    "a baseline with both sides": (
        break_sizes("<<<<<<< a\n=======\n>>>>>>> b\n"),
        "mine",
        "unresolved merge conflict",
        "git checkout --ours",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_names_no_sizes_is_refused(project: Project, what: str) -> None:
    change, rev, expected, hint = REFUSED[what]
    change(project)
    with pytest.raises(InputError) as refused:
        project.find(rev)

    assert expected in refused.value.message
    assert hint in (refused.value.hint or "")
    assert not (project.folder / "x").exists()


def test_a_commit_before_the_baseline_has_its_pass(project: Project) -> None:
    """Where the committed sizes are of another kind, too."""
    project.git("rm", "--quiet", "--cached", "sizes.json")
    first = project.commit()
    project.trim(300)
    assert project.find(first)[1] == 300
    project.git("tag", "v2", project.commit_sizes(9, quick=True))
    assert project.find("v2")[1] == 300


def test_a_pass_counts_on_a_machine_of_ones_own(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a job, whoever proposes a change may have planted it."""
    project.git("rm", "--quiet", "--cached", "sizes.json")
    sha = project.commit()
    project.trim(300)
    assert project.find(sha)[1] == 300

    monkeypatch.setenv("CI", "true")
    with pytest.raises(InputError, match="found no sizes of"):
        project.find(sha)


def test_another_configuration_has_no_pass_of_it(project: Project) -> None:
    text = CONFIG.replace("keep_set: keep", "keep_set: keep-2")
    write(project.folder / "other.yaml", text)
    write(project.folder / "megtrim.yaml", CONFIG)
    sha = project.commit("add", "--all")
    project.trim(300)
    project.config = "other.yaml"

    with pytest.raises(InputError, match=r"it was a full trim of megtrim\.yaml"):
        project.find(sha)


def test_a_repository_of_another_team_has_no_pass_of_it(project: Project, tmp_path: Path) -> None:
    project.trim(300)
    other = Team(tmp_path / "other")
    other.start({**FILES, "models/a.mge": "theirs"})
    (project.out).rename(other.out)

    with pytest.raises(InputError, match=r"megtrim\.yaml, models/a\.mge are not as the commit"):
        other.find("main")


def test_outside_of_a_repository_nothing_is_found(tmp_path: Path) -> None:
    for path, text in FILES.items():
        write(tmp_path / "app" / path, text)

    with pytest.raises(InputError, match="found no such commit in the repository"):
        Team(tmp_path / "app").find("main")


@pytest.mark.parametrize(
    ("remote", "token", "expected"),
    [
        ("git@github.com:acme/phone.git", TOKEN, ""),
        ("https://github.com/acme/phone", "", "found no sizes of"),
        ("https://example.com/acme/phone", TOKEN, "found no sizes of"),
        ("https://github.com/acme/gone", TOKEN, "404"),
    ],
)
def test_what_the_check_of_a_commit_stored_is_asked_for_with_a_token(
    team: GithubTeam, remote: str, token: str, expected: str
) -> None:
    team.store(days_ago=2)
    processes = ProcessRunner({"GITHUB_API_URL": team.github.url, "GITHUB_TOKEN": token})
    revision = Revision(sha=team.base, shown="main")
    try:
        found = ask_github(revision, Options(against="main"), ORIGIN, processes, remote)
    except (InputError, InfrastructureFailure) as error:
        assert expected and expected in error.message
        return
    assert (found.sizes, expected) == (SIZES, "")
    assert found.source.startswith(f"main at {team.base[:12]}, this very commit, stored ")


def test_what_another_commit_stored_is_not_asked_for(team: GithubTeam) -> None:
    """Neither the last one before it, nor that of the branch's end."""
    team.store(of="first", days_ago=2)
    processes = ProcessRunner({"GITHUB_API_URL": team.github.url, "GITHUB_TOKEN": TOKEN})
    revision = Revision(sha=team.base, shown="main")
    remote = "https://github.com/acme/phone"

    with pytest.raises(InputError, match=f"has no sizes of {team.base[:12]}.*{team.first[:12]}"):
        ask_github(revision, Options(against="main"), ORIGIN, processes, remote)


@pytest.mark.parametrize("rev", ["HEAD", "mine", "@"])
def test_a_commit_that_is_compared_with_itself_is_told(project: Project, rev: str) -> None:
    """Nothing can have grown since, unless something is not committed."""
    project.find(rev)
    assert any("what is trimmed is that commit itself" in line for line in project.said)
    project.said.clear()
    write(project.folder / "engine/src/add.cpp", "int add() { return 2; }\n")
    project.find(rev)
    assert project.said == []
