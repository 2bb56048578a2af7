import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.config.device import DeviceSettings, PowerPort
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices import adb
from megtrim.places.devices.adb import SHARED_SERIAL, AdbTransport, ask, find_adb
from megtrim.places.devices.device import ConnectionState, DeviceSpec
from megtrim.places.devices.remote.transport import ConnectionLost, NoSpace
from unit.places.devices.machines import spec_of

CLIENT = """\
#!/bin/sh
echo "$*" | head -n 1 >>"$0.calls"
[ "$1" != version ] || { echo "Android Debug Bridge version 1.0.41"; exit; }
shift 4
case $1 in
  connect|disconnect) exit 0 ;;
esac
[ "$1" = -s ] || exit 9
shift 2
case $1 in
  shell) exec sh -c "$3" ;;
  push|pull) exec cp "$2" "$3" ;;
  reboot) echo 'error: closed' >&2; exit 1 ;;
esac
"""


def write_client(folder: Path, text: str = CLIENT) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / "adb"
    program.write_text(text)
    program.chmod(0o755)
    return program


@dataclass(slots=True)
class Server:
    """What listens. ``answers`` are given by question; ``raw`` goes out whatever was asked."""

    port: int = 0
    answers: dict[str, str] = field(
        default_factory=lambda: {"host:version": "0029", "host:devices": "A1\tdevice\n"}
    )
    raw: bytes | None = None
    asked: list[str] = field(default_factory=list)

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                size = int(connection.recv(4), 16)
                question = connection.recv(size).decode()
                self.asked.append(question)
                text = self.answers.get(question, "").encode()
                answer = b"OKAY%04x%s" % (len(text), text)
                connection.sendall(answer if self.raw is None else self.raw)


GETPROP = """\
#!/bin/sh
[ $# = 0 ] || { echo 1; exit; }
printf '[ro.product.model]: [Pixel 6]\\r\\n[ro.x]: []\\nnoise\\n'
"""
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server.port = listener.getsockname()[1]
        thread = threading.Thread(target=server.serve, args=(listener,), daemon=True)
        thread.start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.fixture
def client(tmp_path: Path) -> Path:
    client = write_client(tmp_path / "bin")
    (client.parent / "getprop").write_text(GETPROP)
    (client.parent / "getprop").chmod(0o755)
    return client


def environment(client: Path, port: int | str, **more: str) -> ProcessRunner:
    path = f"{client.parent}:{os.environ['PATH']}"
    return ProcessRunner({"PATH": path, "ANDROID_ADB_SERVER_PORT": str(port), **more})


@pytest.fixture
def spec(client: Path, server: Server, tmp_path: Path) -> DeviceSpec:
    return spec_of(environment(client, server.port), tmp_path, name="pixel-6")


def named(spec: DeviceSpec, **settings: Any) -> DeviceSpec:
    return replace(spec, settings=DeviceSettings.model_construct(**settings))


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of tests may have a port that another one had."""
    monkeypatch.setattr(adb, "_KNOWN", {})


def calls(client: Path) -> list[str]:
    return Path(f"{client}.calls").read_text().splitlines()


def test_what_is_attached(spec: DeviceSpec, server: Server) -> None:
    server.answers["host:devices"] = "B\tunauthorized\nA1\tdevice\n"
    assert adb.list_phones(spec.processes) == (
        adb.AttachedPhone(
            serial="A1",
            state="device",
            properties={"ro.product.model": "Pixel 6", "ro.x": "", "boot id": BOOT},
            keys=("adb:A1",),
        ),
        adb.AttachedPhone(serial="B", state="unauthorized", properties={}, keys=("adb:B",)),
    )


def test_by_a_serial_that_is_not_attached_now(spec: DeviceSpec) -> None:
    power = PowerPort(hub="1-1", port=2)
    (phone,) = adb.find(named(spec, serial="Z", power=power))
    assert (phone.name, phone.key, phone.kind) == ("pixel-6", "adb:Z", "adb")
    assert (phone.link.label, phone.power) == ("pixel-6 (serial Z)", power)


@pytest.mark.parametrize(
    ("match", "count"),
    [
        ({"ro.product.model": "Pixel 6"}, 1),
        ({"ro.product.model": "Pixel 6", "ro.x": ""}, 1),
        ({"ro.product.model": "Pixel 6", "ro.x": "y"}, 0),
        ({"ro.product.model": "Pixel"}, 0),
        ({}, 1),
    ],
)
def test_by_all_properties(spec: DeviceSpec, match: dict[str, str], count: int) -> None:
    assert [phone.name for phone in adb.find(named(spec, match=match))] == ["pixel-6"] * count


ONE = ("S", "b1")
TWO = ("T", "b2")
LATER = ("S", "b3")
NETWORK = ("127.0.0.1:5555", "[::1]:5555", "localhost:5555", "rack.lan:5555")
TLS = "adb-S-aBcDeF (2)._adb-tls-connect._tcp"


@pytest.mark.parametrize(
    ("said", "rows"),
    [
        ({"S": ONE, "T": TWO}, ["S adb:S", "T adb:T"]),
        ({"S": ONE, "10.0.0.7:5555": ONE, TLS: ONE}, [f"S adb:S adb:10.0.0.7:5555 adb:{TLS}"]),
        ({TLS: ONE, "10.0.0.7:5555": ONE}, [f"10.0.0.7:5555 adb:S adb:10.0.0.7:5555 adb:{TLS}"]),
        (dict.fromkeys(NETWORK, ONE), [" adb:".join(("127.0.0.1:5555 adb:S", *NETWORK))]),
        (
            {"emulator-5554": ONE, "localhost:5555": ONE},
            ["emulator-5554 adb:S adb:emulator-5554 adb:localhost:5555"],
        ),
        ({"a:1": ONE, "b:1": LATER}, ["a:1 adb:a:1", "b:1 adb:b:1"]),
        ({"a:1": ONE, "b:1": LATER, "c:1": ONE}, ["a:1 adb:a:1 adb:c:1", "b:1 adb:b:1"]),
        ({"a:1": ("", "b1"), "b:1": ("", "b1")}, ["a:1 adb:a:1 adb:b:1"]),
        ({"a:1": ("", "b1"), "b:1": ("", "b2")}, ["a:1 adb:a:1", "b:1 adb:b:1"]),
        ({"S": None, "a:1": ONE}, ["a:1 adb:S adb:a:1"]),
        ({"S": None, "a:1": TWO}, ["S adb:S", "a:1 adb:T adb:a:1"]),
    ],
)
def test_one_phone_has_one_row_whatever_its_addresses(
    spec: DeviceSpec,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    said: dict[str, tuple[str, str] | None],
    rows: list[str],
) -> None:
    server.answers["host:devices"] = "".join(
        f"{address}\t{'device' if own else 'offline'}\n" for address, own in said.items()
    )

    def answer(_adb: object, serial: str, _timeouts: object) -> dict[str, str]:
        own = said[serial]
        return {"ro.serialno": own[0], "boot id": own[1]} if own else {}

    monkeypatch.setattr(adb, "_properties", answer)
    found = [" ".join((each.serial, *each.keys)) for each in adb.list_phones(spec.processes)]
    assert found == rows
    phones = adb.find(named(spec, serial="S" if "adb:S" in rows[0] else "b:1"))
    assert [phone.name for phone in phones] == ["pixel-6"]


@pytest.mark.parametrize(
    ("address", "called"),
    [
        ("S", True),
        ("s", False),
        ("10.0.0.7", True),
        ("10.0.0.7:5555", True),
        ("10.0.0.7:5556", False),
        ("RACK.lan:5555", True),
        ("rack.lan.:5555", True),
        ("rack.lan", True),
        ("[::1]:5555", True),
        ("adb-S-aBcDeF._adb-tls-connect._tcp", True),
        ("adb-S-aBcDeF._adb-tls-connect._tcp.", True),
        ("adb-S", False),
    ],
)
def test_a_phone_is_called_by_each_of_its_addresses(address: str, called: bool) -> None:
    keys = ("S", "10.0.0.7:5555", "rack.lan:5555", "[::1]:5555")
    tls = "adb-S-aBcDeF._adb-tls-connect._tcp."
    phone = adb.AttachedPhone(
        serial="S", state="device", properties={}, keys=tuple(f"adb:{key}" for key in (*keys, tls))
    )
    assert phone.is_called(address) is called


def test_two_phones_of_one_serial_are_named_by_their_ports(
    spec: DeviceSpec, server: Server
) -> None:
    """By USB, adb takes a port for a name; a server that shows none cannot reach either."""
    server.answers["host:devices"] = "S\tdevice\nS\tdevice\nT\tdevice\n"
    lines = "".join(f"S   device usb:1-{n} product:x transport_id:{n}\n" for n in (1, 2))
    server.answers["host:devices-l"] = f"{lines}T   device usb:1-3 transport_id:3\n"
    states = find_adb(spec.processes).states()
    assert states == {"T": "device", "usb:1-1": "device", "usb:1-2": "device"}

    server.answers["host:devices-l"] = "S\tdevice\nS\tdevice\nT\tdevice\n"
    states = find_adb(spec.processes).states()
    assert states == {"T": "device", "S": SHARED_SERIAL}
    (twin,) = adb.find(named(spec, serial="S"))
    assert (twin.presence(), twin.trouble) == (ConnectionState.OFFLINE, SHARED_SERIAL)


@pytest.mark.parametrize(
    ("state", "presence"),
    [
        ("device", ConnectionState.READY),
        ("unauthorized", ConnectionState.UNAUTHORIZED),
        ("offline", ConnectionState.OFFLINE),
        ("recovery", ConnectionState.OFFLINE),
    ],
)
def test_presence(spec: DeviceSpec, server: Server, state: str, presence: ConnectionState) -> None:
    (phone,) = adb.find(named(spec, serial="A1"))
    server.answers["host:devices"] = f"A1\t{state}\n"
    assert phone.presence() is presence
    server.answers["host:devices"] = f"A2\t{state}\n"
    assert phone.presence() is ConnectionState.ABSENT


def test_a_phone_is_alive_once_it_has_booted(spec: DeviceSpec, client: Path) -> None:
    (phone,) = adb.find(named(spec, serial="A1"))
    assert (phone.alive(), phone.trouble) == (True, "")
    (client.parent / "getprop").write_text("#!/bin/sh\necho 0\n")
    assert not phone.alive()
    (client.parent / "getprop").unlink()
    assert phone.alive()
    client.write_text("#!/bin/sh\necho 'error: closed' >&2; exit 1\n")
    assert not phone.alive()
    assert phone.trouble == (
        "pixel-6 (serial A1): the link was lost while asking whether it is there: error: closed"
    )


def test_facts(spec: DeviceSpec) -> None:
    (phone,) = adb.find(named(spec, serial="A1"))
    facts = phone.facts()
    assert facts["serial"] == "A1"
    assert facts["machine"]


def test_no_call_starts_a_server(spec: DeviceSpec, client: Path, server: Server) -> None:
    """Adb would end one of another version, under everyone who uses it."""
    (phone,) = adb.find(named(spec, serial="A1"))
    server.answers["host:version"] = "0028"
    with pytest.raises(InfrastructureFailure, match="of version 40"):
        phone.link.shell("exit 0", timeout_s=5)
    with pytest.raises(InfrastructureFailure, match="of version 40"):
        phone.reconnect()
    assert not phone.alive()
    assert len(calls(client)) == 2


def test_a_reconnection(spec: DeviceSpec, client: Path) -> None:
    """Over the network it must be given up first."""
    for serial in ("A1", "10.0.0.2:5555"):
        adb.find(named(spec, serial=serial))[0].reconnect()
    words = [call.split(" ", 4)[4] for call in calls(client) if call != "version"]
    assert [each for each in words if " shell " not in each] == [
        "-s A1 reconnect",
        "disconnect 10.0.0.2:5555",
        "connect 10.0.0.2:5555",
    ]


def test_after_a_reboot_other_addresses_are_asked_again(
    spec: DeviceSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {"old": ("S", "b1"), "other": ("T", "b2")}
    known = {(1, at): {"ro.serialno": own[0], "boot id": own[1]} for at, own in before.items()}
    monkeypatch.setattr(adb, "_KNOWN", known)
    monkeypatch.setattr(adb, "_ask", lambda *_: {"ro.serialno": "S", "boot id": "b3"})
    adb.find(named(spec, serial="Z"))[0].identify()
    assert sorted(address for _, address in known) == ["A1", "Z", "other"]


def test_a_reboot_that_cannot_be_asked_for(spec: DeviceSpec) -> None:
    (phone,) = adb.find(named(spec, serial="A1"))
    with pytest.raises(ConnectionLost, match="while asking for a reboot: error: closed"):
        phone.reboot()


def test_what_doctor_says(spec: DeviceSpec, client: Path, server: Server) -> None:
    assert adb.missing(spec.processes) == ""
    said = f"{client} (protocol 41, server on port {server.port}, 1 phone)"
    assert adb.describe_tools(spec.processes) == said
    server.answers["host:version"] = "0028"
    assert "using it would kill the server" in adb.missing(spec.processes)
    assert "no program 'adb'" in adb.missing(ProcessRunner({"PATH": "/nowhere"}))


def test_the_adb_on_the_path_and_its_server(client: Path, server: Server) -> None:
    adb = find_adb(environment(client, server.port))

    assert (adb.program, adb.version, adb.port) == (str(client), 41, server.port)
    assert adb.argv("-s", "A1", "shell") == (
        str(client),
        "-H",
        "127.0.0.1",
        "-P",
        str(server.port),
        "-s",
        "A1",
        "shell",
    )
    assert adb.states() == {"A1": "device"}
    assert server.asked == ["host:version", "host:devices"]


def test_an_adb_by_its_path_and_the_port_that_servers_have_by_default(
    client: Path, tmp_path: Path
) -> None:
    other = write_client(tmp_path / "other")
    env = environment(client, "", MEGTRIM_ADB=str(other)).env
    assert find_adb(ProcessRunner(env)).program == str(other)
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
    "raw", [b"", b"FAIL0004gone", b"OKAY", b"OKAY0004", b"OKAYxxxx", b"HTTP/1.1", b"OKAY0002zz"]
)
def test_what_is_no_adb_server(client: Path, server: Server, raw: bytes) -> None:
    server.raw = raw
    adb = find_adb(environment(client, server.port))
    with pytest.raises(
        InfrastructureFailure,
        match=rf":{server.port} is not an adb server|{server.port} does not answer",
    ):
        adb.require_server()


def test_an_answer_of_several_pieces(server: Server) -> None:
    server.answers["host:devices"] = "x" * 60000
    assert ask(server.port, "host:devices") == "x" * 60000


def test_something_else_that_is_called_adb(tmp_path: Path) -> None:
    client = write_client(tmp_path / "bin", CLIENT.replace("Android", "Another"))
    with pytest.raises(InputError, match="does not print its version"):
        find_adb(environment(client, 5037))


@pytest.mark.parametrize(
    ("port", "more", "said"),
    [
        *((port, {}, "expected a port") for port in ("x", "0", "65536", "-1", "²")),
        (5037, {"PATH": "/nowhere"}, "there is no program 'adb'"),
        (5037, {"MEGTRIM_ADB": "/nowhere/adb"}, "there is no program '/nowhere/adb'"),
    ],
)
def test_what_is_no_adb_or_no_port_is_refused(
    client: Path, port: int | str, more: dict[str, str], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        find_adb(ProcessRunner({**environment(client, port).env, **more}))


def test_a_server_that_answers_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then is no answer, however often it comes."""
    monkeypatch.setattr("megtrim.places.devices.adb._ANSWER_S", 0.5)

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
def link(spec: DeviceSpec) -> AdbTransport:
    return AdbTransport(find_adb(spec.processes), "A1", "p")


def test_every_call_names_its_phone(link: AdbTransport, client: Path, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("x")
    link.push(tmp_path / "source", str(tmp_path / "there"), timeout_s=5)
    link.pull(str(tmp_path / "there"), tmp_path / "back", timeout_s=5)
    outcome = link.shell('# megtrim:probe\necho "<$1>"; exit 3', "a b", timeout_s=5)

    assert (outcome.rc, outcome.stdout) == (3, "<a b>\n")
    assert (tmp_path / "back").read_text() == "x"
    where = f"-H 127.0.0.1 -P {link.adb.port} -s A1"
    own = [call for call in calls(client) if call != "version"]
    assert len(own) == 3
    assert all(call.startswith(where) for call in own)


def test_a_script_without_its_end_is_a_lost_link(link: AdbTransport, client: Path) -> None:
    client.write_text(
        "#!/bin/sh\n[ $1 = version ] || { echo 3; echo 'error: closed' >&2; exit 1; }\n"
    )
    with pytest.raises(ConnectionLost, match=r"p: the link was lost while .*: error: closed"):
        link.shell("# megtrim:probe\necho 3", timeout_s=5)


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
