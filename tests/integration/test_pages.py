"""The commands that the pages print, typed as they stand, in a team's folder.

Each page begins in a fresh one, as a reader who comes to it first; results alone are shared.
"""

import shutil
from pathlib import Path

import pytest

from megtrim.libs.util.process import ProcessRunner
from support.megtrim_cli import ROOT, KeepFolder, Project
from support.pages import Block, blocks_in, configured_folder, new_folder
from support.source_forge import GIT_ENV

PAGES = sorted({block.page for block in blocks_in("chain")})
APPLICATION = "applications/sample-classify"


@pytest.mark.unit
@pytest.mark.parametrize("block", blocks_in("unit"), ids=str)
def test_before_there_is_a_configuration(block: Block, tmp_path: Path) -> None:
    reported = new_folder(tmp_path).type(block)

    assert reported.rc == block.status, reported.stdout + reported.stderr


@pytest.mark.chain
@pytest.mark.parametrize("page", PAGES)
def test_on_a_page_in_a_fresh_project(page: str, tmp_path: Path, shared_out: Path) -> None:
    team, _ = configured_folder(tmp_path, shared_out, toolchain="host")

    for block in blocks_in("chain"):
        if block.page == page:
            reported = team.type(block)
            assert reported.rc == block.status, f"{block}\n{reported.stdout}{reported.stderr}"


@pytest.mark.chain
def test_an_application_is_trimmed_in_a_fresh_clone(tmp_path: Path, shared_out: Path) -> None:
    """At once, though the trim writes the keep set into the application's own source.

    With this machine's compiler, which the example names as another choice.
    """
    examples = tmp_path / "examples"
    for name in (APPLICATION, "sample-engine"):
        shutil.copytree(ROOT / "examples" / name, examples / name)
    git = ("git", "-C", str(tmp_path))
    processes = ProcessRunner(GIT_ENV)
    project = Project(examples / APPLICATION)
    project.out = shared_out
    project.change(toolchain={"kind": "host"})
    keep = KeepFolder(project.folder / "megtrim/keepset")
    keep.remove()
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "All")):
        processes.capture(*git, *words)

    first = project.run("trim")

    assert first.rc == 0, first.stdout + first.stderr
    assert "verdict: pass." in first.stdout
    assert len(keep.read().scenarios) == 4
    changed = processes.capture(*git, "status", "--porcelain", "--untracked-files=all").splitlines()
    assert changed
    assert all(f"{APPLICATION}/megtrim/keepset/" in line for line in changed)
