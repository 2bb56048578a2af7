"""Trees that differ from their commit where git looks the other way, or has another file."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from megtrim.libs.util.errors import InputError
from unit.core.cli.session.commits import Team, write
from unit.core.cli.session.test_trees import made, no_job, team

__all__ = ["made", "no_job", "team"]

Change = Callable[[Team], object]
ADD = "engine/src/add.cpp"
GROWN = "int add() { return 2; }\n"
SUB = "engine/src/sub.cpp"


def grow(team: Team) -> None:
    write(team.folder / ADD, GROWN)


def intend(team: Team) -> None:
    write(team.folder / SUB, "int sub();\n")
    team.git("add", "--intent-to-add", SUB)


def stage_another(team: Team) -> None:
    """The index has what the commit has, and the folder has not."""
    grow(team)
    team.git("add", ADD)
    write(team.folder / ADD, "int add() { return 3; }\n")


def make_folder(team: Team) -> None:
    (team.folder / ADD).unlink()
    write(team.folder / ADD / "add.cpp", "int add() { return 1; }\n")


def change_case(team: Team) -> None:
    team.git("config", "core.ignorecase", "true")
    (team.folder / ADD).rename(team.folder / "engine/src/Add.cpp")


def exclude_by(name: str) -> Change:
    def change(team: Team) -> None:
        write(team.folder / name, "sub.cpp\n")
        team.git("config", "core.excludesFile", str(team.folder / name))
        write(team.folder / SUB, "int sub();\n")

    return change


def clean_by_a_filter(team: Team) -> None:
    """What is added is always the same, so git sees no change."""
    write(team.folder / ".gitattributes", "*.cpp filter=same\n")
    team.commit("add", "--all")
    team.git("config", "filter.same.clean", "echo 'int add() { return 1; }'")
    grow(team)


def mark_by_ident(team: Team) -> None:
    write(team.folder / ".gitattributes", "*.cpp ident\n")
    write(team.folder / ADD, "// $Id$\n")
    team.commit("add", "--all")
    (team.folder / ADD).unlink()
    team.git("checkout", "--quiet", "--", ADD)


def encode(team: Team) -> None:
    write(team.folder / ".gitattributes", "*.cpp working-tree-encoding=UTF-16LE\n")
    (team.folder / ADD).write_bytes("int add();\n".encode("utf-16-le"))
    team.commit("add", "--all")


def check_out_links_as_text(team: Team) -> None:
    link = team.folder / "engine/src/link.cpp"
    link.symlink_to("add.cpp")
    team.commit("add", "--all")
    team.git("config", "core.symlinks", "false")
    link.unlink()
    team.git("checkout", "--quiet", "--", "engine/src/link.cpp")


def replace_object(team: Team) -> None:
    """What git shows of the commit is not what the commit has."""
    before = team.git("rev-parse", f"HEAD:{ADD}")
    grow(team)
    team.git("replace", before, team.git("hash-object", "-w", ADD))


def replace_commit(team: Team) -> None:
    before = team.git("rev-parse", "HEAD")
    grow(team)
    after = team.commit("add", "--all")
    team.git("replace", before, after)
    team.git("checkout", "--quiet", "-b", "mine")
    team.git("branch", "--force", "main", before)


def stop_in_a_merge(team: Team) -> None:
    team.git("checkout", "--quiet", "-b", "other")
    write(team.folder / ADD, "int add() { return 4; }\n")
    team.commit("add", "--all")
    team.git("checkout", "--quiet", "main")
    grow(team)
    team.commit("add", "--all")
    with pytest.raises(Exception, match="merge"):
        team.git("merge", "--quiet", "other")


def look_elsewhere(team: Team) -> None:
    """Git compares another folder with its commit."""
    elsewhere = shutil.copytree(team.folder / "engine", team.folder.parent / "elsewhere/engine")
    team.git("config", "core.worktree", str(elsewhere.parent))
    grow(team)


def split_index(team: Team) -> None:
    team.git("update-index", "--split-index")
    team.git("config", "core.fsmonitor", "false")
    team.git("update-index", "--assume-unchanged", ADD)
    grow(team)


def keep_time_and_size(team: Team) -> None:
    file = team.folder / ADD
    seen = file.stat()
    grow(team)
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    team.git("config", "core.checkStat", "minimal")


def name_by_bytes(team: Team) -> None:
    Path(os.fsdecode(os.fsencode(team.folder / "engine/src/") + b"sub\xff.cpp")).write_text("x")


def name_by_a_line(team: Team) -> None:
    write(team.folder / "engine/src/a\nb.cpp", "x")


def link_folder(team: Team) -> None:
    """The sources are those of another folder of the repository, which is grown."""
    shutil.copytree(team.folder / "engine/src", team.folder / "other")
    shutil.rmtree(team.folder / "engine/src")
    (team.folder / "engine/src").symlink_to("../other")
    team.commit("add", "--all")
    team.git("update-index", "--skip-worktree", "other/add.cpp")
    write(team.folder / "other/add.cpp", GROWN)


DIFFERENT: dict[str, tuple[Change, str]] = {
    "an intent to add": (intend, "engine/src/sub.cpp is not as the commit has it"),
    "something else is staged": (stage_another, "engine/src/add.cpp is not as the commit has it"),
    "a file became a folder": (make_folder, "engine/src/add.cpp"),
    "a name of another case": (change_case, "engine/src/Add.cpp is not as the commit has it"),
    "excluded here": (exclude_by(".git/info/exclude"), "engine/src/sub.cpp is not as the commit"),
    "excluded for a user": (exclude_by("out/excludes"), "engine/src/sub.cpp is not as the commit"),
    "a filter that hides it": (clean_by_a_filter, "engine/src/add.cpp is not as the commit has it"),
    "a mark that git writes": (mark_by_ident, "engine/src/add.cpp is not as the commit has it"),
    "another encoding": (encode, "engine/src/add.cpp is not as the commit has it"),
    "a link as text": (check_out_links_as_text, "engine/src/link.cpp is not as the commit has it"),
    "a replaced object": (replace_object, "engine/src/add.cpp is not as the commit has it"),
    "a replaced commit": (replace_commit, "have no commit in common"),
    "a merge that stopped": (stop_in_a_merge, "engine/src/add.cpp is not as the commit has it"),
    "another folder is the tree": (look_elsewhere, ""),
    "a split index": (split_index, "engine/src/add.cpp is not as the commit has it"),
    "the time and size of before": (keep_time_and_size, "engine/src/add.cpp is not as the commit"),
    "a name that is no text": (name_by_bytes, "is not as the commit has it"),
    "a name of two lines": (name_by_a_line, "is not as the commit has it"),
    "a folder that is a link": (link_folder, "a folder that is not of the program's sources"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_pass_of_an_odd_tree_is_none_of_the_commit(team: Team, what: str) -> None:
    change, expected = DIFFERENT[what]
    change(team)
    team.trim(300)

    with pytest.raises(InputError) as refused:
        team.find("main")
    assert expected in refused.value.message
