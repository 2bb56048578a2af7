from __future__ import annotations

import os
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from megtrim.build.sources.git import SourceRepository, expect_version, list_versions
from megtrim.build.sources.repository_url import parse_project_url
from megtrim.util.errors import InfrastructureFailure, InputError, MegtrimError
from megtrim.util.process import Command, ProcessRunner
from support.source_forge import KIT, KIT_SHA, SourceForge, make_kit

PROCESSES = ProcessRunner({"PATH": os.environ["PATH"]})


@pytest.fixture
def forge(tmp_path: Path) -> SourceForge:
    return SourceForge(tmp_path / "forge")


def make(folder: Path) -> SourceRepository:
    repository = SourceRepository(folder, PROCESSES)
    repository.make()
    return repository


def test_one_commit_is_fetched_without_those_before(forge: SourceForge, tmp_path: Path) -> None:
    first = forge.commit("engine", {"a.cpp": "int a;\n"})
    second = forge.commit("engine", {"a.cpp": "int b;\n"})
    repository = make(tmp_path / "x")

    repository.fetch(parse_project_url(forge.url("engine")), second)
    repository.check_out(second)

    assert (tmp_path / "x/a.cpp").read_text() == "int b;\n"
    assert (repository.has(second), repository.has(first)) == (True, False)
    config = (tmp_path / "x/.git/config").read_text()
    assert "remote" not in config
    assert "url" not in config


def test_a_tree_is_read_from_its_objects(forge: SourceForge, tmp_path: Path) -> None:
    inner = forge.commit("midout", {"m.h": "\n"})
    sha = forge.commit("engine", {"a.cpp": "\n"}, {"third_party/midout": ("../midout.git", inner)})
    folder = forge.check_out("engine", sha, tmp_path / "engine")
    (folder / ".gitmodules").write_text("[core]\n")

    tree = SourceRepository(folder, PROCESSES).tree()

    assert (tree.commit, tree.files) == (sha, ("a.cpp",))
    assert tree.links == {"third_party/midout": inner}
    assert "url = ../midout.git" in tree.modules


def test_gitmodules_that_is_a_link_is_refused(forge: SourceForge, tmp_path: Path) -> None:
    """It would show another file than the one that was reviewed."""
    folder = tmp_path / "x"
    repository = make(folder)
    (folder / "target").write_text("/etc/passwd")
    blob = forge.git("-C", str(folder), "hash-object", "-w", "target")
    # git's index refuses it; a server takes any object.
    listed = folder / "listed"
    listed.write_text(f"120000 blob {blob}\t.gitmodules\n")
    made = PROCESSES.run(
        Command(argv=("git", "-C", str(folder), "mktree"), stdin=listed, timeout_s=60)
    )
    commit = forge.git("-C", str(folder), "commit-tree", made.stdout.strip(), "-m", "x")
    forge.git("-C", str(folder), "update-ref", "HEAD", commit)

    with pytest.raises(InputError, match="mode 120000"):
        repository.tree()


def test_no_hook_and_no_filter_runs(forge: SourceForge, tmp_path: Path) -> None:
    """Neither those of a person's settings nor what a tree asks for."""
    pwned = tmp_path / "pwned"
    home = tmp_path / "home"
    (home / "hooks").mkdir(parents=True)
    hook = home / "hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {pwned}\n")
    hook.chmod(0o755)
    (home / ".gitconfig").write_text(
        f'[core]\n\thooksPath = {home}/hooks\n[filter "x"]\n\tsmudge = touch {pwned}\n'
        "[protocol]\n\tallow = always\n"
    )
    sha = forge.commit("engine", {"a.cpp": "int a;\n", ".gitattributes": "* filter=x\n"})
    repository = SourceRepository(
        tmp_path / "x", ProcessRunner({"PATH": os.environ["PATH"], "HOME": str(home)})
    )

    repository.make()
    repository.fetch(parse_project_url(forge.url("engine")), sha)
    repository.check_out(sha)

    assert (tmp_path / "x/a.cpp").read_text() == "int a;\n"
    assert not pwned.exists()


def test_two_work_trees_share_one_repository(forge: SourceForge, tmp_path: Path) -> None:
    sha = forge.commit("engine", {"a.cpp": "int a;\n"})
    repository = make(tmp_path / "x")
    repository.fetch(parse_project_url(forge.url("engine")), sha)
    repository.check_out(sha)

    repository.add_work_tree(tmp_path / "y", sha)

    assert (tmp_path / "y/a.cpp").read_text() == "int a;\n"
    assert (tmp_path / "y/.git").is_file()


def test_a_missing_repository_or_commit_is_an_input_error(
    forge: SourceForge, tmp_path: Path
) -> None:
    forge.commit("engine", {"a.cpp": "\n"})
    repository = make(tmp_path / "x")
    for name, commit in (("engine", "1" * 40), ("nothing", "1" * 40)):
        with pytest.raises(InputError, match="cannot be fetched at 111111111111") as caught:
            repository.fetch(parse_project_url(forge.url(name)), commit)
        assert "engine-key" in caught.value.hint


def test_a_server_that_is_away_is_no_ones_fault(tmp_path: Path) -> None:
    repository = make(tmp_path / "x")

    with pytest.raises(InfrastructureFailure, match=r"127\.0\.0\.1:1/a/b cannot be fetched"):
        repository.fetch(parse_project_url("http://127.0.0.1:1/a/b"), "1" * 40)


@pytest.mark.parametrize("key", ["", "wrong", "right"])
def test_a_private_repository_takes_its_key(forge: SourceForge, tmp_path: Path, key: str) -> None:
    sha = forge.commit("engine", {"a.cpp": "int a;\n"})
    repository = make(tmp_path / "x")
    with forge.server({"engine": "right"}) as server:
        url = parse_project_url(f"{server}/acme/engine.git")
        if key == "right":
            repository.fetch(url, sha, key=key)
        else:
            with pytest.raises(InputError) as caught:
                repository.fetch(url, sha, key=key)
            assert "wrong" not in str(caught.value)

    assert repository.has(sha) is (key == "right")
    texts = [path.read_bytes() for path in (tmp_path / "x/.git").rglob("*") if path.is_file()]
    assert not any(b"Authorization" in text or b"eC1hY2Nlc3M" in text for text in texts)


def test_no_redirect_is_followed(tmp_path: Path, forge: SourceForge) -> None:
    sha = forge.commit("engine", {"a.cpp": "\n"})
    repository = make(tmp_path / "x")
    with forge.server() as server, HTTPServer() as other:
        other.expect_request("/acme/engine/info/refs").respond_with_data(
            "", 302, {"Location": f"{server}/acme/engine.git/info/refs?service=git-upload-pack"}
        )
        with pytest.raises(MegtrimError, match="cannot be fetched"):
            repository.fetch(
                parse_project_url(other.url_for("/acme/engine").rstrip("/")), sha, key="secret"
            )

    assert forge.asked == []


OTHER = "0" * 40


def test_the_newest_comes_first(tmp_path: Path, processes: ProcessRunner) -> None:
    server = make_kit(tmp_path, "v0.9.0", "v0.10.0", "v1.2.3", "v1", "vision-v1.0.0", "v1.2.3-rc1")
    found = list_versions(f"{server}/{KIT}", processes)

    assert [*found.items()] == [(tag, KIT_SHA) for tag in ("v1.2.3", "v0.10.0", "v0.9.0")]


@pytest.mark.parametrize(
    ("version", "sha", "known", "message"),
    [
        ("v9.9.9", KIT_SHA, ("v1.2.3", "v0.9.0"), "has no tag v9.9.9\n  its newest: v1.2.3, v0.9"),
        ("v1.2.3", KIT_SHA, (), "megtrim/kit has no tag v1.2.3\n  it has no tag vX.Y.Z: is it the"),
        ("v1.2.3", OTHER, ("v1.2.3",), f"found {OTHER}, expected {KIT_SHA}, the commit of v1.2.3"),
    ],
)
def test_what_the_kit_does_not_have_is_refused(
    version: str, sha: str, known: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        expect_version(KIT, version, sha, dict.fromkeys(known, KIT_SHA))
    assert message in str(caught.value)


def test_what_it_has_is_taken() -> None:
    expect_version(KIT, "v1.2.3", KIT_SHA, {"v1.2.3": KIT_SHA})


def test_a_repository_that_is_not_there_is_an_input_error(
    tmp_path: Path, processes: ProcessRunner
) -> None:
    with pytest.raises(InputError, match="the versions of the kit cannot be read from file://"):
        list_versions(f"{make_kit(tmp_path)}/megtrim/kitt", processes)


def test_a_server_that_does_not_answer_is_infrastructure() -> None:
    url = "http://127.0.0.1:9/megtrim/kit"
    offline = ProcessRunner({"PATH": os.environ["PATH"]})

    with pytest.raises(InfrastructureFailure, match=f"cannot be read from {url}: ") as caught:
        list_versions(url, offline)
    assert caught.value.hint.startswith("is it reachable from this machine?")
