"""The transport to a phone: every call names it, and a transfer that fails says so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from megtrim.devices.remote.adb_client import find_adb
from megtrim.devices.remote.adb_transport import AdbTransport
from megtrim.devices.remote.transport import ConnectionLost, NoSpace
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.process import ProcessRunner
from unit.devices.fake_adb import Server, serving, write_client


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def client(tmp_path: Path) -> Path:
    return write_client(tmp_path / "bin")


@pytest.fixture
def link(client: Path, server: Server) -> AdbTransport:
    path = f"{client.parent}:{os.environ['PATH']}"
    env = {"PATH": path, "ANDROID_ADB_SERVER_PORT": str(server.port)}
    return AdbTransport(find_adb(ProcessRunner(env)), "A1", "p")


def test_every_call_names_its_phone(link: AdbTransport, client: Path, tmp_path: Path) -> None:
    """And the server's address; a script's exit status and output are its own."""
    (tmp_path / "source").write_text("x")
    link.push(tmp_path / "source", str(tmp_path / "there"), timeout_s=5)
    link.pull(str(tmp_path / "there"), tmp_path / "back", timeout_s=5)
    outcome = link.shell('# megtrim:probe\necho "<$1>"; exit 3', "a b", timeout_s=5)

    assert (outcome.rc, outcome.stdout) == (3, "<a b>\n")
    assert (tmp_path / "back").read_text() == "x"
    where = f"-H 127.0.0.1 -P {link.adb.port} -s A1"
    own = [call for call in Path(f"{client}.calls").read_text().splitlines() if call != "version"]
    assert len(own) == 3
    assert all(call.startswith(where) for call in own)


def test_a_script_without_its_end_is_a_lost_link(link: AdbTransport, client: Path) -> None:
    """What it printed until then is no answer."""
    client.write_text(
        "#!/bin/sh\n[ $1 = version ] || { echo 3; echo 'error: closed' >&2; exit 1; }\n"
    )
    with pytest.raises(ConnectionLost, match=r"p: the link was lost while .*: error: closed"):
        link.shell("# megtrim:probe\necho 3", timeout_s=5)


def test_no_call_starts_a_server(link: AdbTransport, server: Server, client: Path) -> None:
    """Adb would end one of another version, under everyone who uses it."""
    server.answers["host:version"] = "0028"
    with pytest.raises(InfrastructureFailure, match="of version 40"):
        link.shell("exit 0", timeout_s=5)

    assert Path(f"{client}.calls").read_text().splitlines() == ["version"]


@pytest.mark.parametrize(("verb", "step"), [("push", "pushing"), ("pull", "fetching")])
def test_a_transfer_that_fails(
    link: AdbTransport, client: Path, tmp_path: Path, verb: str, step: str
) -> None:
    """A full phone is distinguished from a broken link."""
    (tmp_path / "x").write_text("")
    client.write_text("#!/bin/sh\necho 'adb: error: No space left on device' >&2; exit 1\n")
    expected = NoSpace if verb == "push" else ConnectionLost
    with pytest.raises(expected, match=f"while {step} x"):
        if verb == "push":
            link.push(tmp_path / "x", "/there/y", timeout_s=5)
        else:
            link.pull("/there/x", tmp_path / "y", timeout_s=5)
