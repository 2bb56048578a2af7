"""Virtual phones of the tests' own, at which no other test of this machine looks."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.devices.rigs import ConnectedPhone, StartPhone, phone_starter
from megtrim.util.process import ProcessRunner
from virtual_phone import adb_server as server
from virtual_phone.adb_server import AdbServer
from virtual_phone.system import rootfs


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
    with phone_starter(phone_root, phone_environment, adb_server) as start:
        yield start


@pytest.fixture
def phone(start_phone: StartPhone) -> ConnectedPhone:
    return start_phone()
