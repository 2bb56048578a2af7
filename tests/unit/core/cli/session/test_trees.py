"""Trees that differ from their commit: what is made of them is none of the commit's."""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.chain.made_of import matches
from megtrim.core.size.baseline import load_sizes
from megtrim.core.size.passes import MOST_PASSES, list_pass_files, read_made_of
from megtrim.libs.util.errors import InputError
from unit.core.cli.session.commits import CONFIG, KEY, MODEL, Team, write

Change = Callable[[Team], object]


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    team = Team(tmp_path_factory.mktemp("made") / "app")
    team.start()
    return team.folder


@pytest.fixture
def team(made: Path, tmp_path: Path) -> Team:
    return Team(shutil.copytree(made, tmp_path / "app"))


def add_scenario(team: Team) -> None:
    write(team.folder / "models/b.yaml", MODEL.replace("NAME", "b"))
    write(team.folder / "models/b.mge", "another model")


def stage_scenario(team: Team) -> None:
    add_scenario(team)
    team.git("add", "--all")


def lose_scenario(team: Team) -> None:
    add_scenario(team)
    team.commit("add", "--all")
    (team.folder / "models/b.yaml").unlink()


def add_page(team: Team) -> None:
    write(team.folder / "README.md", "new")
    team.commit("add", "--all")


def grow(team: Team) -> None:
    write(team.folder / "engine/src/add.cpp", "int add() { return 2; }\n")


def hide(flag: str) -> Change:
    def change(team: Team) -> None:
        team.git("update-index", flag, "engine/src/add.cpp")
        grow(team)

    return change


def retrain(team: Team) -> None:
    team.git("update-index", "--assume-unchanged", "models/a.mge")
    write(team.folder / "models/a.mge", "b model")


def link_model(team: Team) -> None:
    """Both models are committed as they are; which one is meant is not."""
    write(team.folder / "models/b.mge", "another model")
    (team.folder / "models/a.mge").unlink()
    (team.folder / "models/a.mge").symlink_to("b.mge")


def link_source(team: Team) -> None:
    write(team.folder / "shared/add.cpp", "int add() { return 1; }\n")
    file = team.folder / "engine/src/add.cpp"
    file.unlink()
    file.symlink_to("../../shared/add.cpp")
    team.commit("add", "--all")
    team.git("update-index", "--assume-unchanged", "shared/add.cpp")
    write(team.folder / "shared/add.cpp", "int add() { return 2; }\n")


def link_source_out(team: Team) -> None:
    file = team.folder / "engine/src/add.cpp"
    file.unlink()
    write(team.folder.parent / "add.cpp", "int add() { return 1; }\n")
    file.symlink_to("../../../add.cpp")
    team.commit("add", "--all")


def filter_lines(team: Team) -> None:
    team.git("config", "core.autocrlf", "true")
    (team.folder / "models/a.mge").write_bytes(b"a\r\nmodel")
    team.commit("add", "--all")


def go_sparse(team: Team) -> None:
    write(team.folder / "engine/more/sub.cpp", "int sub();\n")
    team.commit("add", "--all")
    team.git("sparse-checkout", "set", "--no-cone", "/*", "!/engine/more/")


def nest(team: Team) -> None:
    """The engine is a repository of its own, which this one does not know."""
    team.git("rm", "--quiet", "-r", "--cached", "engine")
    write(team.folder / ".gitignore", "out\nengine\n")
    team.commit("add", "--all")
    team.git("init", "--quiet", "--initial-branch=main", ".", folder=team.folder / "engine")


def configure(more: str) -> Change:
    def change(team: Team) -> None:
        write(team.folder / "megtrim.yaml", CONFIG + more)

    return change


DIFFERENT: dict[str, tuple[Change, str]] = {
    "an untracked scenario": (add_scenario, "models/b.mge, models/b.yaml are not as the commit"),
    "a scenario that is staged": (
        stage_scenario,
        "models/b.mge, models/b.yaml are not as the commit",
    ),
    "an untracked source": (
        lambda team: write(team.folder / "engine/src/sub.cpp", "int sub();\n"),
        "engine/src/sub.cpp is not as the commit has it",
    ),
    "an ignored source": (
        lambda team: write(team.folder / "engine/src/x.ignored", "int sub();\n"),
        "engine/src/x.ignored is not as the commit has it",
    ),
    "a changed source": (grow, "engine/src/add.cpp is not as the commit has it"),
    "assume-unchanged": (hide("--assume-unchanged"), "engine/src/add.cpp is not as the commit"),
    "skip-worktree": (hide("--skip-worktree"), "engine/src/add.cpp is not as the commit has it"),
    "an assumed model": (retrain, "models/a.mge is not as the commit has it"),
    "a link to another model": (link_model, "models/a.mge, models/b.mge are not as the commit"),
    "a link to a changed source": (link_source, "shared/add.cpp is not as the commit has it"),
    "a link out of the repository": (link_source_out, "add.cpp, which no commit of this repo"),
    "a filter of line ends": (filter_lines, "models/a.mge is not as the commit has it"),
    "a sparse checkout": (go_sparse, "engine/more/sub.cpp is in the commit, and was not there"),
    "a nested repository": (nest, "engine/CMakeLists.txt, engine/src/add.cpp are not as the"),
    "another configuration": (configure("budgets: []\n"), "megtrim.yaml is not as the commit has"),
    "another keep set": (
        lambda team: write(team.folder / "keep/a/s@any.json", "{ }"),
        "keep/a/s@any.json is not as the commit has it",
    ),
    "one more of the keep set": (
        lambda team: write(team.folder / "keep/b/s@any.json", "{}"),
        "keep/b/s@any.json is not as the commit has it",
    ),
    "a source that was removed": (
        lambda team: (team.folder / "engine/src/add.cpp").unlink(),
        "engine/src/add.cpp is in the commit, and was not there",
    ),
    "a scenario that was removed": (
        lose_scenario,
        "models/b.yaml is in the commit, and was not there",
    ),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_pass_of_a_tree_that_differs_is_none_of_the_commit(team: Team, what: str) -> None:
    change, expected = DIFFERENT[what]
    change(team)
    team.trim(300)

    with pytest.raises(InputError, match="found no sizes of") as refused:
        team.find("main")
    assert expected in refused.value.message


COMMITTED = (
    "an untracked scenario",
    "an untracked source",
    "a changed source",
    "another configuration",
    "another keep set",
    "a source that was removed",
    "a link to another model",
)


@pytest.mark.parametrize("what", COMMITTED)
def test_a_pass_is_one_of_a_commit_that_follows_it(team: Team, what: str) -> None:
    change, _ = DIFFERENT[what]
    change(team)
    team.trim(300)
    sha = team.commit("add", "--all")

    assert team.find("main") == (f"main at {sha[:12]}, which passed on this machine", 300)


def outside(team: Team) -> None:
    write(team.folder.parent / "engine/CMakeLists.txt", "project(engine)\n")
    write(team.folder / "megtrim.yaml", CONFIG.replace("engine}", "../engine}"))
    team.commit("add", "--all")


def test_no_commit_says_what_lies_outside_of_its_repository(team: Team) -> None:
    outside(team)
    team.trim(300)

    with pytest.raises(InputError, match=r"its sources are in .*/engine, which no commit of"):
        team.find("main")


def test_a_pass_may_come_before_its_configuration_is_committed(team: Team) -> None:
    for path in ("megtrim.yaml", "models", "keep", "engine"):
        write(team.folder / "sub/.gitignore", "out\n")
        (team.folder / path).rename(team.folder / "sub" / path)
    team.config = "sub/megtrim.yaml"
    team.trim(300)
    team.commit("add", "--all")

    assert team.find("main")[1] == 300


SAME: dict[str, Change] = {
    "as committed": lambda team: None,
    "a file's mode": lambda team: (team.folder / "engine/src/add.cpp").chmod(0o755),
    "a new page": lambda team: write(team.folder / "README.md", "new"),
    "a file of another tool": lambda team: write(team.folder / "keep/notes.txt", "new"),
    "detached": lambda team: team.git("checkout", "--quiet", "--detach"),
    "a renamed branch": lambda team: (
        team.git("branch", "--move", "trunk"),
        team.git("branch", "main"),
    ),
    "a folder of another name": lambda team: team.git("remote", "add", "origin", "/x/renamed"),
    "a commit of a page": add_page,
}


@pytest.mark.parametrize("what", SAME)
def test_what_is_not_of_the_program_does_not_matter(team: Team, what: str) -> None:
    team.trim(300)
    SAME[what](team)

    assert team.find("main")[1] == 300


def test_other_tools_make_another_program(team: Team) -> None:
    team.trim(300)
    team.toolchain = replace(team.toolchain, version="gcc 13")

    with pytest.raises(InputError, match="its toolchain version was gcc 12, and is gcc 13 now"):
        team.find("main")


def test_what_the_field_reached_is_of_no_commit(team: Team) -> None:
    team.reached = (Path("field.txt"),)
    team.trim(300)

    with pytest.raises(InputError, match="it kept functions that --reached names"):
        team.find("main")


def test_a_work_tree_shares_the_passes_of_its_folder_of_results(team: Team) -> None:
    team.trim(300)
    other = team.folder.parent / "other"
    team.git("worktree", "add", "--quiet", str(other), "-b", "mine")
    (team.out).rename(other / "out")

    assert Team(other).find("main")[1] == 300


def test_a_model_in_large_file_storage_is_known_by_its_pointer(team: Team) -> None:
    file = team.folder / "models/a.mge"
    text = file.read_text(encoding="utf-8")
    for named, expected in ((text, ""), ("other weights", "models/a.mge is not as the commit has")):
        digest = hashlib.sha256(named.encode()).hexdigest()
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 7\n"
        write(file, pointer)
        team.commit("add", "--all")
        write(file, text)
        team.trim(300)
        if expected:
            with pytest.raises(InputError, match=expected):
                team.find("main")
        else:
            assert team.find("main")[1] == 300


class Submodule:
    """The engine is a submodule, with one of its own that no build needs."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.source = Team(team.folder.parent / "source")
        self.source.start({"CMakeLists.txt": "project(engine)\n", "src/add.cpp": "int add();\n"})
        team.git("rm", "--quiet", "-r", "engine")
        team.git("submodule", "--quiet", "add", str(self.source.folder), "engine")
        team.commit("add", "--all")

    @property
    def folder(self) -> Path:
        return self.team.folder / "engine"


def dirty(engine: Submodule) -> None:
    write(engine.folder / "src/add.cpp", "int sub();\n")


def assumed(engine: Submodule) -> None:
    engine.team.git("update-index", "--assume-unchanged", "src/add.cpp", folder=engine.folder)
    dirty(engine)


def untracked(engine: Submodule) -> None:
    write(engine.folder / "src/sub.cpp", "int sub();\n")


def moved(engine: Submodule) -> None:
    dirty(engine)
    engine.team.git("commit", "--quiet", "--all", "--message", "x", folder=engine.folder)


MOVES = {"dirty": dirty, "assumed": assumed, "untracked": untracked, "moved": moved}


@pytest.mark.parametrize("what", MOVES)
def test_a_submodule_is_the_commit_that_is_recorded(team: Team, what: str) -> None:
    engine = Submodule(team)
    team.trim(100)
    assert team.find("main")[1] == 100
    MOVES[what](engine)
    team.trim(300)
    assert team.find("main")[1] == 100

    team.commit("add", "--all")
    assert team.find("main")[1] == (300 if what == "moved" else 100)


def test_a_recorded_commit_that_is_not_here_is_named(team: Team) -> None:
    Submodule(team)
    team.trim(100)
    team.git("update-index", "--cacheinfo", f"160000,{'1' * 40},engine")
    team.commit()

    with pytest.raises(InputError, match="the submodule engine at 111111111111 is not on this"):
        team.find("main")


def test_twenty_passes_are_kept(team: Team) -> None:
    """The oldest goes; one that is repeated is kept once, as the newest."""
    made_of = team.gather()
    assert made_of is not None
    for number in (*range(22), 7):
        team.trim(number, replace(made_of, files={"a": str(number)}))
        team.trim(number, replace(made_of, files={"a": str(number)}))

    files = list_pass_files(team.out)
    kept = [found.files["a"] for found in map(read_made_of, files) if found]
    assert kept == [str(each) for each in (7, *range(21, 7, -1), *range(6, 1, -1))]
    assert len([*(team.out / "passes").iterdir()]) == 2 * MOST_PASSES


def test_what_the_same_is_compared_with_stays(team: Team) -> None:
    """However often it passes, each time with another comment in its configuration."""
    made_of = team.gather()
    assert made_of is not None
    team.trim(1, made_of)
    for number in range(25):
        team.trim(2, replace(made_of, files={"a": str(number)}))

    files = list_pass_files(team.out)
    assert [bytes_of(each) for each in files] == [*[2] * 20, 1]


def bytes_of(path: Path) -> int:
    return load_sizes(path, shown="").sizes[KEY]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("models/*.yaml", "models/a.yaml", True),
        ("models/*.yaml", "models/b/a.yaml", False),
        ("models/**/*.yaml", "models/a.yaml", True),
        ("models/**/*.yaml", "models/b/c/a.yaml", True),
        ("models/*/x-[!a]?.yaml", "models/b/x-bc.yaml", True),
        ("models/*/x-[!a]?.yaml", "models/b/x-ac.yaml", False),
        ("models/[z-a].yaml", "models/b.yaml", False),
        ("**/" * 200 + "*.yaml", "a/" * 200 + "b.yml", False),
        ("a+(b).yaml", "a+(b).yaml", True),
    ],
)
def test_patterns_match_as_files_are_found(pattern: str, path: str, expected: bool) -> None:
    assert matches(path, pattern) is expected


def test_a_quick_pass_is_one_of_a_quick_trim(team: Team) -> None:
    team.trim(300)
    quick = replace(team, quick=True)
    with pytest.raises(InputError, match=r"it was a full trim of megtrim\.yaml"):
        quick.find("main")
    quick.trim(200)

    assert (quick.find("main")[1], team.find("main")[1]) == (200, 300)
    write(team.folder / "keep/a/s@any.json", "{ }")
    team.commit("add", "--all")
    assert quick.find("main")[1] == 200


@pytest.mark.parametrize("text", ["", "{", '{"version": 9}', '{"version": 1, "config": 3}'])
def test_a_pass_whose_files_are_not_known_is_none_of_any_commit(team: Team, text: str) -> None:
    team.trim(300)
    write(team.out / "passes/00000001.made-of.json", text)

    with pytest.raises(InputError, match="its inputs are not known"):
        team.find("main")


def test_the_passes_of_an_earlier_megtrim_are_of_no_commit(team: Team) -> None:
    team.trim(300)
    (team.out / "passes/00000001.json").rename(team.out / "last-pass.json")

    with pytest.raises(InputError, match="its inputs are not known"):
        team.find("main")
