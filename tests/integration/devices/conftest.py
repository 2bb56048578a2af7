"""Virtual phones of the tests' own, at which no other test of this machine looks."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from integration.devices.rigs import ConnectedPhone, StartPhone
from megtrim.libs.util.process import Command, ProcessRunner
from virtual_phone import adb_server as server
from virtual_phone import manager
from virtual_phone.adb_server import AdbServer
from virtual_phone.spec import PhoneSpec
from virtual_phone.system import rootfs

_NUMBERS = count()


@pytest.fixture(scope="session")
def phone_root() -> Path:
    return rootfs.provide(ProcessRunner(os.environ))


@pytest.fixture(scope="session")
def phone_environment() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="mt-", dir="/tmp") as folder:
        yield {**os.environ, "XDG_RUNTIME_DIR": folder}


@pytest.fixture(scope="session")
def adb_server(phone_environment: dict[str, str]) -> Iterator[AdbServer]:
    with server.private_server(ProcessRunner(phone_environment)) as running:
        yield running


@pytest.fixture
def start_phone(
    phone_root: Path, phone_environment: dict[str, str], adb_server: AdbServer
) -> Iterator[StartPhone]:
    processes = ProcessRunner({**phone_environment, **adb_server.env})
    with ExitStack() as stack:

        def start(**wish: Any) -> ConnectedPhone:
            asked = PhoneSpec(**{"name": f"test-{next(_NUMBERS)}", "cpu": "cortex-a76", **wish})
            phone = stack.enter_context(manager.run_phone(processes, phone_root, asked))
            server.connect(processes, adb_server, phone.serial)
            disconnect = (adb_server.adb, "disconnect", phone.serial)
            stack.callback(processes.run, Command(argv=disconnect, timeout_s=10))
            return ConnectedPhone(**asdict(phone), server=adb_server, processes=processes)

        yield start


@pytest.fixture
def phone(start_phone: StartPhone) -> ConnectedPhone:
    return start_phone()
