"""Elsewhere than on GitHub: the commands of the templates, as they stand there, and the templates.

The two pages have the same two commands, so they are run once, in a folder as a job finds it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from junitparser import JUnitXml

from integration.conftest import MakeProject
from megtrim.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import ROOT

pytestmark = pytest.mark.chain

GITLAB = (ROOT / "docs/how-to/use-gitlab-ci.md").read_text(encoding="utf-8")
ANY = (ROOT / "docs/how-to/use-any-ci.md").read_text(encoding="utf-8")


def read_blocks(page: str, language: str) -> list[str]:
    """Return the blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


JOB: dict[str, Any] = yaml.safe_load(read_blocks(GITLAB, "yaml")[0])["megtrim"]
SCRIPT: list[str] = JOB["script"]


def run(command: str, folder: Path) -> CompletedCommand:
    """Run a line of a script as a job does."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    processes = ProcessRunner({**os.environ, "PATH": path})
    return processes.run(Command(argv=("sh", "-e", "-c", command), cwd=folder, timeout_s=900))


def test_the_template_is_what_gitlab_reads(tmp_path: Path) -> None:
    """By GitLab's own schema, which refuses a misspelt key."""
    file = tmp_path / ".gitlab-ci.yml"
    check = f"{sys.executable} -m check_jsonschema --builtin-schema vendor.gitlab-ci {file}"
    file.write_text(read_blocks(GITLAB, "yaml")[0], encoding="utf-8")
    right = run(check, tmp_path)
    file.write_text(read_blocks(GITLAB, "yaml")[0].replace("retry:", "retries:"), encoding="utf-8")

    assert right.rc == 0, right.stdout
    assert run(check, tmp_path).rc == 1


def test_all_templates_have_the_same_commands() -> None:
    """A reader may go from one host to another."""
    installs, commands = read_blocks(ANY, "sh")
    [jenkins] = read_blocks(ANY, "groovy")

    assert commands.splitlines() == SCRIPT
    assert installs.splitlines() == JOB["before_script"]
    assert re.findall(r"sh '(.*)'", jenkins) == [*JOB["before_script"], *SCRIPT]


def test_the_commands_trim_and_judge(make_project: MakeProject, tmp_path: Path) -> None:
    """In a fresh checkout; a broken budget makes the second red, a mistake the first."""
    project = make_project("tiny-mobile")
    assert project.run("trim").rc == 0
    checkout = tmp_path / "checkout"
    shutil.copytree(project.folder, checkout)
    final = checkout / "megtrim-out/final"

    for command in SCRIPT:
        ended = run(command, checkout)
        assert ended.rc == 0, ended.stderr
    files = [*JOB["artifacts"]["paths"], *JOB["artifacts"]["reports"].values()]
    assert [name for name in files if not (checkout / name).exists()] == []
    assert json.loads((final / "gitlab-code-quality.json").read_text("utf-8")) == []

    config = project.read() | {"budgets": [{"artifact": "load_and_run", "max": "1 KiB"}]}
    (checkout / "megtrim.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    assert [run(command, checkout).rc for command in SCRIPT] == [0, 1]
    [finding] = json.loads((final / "gitlab-code-quality.json").read_text("utf-8"))
    assert (finding["severity"], finding["location"]["path"]) == ("critical", "megtrim.yaml")

    (checkout / "megtrim.yaml").write_text("version: 3\n", encoding="utf-8")
    assert run(SCRIPT[0], checkout).rc == 2
    [suite] = JUnitXml.fromfile(str(final / "junit.xml"))
    assert suite.errors == 1
