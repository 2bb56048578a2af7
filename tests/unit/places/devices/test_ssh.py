import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.config.device import DeviceSettings, PowerPort
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.devices import ssh
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.remote.transport import ConnectionLost
from megtrim.places.devices.ssh import SshTransport, address, advice, options
from unit.places.devices.machines import spec_of

SETTINGS = DeviceSettings(host="rock.lan", port=2222, user="tester")


class Recorder(ProcessRunner):
    """Runs nothing, and answers every call alike."""

    def __init__(self, env: dict[str, str], stdout: str = "", stderr: str = "", rc: int = 0):
        super().__init__(env)
        self.commands: list[Command] = []
        self._ending = (stdout, stderr, rc)

    def run(self, command: Command) -> CompletedCommand:
        self.commands.append(command)
        stdout, stderr, rc = self._ending
        return CompletedCommand(
            argv=command.argv, rc=rc, stdout=stdout, stderr=stderr, wall_s=0, timed_out=False
        )


def make_spec(processes: ProcessRunner, tmp_path: Path, settings: DeviceSettings) -> DeviceSpec:
    return spec_of(processes, tmp_path, name="rock", settings=settings)


def test_what_an_entry_must_name(tmp_path: Path) -> None:
    processes = Recorder({"MEGTRIM_STATE": str(tmp_path)})
    with pytest.raises(InputError, match="device rock: kind ssh needs the host"):
        ssh.find(make_spec(processes, tmp_path, DeviceSettings()))
    for label in ("key", "known_hosts"):
        settings = DeviceSettings(host="h", **{label: tmp_path / "none"})
        with pytest.raises(InputError, match=f"device rock: {label}: there is no file .*/none"):
            ssh.find(make_spec(processes, tmp_path, settings))
    assert processes.commands == []


def test_a_board_is_one_machine_whatever_its_user(tmp_path: Path) -> None:
    processes = Recorder({"MEGTRIM_STATE": str(tmp_path)})
    power = PowerPort(hub="1-1", port=2)
    settings = DeviceSettings(host="Rock.LAN", port=2222, user="me", power=power)
    (board,) = ssh.find(make_spec(processes, tmp_path, settings))

    assert (board.name, board.kind, board.key) == ("rock", "ssh", "ssh:rock.lan:2222")
    assert board.power == power


def test_a_board_that_does_not_answer_is_not_asked_to_reboot(tmp_path: Path) -> None:
    """No one would hear it, and waiting for it to boot would take minutes."""
    env = {"MEGTRIM_STATE": str(tmp_path)}
    broken = Recorder(env, stderr="Connection refused", rc=255)
    with pytest.raises(InfrastructureFailure, match="cannot be asked to reboot"):
        ssh.find(make_spec(broken, tmp_path, SETTINGS))[0].reboot()
    assert not any("reboot" in command.argv[-1] for command in broken.commands)


def test_a_connection_that_breaks_is_a_reboot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Recorder({"MEGTRIM_STATE": str(tmp_path)}, stderr="Connection reset by peer", rc=255)
    (board,) = ssh.find(make_spec(broken, tmp_path, SETTINGS))
    monkeypatch.setattr(board, "alive", lambda: True)
    board.reboot()
    assert "reboot" in broken.commands[0].argv[-1]


def test_what_this_machine_has(tmp_path: Path) -> None:
    assert "apt-get install openssh-client" in ssh.missing(ProcessRunner({"PATH": str(tmp_path)}))
    assert ssh.missing(ProcessRunner(os.environ)) == ""
    assert ssh.describe_tools(ProcessRunner(os.environ)).startswith("OpenSSH_")


class Script(ProcessRunner):
    """A board that is this machine: runs what ssh would have sent, after a login shell's start."""

    def __init__(self, env: dict[str, str], start: str = "") -> None:
        super().__init__(env)
        self._start = start

    def run(self, command: Command) -> CompletedCommand:
        argv = ("bash", "-c", self._start + command.argv[-1])
        return super().run(replace(command, argv=argv))


def understood(settings: DeviceSettings) -> dict[str, str]:
    argv = ("ssh", "-G", "-F", "none", *options(settings, 7.4), "--", settings.host)
    reported = ProcessRunner(os.environ).capture(*argv)
    return dict(line.split(" ", 1) for line in reported.splitlines() if " " in line)


def test_ssh_never_asks_and_never_trusts() -> None:
    reported = understood(SETTINGS)

    where = [reported[name] for name in ("hostname", "port", "user")]
    assert where == ["rock.lan", "2222", "tester"]
    assert reported["batchmode"] == "yes"
    assert reported["stricthostkeychecking"] in {"true", "yes"}
    assert reported["updatehostkeys"] in {"false", "no"}
    assert reported["connecttimeout"] == "7"
    assert (reported["serveraliveinterval"], reported["serveralivecountmax"]) == ("5", "3")
    assert reported["forwardagent"] == "no"
    assert reported["identitiesonly"] == "no"
    assert "/.ssh/known_hosts" in reported["userknownhostsfile"]


def test_files_with_any_name(tmp_path: Path) -> None:
    folder = tmp_path / 'a b"c%h'
    settings = DeviceSettings(host="h", key=folder / "key", known_hosts=folder / "known")
    reported = understood(settings)

    assert reported["identityfile"] in {str(folder / "key"), str(folder / "key").replace("%", "%%")}
    assert reported["identitiesonly"] == "yes"
    assert "a b" in reported["userknownhostsfile"]
    assert reported["globalknownhostsfile"] == "/dev/null"


def test_a_host_that_looks_like_an_option(tmp_path: Path) -> None:
    processes = Recorder({"MEGTRIM_STATE": str(tmp_path)}, stderr="x", rc=255)
    settings = DeviceSettings.model_construct(host="-oProxyCommand=x")
    link = SshTransport("b", processes, settings, connect_s=1)
    link.disconnect()

    assert processes.commands[0].argv[-2:] == ("--", "-oProxyCommand=x")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (DeviceSettings(host="h"), "h"),
        (DeviceSettings(host="h", user="u"), "u@h"),
        (SETTINGS, "tester@rock.lan:2222"),
    ],
)
def test_an_address(settings: DeviceSettings, expected: str) -> None:
    assert address(settings) == expected


@pytest.mark.parametrize(
    ("said", "begins", "holds"),
    [
        (
            "No ED25519 host key is known for x and you have requested strict checking.",
            "this board's key is not known here: compare `ssh-keyscan -p 2222 rock.lan` with",
            "then add the line to ~/.ssh/known_hosts",
        ),
        (
            "Host key for x has changed and you have requested strict checking.",
            "another machine answers, or the board was set up again: compare `ssh-keyscan",
            "then replace its line in ~/.ssh/known_hosts",
        ),
        ("Host key verification failed.", "this board's key is not known", "add the line"),
        ("u@h: Permission denied (publickey).", "the board refuses our keys", "authorized_keys"),
        ("Too many authentication failures", "the board refuses our keys", "authorized_keys"),
        ("connect to host x port 22: No route to host", "is the board on", "ssh -p 2222 rock.lan"),
        ("Could not resolve hostname x: Name or", "is the board on", "ssh -p 2222 rock.lan"),
        ("connect to host x: Connection timed out", "is the board on", "ssh -p 2222 rock.lan"),
        ("cat: /x: Permission denied", "", ""),
        ("", "", ""),
    ],
)
def test_what_to_do(said: str, begins: str, holds: str) -> None:
    hint = advice(said, SETTINGS)

    assert hint.startswith(begins)
    assert holds in hint
    assert bool(hint) == bool(begins)


def socket_of(env: dict[str, str], settings: DeviceSettings = SETTINGS) -> str:
    processes = Recorder(env)
    SshTransport("b", processes, settings, connect_s=1).disconnect()
    found = [word for word in processes.commands[0].argv if word.startswith("ControlPath=")]
    return found[0].removeprefix("ControlPath=").strip('"') if found else ""


def test_a_connection_is_shared_in_a_private_folder() -> None:
    # pytest's folders have names too long for a socket.
    with tempfile.TemporaryDirectory(prefix="mt") as short:
        env = {"XDG_RUNTIME_DIR": short}
        one = socket_of(env)
        same = socket_of(env)
        other = socket_of(env, DeviceSettings(host="rock.lan", port=2222, user="someone"))

        assert one == same != other
        folder = Path(one).parent
        assert folder == Path(short) / "megtrim" / f"ssh-{os.getuid()}"
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.chmod(0o770)
        assert socket_of(env) == ""


def test_a_path_that_is_too_long_for_a_socket(tmp_path: Path) -> None:
    assert socket_of({"XDG_RUNTIME_DIR": str(tmp_path / ("x" * 90))}) == ""
    assert socket_of({"MEGTRIM_STATE": "/proc/none"}) == ""


def test_a_login_shell_that_prints_is_refused(tmp_path: Path) -> None:
    """Its text would precede every file that is fetched; the script itself worked."""
    processes = Script({"MEGTRIM_STATE": str(tmp_path)}, "echo welcome\n")
    link = SshTransport("b", processes, SETTINGS, connect_s=1)

    with pytest.raises(InfrastructureFailure, match="prints 'welcome' before every command"):
        link.shell("# megtrim:probe\necho 3", timeout_s=9)


def test_a_script_is_run_by_sh_whatever_the_login_shell_is(tmp_path: Path) -> None:
    link = SshTransport("b", Script({"MEGTRIM_STATE": str(tmp_path)}), SETTINGS, connect_s=1)
    lines: list[str] = []
    outcome = link.shell('# megtrim:probe\necho "$1"; exit 4', "a 'b'", timeout_s=9)
    link.shell("# megtrim:probe\necho 1; echo 2", timeout_s=9, on_line=lines.append)

    assert (outcome.rc, outcome.stdout) == (4, "a 'b'\n")
    assert lines[:2] == ["1", "2"]


def test_a_key_that_is_not_trusted_is_remembered(tmp_path: Path) -> None:
    refusing = Recorder(
        {"MEGTRIM_STATE": str(tmp_path)}, stderr="Host key verification failed.", rc=255
    )
    link = SshTransport("b", refusing, SETTINGS, connect_s=1)
    with pytest.raises(ConnectionLost) as failed:
        link.shell("# megtrim:probe\n", timeout_s=9)

    assert link.distrusted
    assert failed.value.hint.startswith("this board's key is not known here")


def test_files_go_through_the_shell(tmp_path: Path) -> None:
    link = SshTransport("b", Script({"MEGTRIM_STATE": str(tmp_path)}), SETTINGS, connect_s=1)
    (tmp_path / "source").write_bytes(b"\0data\n")
    link.push(tmp_path / "source", str(tmp_path / "it's there"), timeout_s=9)
    link.pull(str(tmp_path / "it's there"), tmp_path / "back", timeout_s=9)

    assert (tmp_path / "back").read_bytes() == b"\0data\n"
    with pytest.raises(ConnectionLost, match="while pulling absent"):
        link.pull(str(tmp_path / "absent"), tmp_path / "back", timeout_s=9)
