"""Names in foreign files, printed: neither a terminal nor a log obeys them."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.megtrim_cli import SAMPLE, run_megtrim

HOSTILE = "\x1b[2Jx\u202ey\u200b\r\x9b1m\n::error::pwned\n ##[group]z\U000e0041"
CONFIG = {
    "version": 1,
    "engine": {"kind": "sample", "source": "engine"},
    "models": [{"name": "m", "file": "m.sample", "scenarios": [{"name": "s"}]}],
}
VERBS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a key": ({"megtrim.yaml": CONFIG | {HOSTILE: 1}}, ("check",)),
    "a value": ({"megtrim.yaml": CONFIG | {"version": HOSTILE}}, ("plan",)),
    "a model": ({"megtrim.yaml": CONFIG | {"models": f"{HOSTILE}/*.yaml"}}, ("trim",)),
    "a keep set": ({"megtrim.yaml": CONFIG | {"keep_set": HOSTILE}}, ("stage", "build")),
    "a device": (
        {"megtrim.yaml": CONFIG | {"devices": [{"name": HOSTILE, "kind": HOSTILE}]}},
        ("devices", "list"),
    ),
    "a file": ({}, ("model", "show", HOSTILE)),
    "an option": ({}, ("trim", f"--{HOSTILE}")),
    "a verb": ({}, (HOSTILE,)),
    "a verdict": ({"r/verdict.json": {"version": 2, HOSTILE: HOSTILE}}, ("ci", "gate", "r")),
    "an ending": (
        {"r/ending.json": {"version": 1, "exit": 2, "message": HOSTILE, "hint": HOSTILE}},
        ("ci", "gate", "r"),
    ),
    "a bundle": (
        {"b/bundle.json": {"version": HOSTILE, HOSTILE: HOSTILE}},
        ("ci", "evidence", "run", "b", "--sha256", "0" * 64, "--class", "any", "--to", "e"),
    ),
    "a crash report": (
        {"crash.txt": f"signal 5\n#00 pc 0000000000001234 {HOSTILE}\n"},
        ("explain", "--crash", "crash.txt"),
    ),
    "sizes": ({"sizes.json": {"version": 2, HOSTILE: 1}}, ("size", "diff", "sizes.json", HOSTILE)),
}


@pytest.mark.parametrize("name", VERBS)
def test_a_name_that_a_terminal_obeys(name: str, tmp_path: Path) -> None:
    files, words = VERBS[name]
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / path).write_text(text, encoding="utf-8")
    ended = run_megtrim(*words, cwd=tmp_path)
    said = ended.stdout + ended.stderr

    assert ended.rc in (1, 2, 3), said
    assert said
    assert not {*"\x1b\u202e\u200b\r\x9b\U000e0041"} & {*said}
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in said.splitlines())


SECRET = "-----BEGIN PRIVATE KEY-----\n"
DEFERRED = CONFIG | {"trim": {"level": "deferred"}, "toolchain": {"kind": "host"}}


def leave_link(place: Path) -> None:
    place.symlink_to(place.with_name("key"))


def leave_copy(place: Path) -> None:
    place.write_text(SECRET, encoding="utf-8")


def leave_device(place: Path) -> None:
    place.symlink_to("/dev/zero")


@pytest.mark.parametrize("leave", [leave_link, leave_copy, leave_device])
def test_a_record_that_is_none(leave: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "key").write_text(SECRET, encoding="utf-8")
    (tmp_path / "megtrim.yaml").write_text(json.dumps(DEFERRED), encoding="utf-8")
    shutil.copytree(SAMPLE, tmp_path / "engine")
    shutil.copy(SAMPLE / "models/tiny-vgg.sample", tmp_path / "m.sample")
    leave(tmp_path / "record")
    ended = run_megtrim("trim", "--reached", "record", cwd=tmp_path)

    assert ended.rc == 2
    assert re.search(r"\brecord(?::1)?(?::|\n)", ended.stderr)
    assert "PRIVATE" not in ended.stdout + ended.stderr
