import getpass
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.compile.sources import git as deploy_key
from megtrim.places.compile.sources.git import (
    KNOWN_HOSTS,
    SourceRepository,
    by_ssh,
    check_host_keys,
    choose_version,
    hold,
    is_deploy_key,
    list_versions,
)
from megtrim.places.compile.sources.gitmodules import RepositoryUrl, parse_project_url
from support.source_forge import KIT, KIT_SHA, SourceForge, make_kit
from support.sshd import Sshd, new_key, running

OTHER = "0" * 40
PROCESSES = ProcessRunner({"PATH": f"{os.environ['PATH']}:/usr/sbin"})


@pytest.fixture
def forge(tmp_path: Path) -> SourceForge:
    return SourceForge(tmp_path / "forge")


def make(folder: Path) -> SourceRepository:
    repository = SourceRepository(folder, PROCESSES)
    repository.make()
    return repository


def test_one_commit_is_fetched_without_those_before_and_shared(
    forge: SourceForge, tmp_path: Path
) -> None:
    first = forge.commit("engine", {"a.cpp": "int a;\n"})
    second = forge.commit("engine", {"a.cpp": "int b;\n"})
    repository = make(tmp_path / "x")

    repository.fetch(parse_project_url(forge.url("engine")), second)
    repository.check_out(second)
    repository.add_work_tree(tmp_path / "y", second)

    for tree in ("x", "y"):
        assert (tmp_path / tree / "a.cpp").read_text() == "int b;\n"
    assert (tmp_path / "y/.git").is_file()
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


@pytest.mark.parametrize("name", ["engine", "nothing"])
def test_a_missing_repository_or_commit_is_an_input_error(
    forge: SourceForge, tmp_path: Path, name: str
) -> None:
    forge.commit("engine", {"a.cpp": "\n"})
    with pytest.raises(InputError, match="cannot be fetched at 111111111111") as caught:
        make(tmp_path / "x").fetch(parse_project_url(forge.url(name)), "1" * 40)
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


def test_the_newest_comes_first(tmp_path: Path, processes: ProcessRunner) -> None:
    server = make_kit(tmp_path, "v0.9.0", "v0.10.0", "v1.2.3", "v1", "vision-v1.0.0", "v1.2.3-rc1")
    found = list_versions(f"{server}/{KIT}", processes)

    assert [*found.items()] == [(tag, KIT_SHA) for tag in ("v1.2.3", "v0.10.0", "v0.9.0")]


@pytest.mark.parametrize(
    ("version", "sha", "known", "message"),
    [
        ("v9.9.9", KIT_SHA, ("v1.2.3", "v0.9.0"), "has no tag v9.9.9\n  its newest: v1.2.3, v0.9"),
        ("v1.2.3", KIT_SHA, (), "megtrim/kit has no tag v1.2.3\n  it has no tag vX.Y.Z: is it the"),
        ("", "", (), "megtrim/kit has no tag vX.Y.Z\n  it has no tag vX.Y.Z: is it the kit?"),
        ("", OTHER, ("v1.2.3",), f"--kit-sha: megtrim/kit has no tag at {OTHER}\n  its newest: v1"),
        ("v1.2.3", OTHER, ("v1.2.3",), f"found {OTHER}, expected {KIT_SHA}, the commit of v1.2.3"),
    ],
)
def test_what_the_kit_does_not_have_is_refused(
    version: str, sha: str, known: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        choose_version(KIT, dict.fromkeys(known, KIT_SHA), version=version, sha=sha)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("version", "sha", "chosen"),
    [("", "", "v2.0.0"), ("v1.0.0", "", "v1.0.0"), ("", KIT_SHA, "v1.1.0")],
)
def test_the_newest_that_fits_is_chosen(version: str, sha: str, chosen: str) -> None:
    known = {"v2.0.0": OTHER, "v1.1.0": KIT_SHA, "v1.0.0": KIT_SHA}

    assert choose_version(KIT, known, version=version, sha=sha) == chosen


def test_a_server_that_does_not_answer_is_infrastructure(tmp_path: Path) -> None:
    """A repository that is not there is an input error."""
    url = "http://127.0.0.1:9/megtrim/kit"
    offline = ProcessRunner({"PATH": os.environ["PATH"]})

    with pytest.raises(InfrastructureFailure, match=f"cannot be read from {url}: ") as caught:
        list_versions(url, offline)
    assert caught.value.hint.startswith("is it reachable from this machine?")
    with pytest.raises(InputError, match="the versions of the kit cannot be read from file://"):
        list_versions(f"{make_kit(tmp_path)}/megtrim/kitt", offline)


@pytest.fixture
def sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    monkeypatch.setattr(deploy_key, "_USER", getpass.getuser())
    (tmp_path / "sshd").mkdir()
    with running(PROCESSES, tmp_path / "sshd") as server:
        yield server


def fetch(tmp_path: Path, sshd: Sshd, key: Path, host_keys: str) -> None:
    forge = SourceForge(tmp_path / "forge")
    sha = forge.commit("engine", {"a.cpp": "int a;\n"})
    repository = make(tmp_path / "project")
    url = parse_project_url(f"https://127.0.0.1{forge.bare('engine')}")
    repository.fetch(url, sha, key=key.read_text("ascii"), host_keys=host_keys)
    assert repository.has(sha)


def test_a_deploy_key_reads_a_repository_and_is_in_no_file(tmp_path: Path, sshd: Sshd) -> None:
    key = sshd.folder / "user key"
    before = set(Path("/tmp").glob("megtrim-ssh-*"))

    fetch(tmp_path, sshd, key, (sshd.folder / "known hosts").read_text("ascii"))

    kept = [path for path in (tmp_path / "project").rglob("*") if path.is_file()]
    assert kept
    assert not any(key.read_bytes() in path.read_bytes() for path in kept)
    assert set(Path("/tmp").glob("megtrim-ssh-*")) == before


def test_another_key_is_refused(tmp_path: Path, sshd: Sshd) -> None:
    other = new_key(PROCESSES, tmp_path / "other")

    with pytest.raises(InputError, match="Permission denied") as caught:
        fetch(tmp_path, sshd, other, (sshd.folder / "known hosts").read_text("ascii"))
    assert caught.value.hint.startswith("may the key read it?")


@pytest.mark.parametrize("known", [False, True], ids=["unknown", "another"])
def test_a_server_without_its_host_key_gets_nothing(
    tmp_path: Path, sshd: Sshd, known: bool
) -> None:
    """Anyone could answer in its place; what it sends is compiled and run."""
    right = (sshd.folder / "known hosts").read_text("ascii")
    wrong = right.replace("127.0.0.1", "10.0.0.1")
    if known:
        wrong = sshd.knows(new_key(PROCESSES, tmp_path / "impostor")).read_text("ascii")
    port = f"\n[10.9.9.9]:22,[127.0.0.1]:{sshd.port} ssh-ed25519 AAAA\n" if not known else ""

    with pytest.raises(InputError, match="Host key verification failed") as caught:
        fetch(tmp_path, sshd, sshd.folder / "user key", wrong + port)
    assert "engine-host-keys" in caught.value.hint


def test_a_server_that_is_away_shows_what_ssh_said(tmp_path: Path) -> None:
    key = new_key(PROCESSES, tmp_path / "key").read_text("ascii")
    url = parse_project_url("https://127.0.0.1/acme/engine")

    with pytest.raises(InfrastructureFailure, match=r": ssh: connect to host .* refused\n"):
        make(tmp_path / "project").fetch(
            url, "1" * 40, key=key, host_keys="[127.0.0.1]:1 ssh-ed25519 AAAA\n"
        )


def test_a_key_with_a_passphrase_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    PROCESSES.capture("ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(path))
    key = path.read_text("ascii")

    assert is_deploy_key(key)
    with pytest.raises(InputError, match="ssh-add does not accept it"), hold(key, "", PROCESSES):
        pass


@pytest.mark.parametrize(
    ("host", "keys", "place"),
    [
        ("github.com", KNOWN_HOSTS, "github.com"),
        ("forge.example:8443", "forge.example ssh-ed25519 AAAA\n", "forge.example"),
        ("forge.example", "[forge.example]:2222 ssh-ed25519 AAAA\n", "forge.example:2222"),
        ("forge.example", "a.example,[forge.example]:2222 ssh-rsa AAAA\n", "forge.example:2222"),
        ("forge.example", "[xforge.example]:2222 ssh-ed25519 AAAA\n", "forge.example"),
    ],
)
def test_a_repository_is_read_by_ssh_at_its_server(host: str, keys: str, place: str) -> None:
    """At the port that the host key is of; that of https says nothing."""
    url = RepositoryUrl(scheme="https", host=host, parts=("acme", "engine"), ending=".git")

    assert by_ssh(url, keys) == f"ssh://git@{place}/acme/engine.git"


@pytest.mark.parametrize(
    "text",
    [
        "forge.example",
        "@cert-authority * ssh-rsa AAAA",
        "* ssh-rsa AAAA",
        "!a ssh-rsa AAAA",
        "a ssh-rsa AAAA comment",
        "a  ssh-rsa\tAAAA",
    ],
)
def test_anything_else_is_no_host_key(text: str) -> None:
    with pytest.raises(InputError, match=r"engine-host-keys: found .*, expected HOST KIND KEY"):
        check_host_keys(text)
    assert check_host_keys("") == ""
    assert check_host_keys("\n a ssh-rsa AA==\n\nb ssh-rsa BB") == "a ssh-rsa AA==\nb ssh-rsa BB\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ghp_token",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nA A\n-----END PRIVATE KEY-----\n",
    ],
)
def test_a_token_is_no_deploy_key(text: str) -> None:
    assert not is_deploy_key(text)
    assert is_deploy_key("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
