"""What jobs hand on to each other, changed in one place each, and what the last of them says."""

import base64
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from attacks.arena import JOIN, Arena
from attacks.tampering import edit

Change = Callable[[dict[str, Any]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    verdict: str
    gate: int
    text: str

    def expect_pass(self) -> None:
        assert (self.verdict, self.gate) == ("pass", 0)

    def expect_red(self) -> None:
        assert (self.verdict, self.gate) == ("fail", 1)

    def expect_refused(self) -> None:
        assert (self.verdict, self.gate) == ("", 2)

    def expect_no_pass(self) -> None:
        assert self.verdict != "pass"
        assert self.verdict or self.gate != 0


@dataclass(frozen=True, slots=True)
class Documents:
    arena: Arena
    state: ClassVar[str] = "proven"

    @property
    def folder(self) -> Path:
        return self.arena.root / "documents"

    def start(self) -> None:
        kept = self.arena.kept(self.state)
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("results", "bundle", "evidence", "report"):
            shutil.copytree(kept / name, self.folder / name)

    def evidence(self, name: str = "evidence") -> Path:
        """Return the folder of a device job's evidence; one that is not there is a copy."""
        folder = self.folder / name
        if not folder.exists():
            shutil.copytree(self.folder / "evidence", folder)
        return folder

    def change_entry(self, change: Change, name: str = "evidence") -> None:
        edit(self.evidence(name) / "evidence.json", lambda data: change(data["entries"][0]))

    def change_result(self, change: Change, name: str = "evidence", *, at: int = 0) -> None:
        self.change_entry(lambda entry: change(entry["results"][at]), name)

    def change_bundle(self, change: Change) -> None:
        edit(self.folder / "bundle/bundle.json", change)

    def put_program(self, variant: str, program: bytes) -> None:
        digest = hashlib.sha256(program).hexdigest()
        (self.folder / "bundle/files" / digest).write_bytes(program)
        self.change_bundle(
            lambda data: data.update(programs={**_without(data, variant), variant: digest})
        )

    def play(
        self, plain: bytes, reduced: bytes, *, tolerance: float = 0.0, application: str = ""
    ) -> dict[str, Any]:
        """Let the device run these programs for one scenario; return what it saw.

        ``application``: their one argument, where they are a team's own.
        """
        self.put_program("plain", plain)
        self.put_program("reduced", reduced)
        self.change_bundle(lambda data: _only_first(data, tolerance, application))
        assert self.run() == 0
        text = (self.folder / "evidence/evidence.json").read_text(encoding="utf-8")
        row: dict[str, Any] = json.loads(text)["entries"][0]["results"][0]
        return row

    def run(self, to: str = "evidence") -> int:
        bundle = (self.folder / "bundle/bundle.json").read_bytes()
        digest = hashlib.sha256(bundle).hexdigest()
        shutil.rmtree(self.folder / to, ignore_errors=True)
        words = ("ci", "evidence", "run", "bundle", "--sha256", digest, "--class", "any")
        return self.arena.run(*words, "--to", to, cwd=self.folder).rc

    def conclude(self, *more: str, evidence: tuple[str, ...] = ("evidence",)) -> Concluded:
        given = [word for name in evidence for word in ("--evidence", name)]
        self.arena.run(*JOIN, *given, "--to", "report", *more, cwd=self.folder)
        path = self.folder / "report/verdict.json"
        text = path.read_text(encoding="utf-8") if path.exists() else "{}"
        verdict = json.loads(text).get("verdict", "")
        gate = self.arena.run("ci", "gate", "report", cwd=self.folder).rc
        return Concluded(verdict=verdict, gate=gate, text=text)


def trap(result: dict[str, Any]) -> None:
    result |= {
        "status": "trap",
        "text": "it trapped; it needs 1 region that was not kept",
        "outputs": [],
        "missing_regions": ["sample_pooling<float, 1, -465134378>"],
    }


def script(*lines: str) -> bytes:
    return "\n".join(("#!/bin/sh", *lines, "")).encode()


def leaving(outputs: Mapping[str, bytes], *more: str) -> bytes:
    """Return a script that leaves outputs; one without a name is printed."""
    lines = []
    for name, data in outputs.items():
        where = f" > 'dump/{name}'" if name else ""
        lines += [f"base64 -d{where} <<'END'", base64.encodebytes(data).decode().strip(), "END"]
    return script(*lines, *more)


def _without(bundle: dict[str, Any], variant: str) -> dict[str, str]:
    others = bundle["programs"].items()
    return {name: digest for name, digest in others if name not in (variant, "profile")}


def _only_first(bundle: dict[str, Any], tolerance: float, application: str) -> None:
    scenario = bundle["scenarios"][0]
    scenario["tolerance"] = {"absolute": tolerance, "relative": 0.0}
    bundle["scenarios"] = [scenario]
    if application:
        scenario |= {"application": "classify", "arguments": [application]}
        own = {"name": "classify", "programs": bundle["programs"], "companions": {}}
        bundle["applications"] = [own]
