"""What a stage found is shown everywhere: no command contradicts the last result."""

from __future__ import annotations

import json
import os
from pathlib import Path

import junitparser
import pytest

from integration.conftest import MakeProject
from support.fork_server import run_megtrim
from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain]


def flaky(project: Project, switch: Path) -> None:
    """Let the reduced build compute something else while a file is there: the same program."""
    source = project.folder / "engine/src/load_and_run/outputs.cpp"
    text = source.read_text(encoding="utf-8")
    written = "out.append(tensor.as<char>(), tensor.bytes());"
    assert text.count(f"return {written}") == 1
    planted = f"""{written}
#if SAMPLE_NO_EXCEPTIONS
    if (FILE* file = fopen("{switch}", "r")) {{
        fclose(file);
        out.back() ^= 1;
    }}
#endif
    return out;"""
    source.write_text(
        "#include <cstdio>\n" + text.replace(f"return {written}", planted), encoding="utf-8"
    )


VERBS = ("stage verdict", "report", "trim")
"""Those that show a verdict."""


def stories(project: Project) -> dict[str, object]:
    """Return what everybody says who may be asked."""
    asked = {verb: project.run(verb) for verb in VERBS}
    final = project.out / "final"
    junit = junitparser.JUnitXml.fromfile(str(final / "junit.xml"))
    explained = json.loads(project.run("explain", "verdict", "--json").stdout)
    return {
        **{verb: ended.rc for verb, ended in asked.items()},
        **{f"{verb} says": "verdict: pass" in ended.stdout for verb, ended in asked.items()},
        "verify": project.run("verify").rc,
        "gate": gate(project),
        "JUnit": junit.failures,
        "explain": explained["verdict"] == "pass",
    }


def gate(project: Project) -> int:
    return run_megtrim("ci", "gate", str(project.out / "final")).rc


def test_a_flaky_engine_is_red_everywhere_until_it_is_verified_again(
    make_project: MakeProject, tmp_path: Path
) -> None:
    """And green everywhere then; what was found before is not made again."""
    project = make_project("tiny-mobile")
    project.out = tmp_path / "out"
    switch = tmp_path / "flaky"
    flaky(project, switch)
    green = dict.fromkeys((*VERBS, "verify", "gate", "JUnit"), 0)
    says = {f"{verb} says": True for verb in VERBS}
    every = {**green, **says, "explain": True}
    assert project.run("trim").rc == 0
    assert stories(project) == every

    switch.touch()
    assert project.run("verify", "--again").rc == 1
    assert gate(project) == 3  # the report that trim left describes another result
    assert stories(project) == {
        **dict.fromkeys(green, 1),
        **dict.fromkeys(says, False),
        "explain": False,
    }

    switch.unlink()
    assert project.run("verify", "--again").rc == 0
    assert stories(project) == every


def test_a_verification_that_only_took_another_time_makes_nothing_again(
    make_project: MakeProject, tmp_path: Path
) -> None:
    """Times, logs and conditions are no result."""
    project = make_project("tiny-mobile")
    # Another worker's project of the same model must not verify in between.
    project.out = tmp_path / "out"
    assert project.run("trim").rc == 0

    assert project.run("verify", "--again").rc == 0
    ended = project.run("trim")

    assert ended.rc == 0
    assert "everything is up to date: nothing was built or run" in ended.stderr


def flip(path: Path) -> None:
    """Change one bit, and restore the time of the last write."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


DAMAGED = {
    "reduce/reduced": "bin/load_and_run",
    "profile/tiny-mobile/default@any": "trace.txt",
    "header/keepset": "keepset.json",
    "size/artifacts": "sizes.json",
}


def test_damage_is_named_and_mended(make_project: MakeProject, tmp_path: Path) -> None:
    """One bit of what is run, parsed, compared or handed out; the time of a write shows nothing."""
    project = make_project("tiny-mobile")
    project.out = tmp_path / "out"
    assert project.run("trim").rc == 0
    reported = json.loads(project.run("report", "--json").stdout)["done"]
    paths = {task: Path(reported[task]["folder"]) / name for task, name in DAMAGED.items()}
    whole = {task: path.read_bytes() for task, path in paths.items()}
    for path in paths.values():
        flip(path)

    ended = project.run("trim")

    assert ended.rc == 0, ended.stderr
    for task, name in DAMAGED.items():
        assert f"was damaged: {name}: it does not have the sha256" in ended.stderr
        assert f"  run   {task}\n" in ended.stderr
    assert {task: path.read_bytes() for task, path in paths.items()} == whole


def test_another_program_of_the_same_size_does_not_run(
    make_project: MakeProject, tmp_path: Path
) -> None:
    """It would pass from the store, and no one would have verified it."""
    project = make_project("tiny-mobile")
    project.out = tmp_path / "out"
    assert project.run("trim").rc == 0
    reduced = project.file("reduce/reduced", "bin/load_and_run")
    whole = reduced.read_bytes()
    reduced.write_bytes(b"#!/bin/sh\nexit 0\n".ljust(len(whole), b"#"))

    ended = project.run("verify", "--again")

    assert ended.rc == 0
    assert "bin/load_and_run: it does not have the sha256" in ended.stderr
    assert reduced.read_bytes() == whole


ODD: tuple[dict[str, object], ...] = (
    {"result": {}},
    {"result": None},
    {"result": {"verdict": "x"}},
    {"files": {}},
    {"files": {"../../x": {"sha256": "0", "bytes": 0}}},
    {"inputs": {"a": 3}},
    {"key": ["x"]},
    {"name": {"a": 1}},
)


def test_an_odd_manifest_is_made_again(make_project: MakeProject, tmp_path: Path) -> None:
    """Of every stage, whatever is odd about it: never our own bug, never another verdict."""
    project = make_project("tiny-mobile")
    project.out = tmp_path / "out"
    assert project.run("trim").rc == 0
    for turn in range(2):
        manifests = sorted(project.out.glob("*/*/manifest.json"))
        for at, path in enumerate(manifests):
            data = json.loads(path.read_text(encoding="utf-8"))
            path.write_text(json.dumps(data | ODD[(at + 3 * turn) % len(ODD)]), encoding="utf-8")
        ended = project.run("trim")

        assert ended.rc == 0, ended.stderr
        for path in manifests:
            if path.parts[-3] != "report":  # another, where other files were compiled meanwhile
                assert f"{path.parent} was damaged: its manifest is not" in ended.stderr
        assert project.verdict()["verdict"] == "pass"
