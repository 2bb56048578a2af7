"""A stand-in for the ``docker`` command: it writes down how it was called, and ends as shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from megtrim.libs.util.process import ProcessRunner

ID = "sha256:" + "ab" * 32
_PROGRAM = """\
#!/usr/bin/env python3
import json, os, sys
folder = os.path.dirname(os.path.abspath(__file__))
with open(f"{folder}/calls", "a") as calls:
    calls.write(json.dumps({"argv": sys.argv[1:], "env": dict(os.environ)}) + "\\n")
answers = json.load(open(f"{folder}/answers"))
for start, rc, stdout, stderr in answers:
    if sys.argv[1:1 + len(start)] == start:
        sys.stdout.write(stdout)
        sys.stderr.write(stderr)
        sys.exit(rc)
"""


class Call(TypedDict):
    argv: list[str]
    env: dict[str, str]


@dataclass(frozen=True, slots=True)
class Stub:
    folder: Path
    processes: ProcessRunner

    @classmethod
    def make(cls, folder: Path, **env: str) -> Stub:
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / "docker"
        program.write_text(_PROGRAM, encoding="utf-8")
        program.chmod(0o755)
        (folder / "calls").touch()
        stub = cls(folder, ProcessRunner({"PATH": f"{folder}:/usr/bin:/bin", **env}))
        stub.answer()
        return stub

    def answer(self, *answers: tuple[list[str], int, str, str]) -> None:
        """Say how it ends when its arguments begin like this: status, stdout, stderr."""
        config = {"Env": ["PATH=/opt/bin:/usr/bin", "ANDROID_NDK_ROOT=/opt/ndk"]}
        inspected = json.dumps([{"Id": ID, "Config": config}])
        known = (["image", "inspect"], 0, inspected, "")
        secure = (["info"], 0, '["name=seccomp"]\n', "")
        (self.folder / "answers").write_text(json.dumps([*answers, known, secure]), "utf-8")

    def calls(self, *start: str) -> list[list[str]]:
        return [call["argv"] for call in self._calls() if call["argv"][: len(start)] == [*start]]

    def env(self, *start: str) -> dict[str, str]:
        found = [call["env"] for call in self._calls() if call["argv"][: len(start)] == [*start]]
        return found[-1]

    def _calls(self) -> list[Call]:
        lines = (self.folder / "calls").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]
