"""``megtrim doctor``: what is said of the ways to devices."""

import json
import sys
from dataclasses import dataclass

import pytest

from megtrim.cli import doctor
from megtrim.util.process import ProcessRunner
from unit.cli.support import Shell


@dataclass(frozen=True)
class Kind:
    lacking: str

    def missing(self, processes: ProcessRunner) -> str:
        return self.lacking

    def describe_tools(self, processes: ProcessRunner) -> str:
        assert not self.lacking
        return "version 1"


def test_each_kind_of_device_is_shown(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_doctor_says_what_is_there(shell: Shell) -> None:
    text, data = shell("doctor"), shell("doctor", "--json")

    findings = json.loads(data.out)
    assert [each["what"] for each in findings] == [
        *("python", "cmake", "ninja", "toolchain zig", "toolchain clang-linux-arm64"),
        *("toolchain ndk", "toolchain host", "device qemu", "device adb", "device ssh"),
        *("device virtual-phone", "docker, for toolchain.image", "git", "ccache"),
    ]
    assert text.out.splitlines() == [
        f"{'ok     ' if each['there'] else 'missing'} {each['what']}: {each['text']}"
        for each in findings
    ]
    assert findings[0]["text"] == ".".join(str(number) for number in sys.version_info[:3])


def test_doctor_says_how_to_get_what_is_missing(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(shell.folder))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    answer = shell("doctor").expect(2)
    lines = {line.partition(":")[0]: line for line in answer.out.splitlines()}
    hints = {
        "toolchain zig": "pip install 'megtrim[zig]'",
        "toolchain clang-linux-arm64": "apt-get install clang-14",
        "toolchain host": "apt-get install g++",
        "device qemu": "apt-get install qemu-user-static",
        "device adb": "apt-get install adb",
        "device ssh": "apt-get install openssh-client",
        "device virtual-phone": "apt-get install",
        "git": "apt-get install git",
        "ccache": "apt-get install ccache",
    }
    assert [name for name, hint in hints.items() if hint not in lines[f"missing {name}"]] == []
    for name in ("g++", "gcc"):
        program = shell.folder / name
        program.write_text("#!/bin/sh\necho g++ 12\n", encoding="utf-8")
        program.chmod(0o755)
    content = shell("doctor").expect(0)
    assert "ok      toolchain host: g++ 12\n" in content.out
