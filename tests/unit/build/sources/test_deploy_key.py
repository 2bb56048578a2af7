from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from megtrim.build.sources import deploy_key
from megtrim.build.sources.deploy_key import (
    KNOWN_HOSTS,
    by_ssh,
    check_host_keys,
    hold,
    is_deploy_key,
)
from megtrim.build.sources.git import SourceRepository
from megtrim.build.sources.repository_url import RepositoryUrl, parse_project_url
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import ProcessRunner
from support.source_forge import SourceForge
from support.sshd import Sshd, new_key, running

PROCESSES = ProcessRunner({"PATH": f"{os.environ['PATH']}:/usr/sbin"})
ENGINE = RepositoryUrl(scheme="https", host="github.com", parts=("acme", "engine"), ending=".git")


@pytest.fixture
def sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    monkeypatch.setattr(deploy_key, "_USER", getpass.getuser())
    (tmp_path / "sshd").mkdir()
    with running(PROCESSES, tmp_path / "sshd") as server:
        yield server


def private_key(path: Path) -> str:
    return path.read_text(encoding="ascii")


def fetch(tmp_path: Path, sshd: Sshd, key: str, host_keys: str) -> SourceRepository:
    forge = SourceForge(tmp_path / "forge")
    sha = forge.commit("engine", {"a.cpp": "int a;\n"})
    repository = SourceRepository(tmp_path / "project", PROCESSES)
    repository.make()
    url = parse_project_url(f"https://127.0.0.1{forge.bare('engine')}")
    repository.fetch(url, sha, key=key, host_keys=host_keys)
    assert repository.has(sha)
    return repository


def test_a_deploy_key_reads_a_repository_and_is_in_no_file(tmp_path: Path, sshd: Sshd) -> None:
    key = private_key(sshd.folder / "user key")
    before = set(Path("/tmp").glob("megtrim-ssh-*"))

    fetch(tmp_path, sshd, key, private_key(sshd.folder / "known hosts"))

    kept = [path for path in (tmp_path / "project").rglob("*") if path.is_file()]
    assert kept
    assert not any(key.encode() in path.read_bytes() for path in kept)
    assert set(Path("/tmp").glob("megtrim-ssh-*")) == before


def test_another_key_is_refused(tmp_path: Path, sshd: Sshd) -> None:
    other = private_key(new_key(PROCESSES, tmp_path / "other"))

    with pytest.raises(InputError, match="Permission denied") as caught:
        fetch(tmp_path, sshd, other, private_key(sshd.folder / "known hosts"))
    assert caught.value.hint.startswith("may the key read it?")


@pytest.mark.parametrize("known", [False, True], ids=["unknown", "another"])
def test_a_server_without_its_host_key_gets_nothing(
    tmp_path: Path, sshd: Sshd, known: bool
) -> None:
    """Anyone could answer in its place; what it sends is compiled and run."""
    right = private_key(sshd.folder / "known hosts")
    impostor = new_key(PROCESSES, tmp_path / "impostor")
    wrong = private_key(sshd.knows(impostor)) if known else right.replace("127.0.0.1", "10.0.0.1")
    port = f"\n[10.9.9.9]:22,[127.0.0.1]:{sshd.port} ssh-ed25519 AAAA\n" if not known else ""

    with pytest.raises(InputError, match="Host key verification failed") as caught:
        fetch(tmp_path, sshd, private_key(sshd.folder / "user key"), wrong + port)
    assert "engine-host-keys" in caught.value.hint


def test_a_server_that_is_away_shows_what_ssh_said(tmp_path: Path) -> None:
    """Git's own last lines ask for access rights, and no one is at fault."""
    repository = SourceRepository(tmp_path / "project", PROCESSES)
    repository.make()
    key = private_key(new_key(PROCESSES, tmp_path / "key"))
    url = parse_project_url("https://127.0.0.1/acme/engine")

    with pytest.raises(InfrastructureFailure, match=r": ssh: connect to host .* refused\n"):
        repository.fetch(url, "1" * 40, key=key, host_keys="[127.0.0.1]:1 ssh-ed25519 AAAA\n")


def test_a_key_with_a_passphrase_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    PROCESSES.capture("ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(path))
    key = private_key(path)

    assert is_deploy_key(key)
    with pytest.raises(InputError, match="ssh-add does not take it"), hold(key, "", PROCESSES):
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


def test_lines_of_known_hosts_are_read() -> None:
    assert check_host_keys("") == ""
    assert check_host_keys("\n a ssh-rsa AA==\n\nb ssh-rsa BB") == "a ssh-rsa AA==\nb ssh-rsa BB\n"


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
