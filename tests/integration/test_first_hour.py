"""The first hour: a model that no one configured, and what is added to it, by what is printed."""

import json
import os
import pty
import re
import shlex
import shutil
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import ROOT, SAMPLE, KeepFolder, Project, run_megtrim
from support.pages import blocks_of, new_folder
from unit.core.cli.support import SAMPLE_MODELS

pytestmark = [pytest.mark.chain]

_LONGEST_SILENCE_S = 15
"""Five on a machine that has nothing else to do; without a heartbeat, a compiler is silent for
a minute."""


def at_a_terminal(*words: str, cwd: Path) -> tuple[int, str, float]:
    """Run megtrim on a terminal: exit status, what it wrote, and its longest silence in seconds."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.environ.pop("CI", None)  # a person's terminal
        os.execv(sys.executable, [sys.executable, "-m", "megtrim", *words])
    written = b""
    times = [time.monotonic()]
    while data := _read(terminal):
        written += data
        times.append(time.monotonic())
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    silence_s = max(later - sooner for sooner, later in pairwise(times))
    return os.waitstatus_to_exitcode(status), written.decode(errors="replace"), silence_s


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux says so when the last program at a terminal ends
        return b""


def follow(folder: Path, printed: str) -> str:
    """Look at what the last lines of a trim name, and do what they say."""
    said: dict[str, str] = dict(re.findall(r"^(program|report): (.*)$", printed, re.MULTILINE))
    assert (folder / said["program"]).read_bytes().startswith(b"\x7fELF")
    assert f"<code>{said['program']}</code>" in (folder / said["report"]).read_text("utf-8")
    step = re.search(r"^next: (.*):\n(.*)$", printed, re.MULTILINE)
    assert step is not None
    what, command = step.groups()
    if what.startswith("set a budget"):
        with (folder / what.rpartition(" ")[2]).open("a", encoding="utf-8") as config:
            config.write(f"{command}\n")
    elif command.startswith("megtrim "):
        megtrim(folder, *shlex.split(command)[1:])
    else:
        run(folder, "sh", "-c", command)
    return what


def run(folder: Path, *argv: str) -> None:
    done = ProcessRunner(dict(os.environ)).run(Command(argv=argv, timeout_s=60, cwd=folder))
    assert done.ok, f"{done.stdout}\n{done.stderr}"


def test_one_command_from_a_model_to_a_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an edit. The screen never stands still, and the next run knows how long it takes.

    What it prints at its end is true, and leads to a committed keep set, a budget and an export.
    """
    # Runs of other tests at the same time would write what they took into the same file.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path.with_name("state")))
    run(tmp_path, "git", "init", "--quiet")
    for key, value in (("name", "me"), ("email", "me@example.invalid")):
        run(tmp_path, "git", "config", f"user.{key}", value)
    shutil.copy(SAMPLE_MODELS / "tiny-quant.sample", tmp_path / "mine.sample")

    status, written, silence_s = at_a_terminal("trim", "mine.sample", cwd=tmp_path)

    assert status == 0, written
    verdict = json.loads((tmp_path / "megtrim-out/final/verdict.json").read_text("utf-8"))
    assert (verdict["verdict"], len(verdict["scenarios"])) == ("pass", 1)
    assert silence_s <= _LONGEST_SILENCE_S

    followed = [follow(tmp_path, re.sub(r"\r|\x1b\[[0-9;]*[mK]", "", written))]
    followed += [follow(tmp_path, megtrim(tmp_path, "trim").stdout) for _ in range(2)]
    commit = "commit the configuration and the keep set"
    assert followed == [commit, "set a budget, in megtrim.yaml", "export it"]
    assert (tmp_path / "megtrim-out/load_and_run-trimmed").is_dir()
    assert "next: " not in megtrim(tmp_path, "trim").stdout
    assert megtrim(tmp_path, "trim").stdout.count("\n") == 1
    left = json.loads(megtrim(tmp_path, "trim", "--json").stdout)
    assert "next" not in left
    assert all((tmp_path / name).is_file() for name in (*left["program"], left["report"]))

    planned = run_megtrim("plan", "--out", "elsewhere", cwd=tmp_path)
    assert re.search("^time: .* when these tasks were last done", planned.stdout, re.MULTILINE)


def megtrim(folder: Path, *argv: str) -> CompletedCommand:
    done = run_megtrim(*argv, cwd=folder)
    assert done.rc == 0, f"{done.stdout}\n{done.stderr}"
    return done


def test_a_model_and_a_level_are_added_without_a_word_of_a_person(tmp_path: Path) -> None:
    project = Project(tmp_path)
    keep = KeepFolder(tmp_path / "megtrim/keepset")
    (tmp_path / "models").mkdir()
    for name in ("mobile", "quant"):
        shutil.copy(SAMPLE / f"models/tiny-{name}.sample", tmp_path / f"models/{name}.sample")
    megtrim(tmp_path, "init", "models/mobile.sample")
    project.change(toolchain={"kind": "host"})
    megtrim(tmp_path, "trim")
    before = keep.texts()

    added = megtrim(tmp_path, "init", "--add", "models/quant.sample")
    (line,) = (each for each in added.stdout.splitlines() if each.startswith("next: megtrim "))
    assert "updated" in megtrim(tmp_path, *shlex.split(line)[2:]).stderr
    assert before.items() < keep.texts().items()

    project.change(trim={"level": "function"})
    megtrim(tmp_path, "trim")
    assert all(record.functions for record in keep.read().scenarios)
    megtrim(tmp_path, "trim", "--committed")
    megtrim(tmp_path, "check")


def test_four_commands_gate_pull_requests(tmp_path: Path) -> None:
    """Without an edit. A job finds all that it needs in the commit."""
    page = "docs/how-to/gate-pull-requests.md"
    blocks = blocks_of(page, (ROOT / page).read_text(encoding="utf-8"))
    first = next(each for each in blocks if each.script.startswith("pip install "))
    install, *typed = first.script.splitlines()
    assert (len(typed), "megtrim @ " in install) == (3, True)
    place = new_folder(tmp_path)
    remote = tmp_path / "remote.git"
    processes = ProcessRunner({**os.environ, **place.env})
    processes.capture("git", "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    for words in (
        *(("config", f"user.{key}", "me@example.invalid") for key in ("name", "email")),
        ("checkout", "-q", "-b", "main"),
        ("commit", "-q", "--allow-empty", "-m", "Begin"),
        ("remote", "add", "origin", str(remote)),
        ("push", "-q", "-u", "origin", "main"),
    ):
        processes.capture("git", "-C", str(place.folder), *words)

    done = place.type(replace(first, script="\n".join(typed)))
    assert done.rc == 0, done.stdout + done.stderr

    clone = tmp_path / "clone"
    out = str(place.folder / "megtrim-out")
    processes.capture("git", "clone", "--quiet", str(remote), str(clone))
    assert {path.name for path in (clone / ".github/workflows").iterdir()} == {
        "megtrim.yml",
        "megtrim-forks.yml",
        "megtrim-refresh.yml",
    }
    assert "verdict: pass." in megtrim(clone, "trim", "--committed", "--out", out).stdout


def test_each_trims_for_the_same_models(tmp_path: Path, shared_out: Path) -> None:
    (tmp_path / "models").mkdir()
    for name in ("tiny-mobile.sample", "tiny-mobile.data.npy"):
        shutil.copy(SAMPLE / "models" / name, tmp_path / "models")
    other = "linux/megtrim.yaml"

    megtrim(tmp_path, "init", "models/tiny-mobile.sample")
    text = (tmp_path / "megtrim.yaml").read_text(encoding="utf-8")
    (tmp_path / "linux").mkdir()
    (tmp_path / other).write_text(text.replace("models: megtrim", "models: ../megtrim"), "utf-8")
    for config in ("megtrim.yaml", other):
        file = tmp_path / config
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("kind: auto\n", "kind: host\n"), encoding="utf-8")
        checked = run_megtrim("check", "--config", config, cwd=tmp_path)
        assert checked.rc == 2
        assert "because there is no megtrim/keepset" in checked.stderr
        shown = megtrim(tmp_path, "trim", "--config", config, "--out", str(shared_out)).stdout
        assert "verdict: pass." in shown
        assert "1 of 1 scenario" in shown

    first = tmp_path / "megtrim/keepset"
    second = tmp_path / "linux/megtrim/keepset"
    kept = [sorted(each.relative_to(top) for each in top.rglob("*")) for top in (first, second)]
    assert kept[0] == kept[1] == [Path("tiny-mobile"), Path("tiny-mobile", "default@any.json")]
