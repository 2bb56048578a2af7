"""``megtrim doctor``: what is said of the ways to devices."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from megtrim.cli import doctor
from megtrim.process import ProcessRunner
from unit.cli.support import Shell


@dataclass(frozen=True)
class Kind:
    """A kind of device that lacks something, or nothing."""

    lacking: str

    def missing(self, processes: ProcessRunner) -> str:
        return self.lacking

    def describe_tools(self, processes: ProcessRunner) -> str:
        assert not self.lacking
        return "version 1"


def test_each_kind_of_device_is_told(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is used, or what lacks and how to get it."""
    kinds = {"adb": Kind("there is no adb; apt-get install adb"), "ssh": Kind("")}
    monkeypatch.setattr(doctor, "_REMOTE", kinds)

    answer = shell("doctor", "--json")

    found = {each["what"]: each for each in json.loads(answer.out)}
    assert found["device adb"] == {
        "what": "device adb",
        "there": False,
        "text": "there is no adb; apt-get install adb",
    }
    assert found["device ssh"] == {"what": "device ssh", "there": True, "text": "version 1"}


def test_the_kinds_that_need_something_are_asked() -> None:
    """All but those of this machine itself."""
    assert list(doctor._REMOTE) == ["adb", "ssh", "virtual-phone"]
