from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from megtrim.devices.remote.adb_transport import AdbTransport, ask, find_adb
from megtrim.devices.remote.transport import ConnectionLost, NoSpace
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import ProcessRunner
from unit.devices.fake_adb import CLIENT, Server, serving, write_client


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def client(tmp_path: Path) -> Path:
    return write_client(tmp_path / "bin")


def environment(client: Path, port: int | str, **more: str) -> ProcessRunner:
    path = f"{client.parent}:{os.environ['PATH']}"
    return ProcessRunner({"PATH": path, "ANDROID_ADB_SERVER_PORT": str(port), **more})


def test_the_adb_on_the_path_and_its_server(client: Path, server: Server) -> None:
    adb = find_adb(environment(client, server.port))

    assert (adb.program, adb.version, adb.port) == (str(client), 41, server.port)
    assert adb.argv("-s", "A1", "shell") == (
        *(str(client), "-H", "127.0.0.1", "-P", str(server.port)),
        *("-s", "A1", "shell"),
    )
    assert adb.states() == {"A1": "device"}
    assert server.asked == ["host:version", "host:devices"]


def test_an_adb_by_its_path(client: Path, tmp_path: Path) -> None:
    other = write_client(tmp_path / "other")
    assert find_adb(environment(client, 5037, MEGTRIM_ADB=str(other))).program == str(other)


def test_the_port_that_servers_have_by_default(client: Path) -> None:
    env = environment(client, "").env
    assert find_adb(ProcessRunner(env)).port == 5037
    del env["ANDROID_ADB_SERVER_PORT"]
    assert find_adb(ProcessRunner(env)).port == 5037


@pytest.mark.parametrize("version", ["0028", "002a", "0001"])
def test_another_version_is_refused(client: Path, server: Server, version: str) -> None:
    server.answers["host:version"] = version
    adb = find_adb(environment(client, server.port))
    with pytest.raises(InfrastructureFailure) as caught:
        adb.require_server()
    assert caught.value.message == (
        f"the adb server on port {server.port} is of version {int(version, 16)}, "
        f"{client} of 41: using it would kill the server"
    )
    assert "MEGTRIM_ADB" in caught.value.hint


def test_no_server_is_started(client: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    adb = find_adb(environment(client, port))
    with pytest.raises(InfrastructureFailure, match=f"no adb server listens on .*:{port}"):
        adb.states()
    assert Path(f"{client}.calls").read_text() == "version\n"


@pytest.mark.parametrize(
    "raw",
    [b"", b"FAIL0004gone", b"OKAY", b"OKAY0004", b"OKAYxxxx", b"HTTP/1.1", b"OKAY0002zz"],
)
def test_what_is_no_adb_server(client: Path, server: Server, raw: bytes) -> None:
    server.raw = raw
    adb = find_adb(environment(client, server.port))
    with pytest.raises(InfrastructureFailure, match=rf"{server.port} does not answer"):
        adb.require_server()


def test_an_answer_of_several_pieces(server: Server) -> None:
    server.answers["host:devices"] = "x" * 60000
    assert ask(server.port, "host:devices") == "x" * 60000


@pytest.mark.parametrize("port", ["x", "0", "65536", "-1", "²"])
def test_ports_that_are_none(client: Path, port: str) -> None:
    with pytest.raises(InputError, match="expected a port"):
        find_adb(environment(client, port))


def test_no_adb_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no program 'adb'"):
        find_adb(ProcessRunner({"PATH": str(tmp_path)}))
    with pytest.raises(InputError, match="there is no program '/nowhere/adb'"):
        find_adb(ProcessRunner({"PATH": os.environ["PATH"], "MEGTRIM_ADB": "/nowhere/adb"}))


def test_something_else_that_is_called_adb(tmp_path: Path) -> None:
    client = write_client(tmp_path / "bin", CLIENT.replace("Android", "Another"))
    with pytest.raises(InputError, match="does not print its version"):
        find_adb(environment(client, 5037))


def test_a_server_that_answers_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then is no answer, however often it comes."""
    monkeypatch.setattr("megtrim.devices.remote.adb_transport._ANSWER_S", 0.5)

    def dribble(listener: socket.socket) -> None:
        with listener.accept()[0] as peer, suppress(OSError):
            peer.sendall(b"OKAYffff")
            for _ in range(100):
                peer.sendall(b"x")
                time.sleep(0.1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=dribble, args=(listener,), daemon=True).start()
        began_s = time.monotonic()
        with pytest.raises(InfrastructureFailure, match="its answer takes too long"):
            ask(listener.getsockname()[1], "host:version")
        assert time.monotonic() - began_s < 3


@pytest.fixture
def link(client: Path, server: Server) -> AdbTransport:
    path = f"{client.parent}:{os.environ['PATH']}"
    env = {"PATH": path, "ANDROID_ADB_SERVER_PORT": str(server.port)}
    return AdbTransport(find_adb(ProcessRunner(env)), "A1", "p")


def test_every_call_names_its_phone(link: AdbTransport, client: Path, tmp_path: Path) -> None:
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
    (tmp_path / "x").write_text("")
    client.write_text("#!/bin/sh\necho 'adb: error: No space left on device' >&2; exit 1\n")
    expected = NoSpace if verb == "push" else ConnectionLost
    with pytest.raises(expected, match=f"while {step} x"):
        if verb == "push":
            link.push(tmp_path / "x", "/there/y", timeout_s=5)
        else:
            link.pull("/there/x", tmp_path / "y", timeout_s=5)
