"""Boards behind a real sshd: what goes wrong on the way to them, and how soon it is known."""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices import kinds as device_kinds
from megtrim.places.devices import ssh
from megtrim.places.devices.device import (
    ConnectionState,
    DeviceSpec,
    MachineBusy,
    NoUsableMachine,
    Timeouts,
)
from megtrim.places.devices.remote.transport import ConnectionLost
from megtrim.places.devices.ssh import Board
from support import sshd
from support.haste import scale
from support.sshd import Sshd
from unit.places.devices.machines import spec_of

HASTE = scale(0.15)
LONG_S = 30.0
MakeSpec = Callable[..., DeviceSpec]


@pytest.fixture
def board(processes: ProcessRunner, tmp_path: Path) -> Iterator[Sshd]:
    with sshd.running(processes, tmp_path) as running:
        yield running


@pytest.fixture
def make_spec(board: Sshd) -> Iterator[MakeSpec]:
    with tempfile.TemporaryDirectory(prefix="mt") as state:
        env = {**os.environ, "MEGTRIM_STATE": state}
        env.pop("XDG_RUNTIME_DIR", None)

        def make(timeouts: Timeouts = Timeouts(), **settings: object) -> DeviceSpec:  # noqa: B008
            return spec_of(
                ProcessRunner(env),
                board.folder,
                name="rock-5",
                machine=os.uname().machine,
                settings=board.settings.model_copy(update=settings),
                timeouts=timeouts,
            )

        yield make
        ssh.find(make())[0].reconnect()


def script(folder: Path, text: str) -> Path:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    return path


def only(spec: DeviceSpec) -> Board:
    (board,) = ssh.find(spec)
    return board


def failure_of(board: Board) -> InfrastructureFailure:
    began = time.monotonic()
    with pytest.raises(InfrastructureFailure) as failed, board.open():
        pass
    assert time.monotonic() - began < 5
    return failed.value


def test_a_board_says_what_it_is(make_spec: MakeSpec) -> None:
    one = only(make_spec())
    other = only(make_spec(user="someone"))

    assert one.alive()
    assert one.facts()["host"] == "127.0.0.1"
    assert len(one.facts()) > 2
    assert one.key == other.key
    assert one.presence() is ConnectionState.READY


def test_calls_share_one_connection(make_spec: MakeSpec, board: Sshd) -> None:
    one = only(make_spec())
    assert one.alive()
    first = set(board.sessions())
    for _ in range(5):
        assert one.alive()
    assert first
    assert set(board.sessions()) == first

    one.reconnect()
    assert one.alive()
    assert not set(board.sessions()) & first


def test_a_board_whose_key_is_not_known(make_spec: MakeSpec, tmp_path: Path) -> None:
    known = tmp_path / "nothing known"
    known.touch()
    one = only(make_spec(known_hosts=known))

    failure = failure_of(one)
    assert "Host key verification failed" in failure.message
    assert failure.hint.startswith("this board's key is not known here: compare `ssh-keyscan -p")
    assert failure.hint.endswith(f"then add the line to {known}")
    assert known.read_bytes() == b""
    assert not one.alive()
    assert one.presence() is ConnectionState.UNAUTHORIZED
    assert failure.hint in one.trouble


def test_a_board_with_another_key(make_spec: MakeSpec, board: Sshd) -> None:
    known = board.knows(board.new_key("other key"))
    failure = failure_of(only(make_spec(known_hosts=known)))

    assert failure.message.startswith(f"rock-5 (127.0.0.1:{board.port}): ")
    assert failure.hint.startswith("another machine answers, or the board was set up again")
    assert str(known) in failure.hint


def test_a_board_that_refuses_our_key(make_spec: MakeSpec, board: Sshd) -> None:
    key = board.new_key("refused key")
    failure = failure_of(only(make_spec(key=key)))

    assert "Permission denied (publickey)" in failure.message
    assert failure.hint.startswith(f"the board refuses {key}: add its public half to")


def test_another_key_does_not_use_the_connection_of_the_first(
    make_spec: MakeSpec, board: Sshd
) -> None:
    assert only(make_spec()).alive()
    assert not only(make_spec(key=board.new_key("refused key"))).alive()


def test_a_board_that_is_not_there(make_spec: MakeSpec) -> None:
    for settings in ({"port": 1}, {"host": "no-such-board.invalid"}):
        one = only(make_spec(**settings))
        assert failure_of(one).hint.startswith("is the board on, is `host` right")
        assert one.presence() is ConnectionState.READY


def test_a_shell_that_greets(processes: ProcessRunner, make_spec: MakeSpec, tmp_path: Path) -> None:
    (tmp_path / "loud").mkdir()
    with sshd.running(processes, tmp_path / "loud", greeting="Welcome aboard") as loud:
        failure = failure_of(only(replace(make_spec(), settings=loud.settings)))

    assert "its login shell prints 'Welcome aboard' before every command" in failure.message
    assert "~/.bashrc" in failure.hint


def test_a_connection_that_breaks_under_a_run(
    make_spec: MakeSpec, board: Sshd, tmp_path: Path
) -> None:
    device = device_kinds.KINDS["ssh"](make_spec())
    program = script(tmp_path, "echo begun > mark; sleep 60")
    with ExitStack() as stack:
        lease = stack.enter_context(device.reserve())
        directory = stack.enter_context(lease.open())
        directory.put(program, "program")
        threading.Timer(1.5, board.signal, (signal.SIGKILL,)).start()
        began = time.monotonic()
        with pytest.raises(ConnectionLost, match="the link was lost while running"):
            directory.run(("program",), timeout_s=LONG_S)
        assert time.monotonic() - began < 8

    with device.reserve() as lease, lease.open() as directory:
        assert len(board.run_directories()) == 1
        directory.put(script(tmp_path, "exit 6"), "program")
        assert directory.run(("program",), timeout_s=LONG_S).rc == 6
    assert board.run_directories() == []


def test_a_board_that_freezes_under_a_run(make_spec: MakeSpec, board: Sshd, tmp_path: Path) -> None:
    one = only(make_spec(HASTE))
    with ExitStack() as stack:
        directory = stack.enter_context(one.open())
        directory.put(script(tmp_path, "sleep 60"), "program")
        threading.Timer(1.0, board.signal, (signal.SIGSTOP,)).start()
        began = time.monotonic()
        with pytest.raises(ConnectionLost, match=r"no sign of life for .* while running program"):
            directory.run(("program",), timeout_s=LONG_S)
        assert time.monotonic() - began < 15
        board.signal(signal.SIGCONT)


def test_a_board_that_freezes_is_reached_again(make_spec: MakeSpec, board: Sshd) -> None:
    # A busy machine takes a second and more for the handshake of a board that is well.
    one = only(make_spec(scale(0.4)))
    assert one.alive()
    board.signal(signal.SIGSTOP)
    assert not one.alive()
    one.reconnect()
    assert one.alive()
    board.signal(signal.SIGCONT)


def test_a_pool_of_a_board_that_refuses_us(make_spec: MakeSpec, board: Sshd) -> None:
    device = device_kinds.KINDS["ssh"](make_spec(HASTE, key=board.new_key("refused key")))
    began = time.monotonic()
    with pytest.raises(NoUsableMachine, match="authorized_keys"), device.reserve():
        pass
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST"])
def test_a_board_under_two_hosts_is_one(board: Sshd, make_spec: MakeSpec, host: str) -> None:
    known = Path(str(board.settings.known_hosts))
    lines = known.read_text(encoding="utf-8").splitlines()
    name = f"[localhost]:{board.settings.port}"
    known.write_text("".join(f"{name},{line}\n" for line in lines), encoding="utf-8")
    busy = replace(Timeouts(), wait_s=0.5)
    first, second = (
        device_kinds.KINDS["ssh"](spec) for spec in (make_spec(), make_spec(busy, host=host))
    )
    other = only(make_spec(host=host))
    assert other.identify() == only(make_spec()).identify()
    assert other.identify().boot
    with first.reserve(), pytest.raises(MachineBusy, match="held by"), second.reserve():
        pass
    with second.reserve():
        pass
    other.reconnect()
