"""Elsewhere than on GitHub: the commands of the templates, as they stand there, and the templates.

All have the same two commands, so they are run once, in a folder as a job finds it.
"""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from junitparser import JUnitXml
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from integration.conftest import MakeProject
from megtrim.core.cli.main import CRASH_FILE
from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.engines.megengine.generations import LITE
from megtrim.hosting.caller_texts import Kit, gitlab_pipeline
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import ROOT
from support.source_forge import SourceForge

pytestmark = pytest.mark.chain

PAGE = (ROOT / "docs/how-to/use-any-ci.md").read_text(encoding="utf-8")


def read_blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


JOB: dict[str, Any] = yaml.safe_load(read_blocks(PAGE, "yaml")[0])["megtrim"]
SCRIPT: list[str] = JOB["script"]
*INSTALLS, UNTRUST, TRUST, FETCH, CLEAN, BASELINE = JOB["before_script"]
[JENKINSFILE] = read_blocks(PAGE, "groovy")
JENKINS: list[str] = re.findall(r"sh '(.*)'", JENKINSFILE)
JENKINS_FETCH = JENKINS[-5]
JENKINS_BASELINE = JENKINS[-3]


def run(command: str, folder: Path, **variables: str) -> CompletedCommand:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    processes = ProcessRunner({**os.environ, "PATH": path, **variables})
    return processes.run(Command(argv=("sh", "-e", "-c", command), cwd=folder, timeout_s=900))


def test_the_template_is_what_gitlab_reads(tmp_path: Path) -> None:
    file = tmp_path / ".gitlab-ci.yml"
    check = f"{sys.executable} -m check_jsonschema --builtin-schema vendor.gitlab-ci {file}"
    file.write_text(read_blocks(PAGE, "yaml")[0], encoding="utf-8")
    right = run(check, tmp_path)
    file.write_text(read_blocks(PAGE, "yaml")[0].replace("retry:", "retries:"), encoding="utf-8")

    assert right.rc == 0, right.stdout
    assert run(check, tmp_path).rc == 1


def test_init_writes_what_the_page_shows() -> None:
    kit = Kit(repository="https://github.com/OWNER/megtrim", sha="0" * 40, version="v0.2.0")
    packages = "clang-14 lld-14 llvm-14 g++-aarch64-linux-gnu"
    written = gitlab_pipeline(kit, "megtrim.yaml", packages)

    assert written.replace("0" * 40, "SHA") == read_blocks(PAGE, "yaml")[0]


def test_all_templates_keep_the_report_of_a_bug() -> None:
    [kept] = re.findall(r"archiveArtifacts '(.*)'", JENKINSFILE)

    assert str(CRASH_FILE) in JOB["artifacts"]["paths"]
    assert str(CRASH_FILE) in kept.split(", ")
    # Without junit.xml, as after a bug, `junit` fails, and nothing after it in its block runs.
    assert JENKINSFILE.index("archiveArtifacts") < JENKINSFILE.index("junit '")


def test_all_templates_have_the_same_commands() -> None:
    installs, commands, _ = read_blocks(PAGE, "sh")
    shared = [command.removesuffix(" --baseline baseline.json") for command in SCRIPT]

    assert commands.splitlines() == shared
    assert installs.splitlines() == INSTALLS
    assert [*INSTALLS, JENKINS_FETCH, CLEAN, JENKINS_BASELINE, *SCRIPT] == JENKINS


def test_an_engine_in_a_submodule_is_fetched_with_its_own(tmp_path: Path) -> None:
    forge = SourceForge(tmp_path / "forge")
    link = ("../part.git", forge.commit("part", {"part.h": ""}))
    needed = [path for path in LITE.submodule_paths if "redis" not in path]
    engine = forge.commit(
        "engine",
        dict.fromkeys(LITE.signs, ""),
        dict.fromkeys([*needed, "third_party/llvm-project"], link),
    )
    config = "version: 1\nengine: {kind: megengine, source: engine}\n"
    app = forge.commit("app", {"megtrim.yaml": config}, {"engine": ("../engine.git", engine)})
    checkout = forge.check_out("app", app, tmp_path / "checkout")

    url = forge.url("app").removesuffix(".git")
    job = {
        "CI_PROJECT_URL": url,
        "GIT_URL": url,
        "CI_DEFAULT_BRANCH": "main",
        "CI_REPOSITORY_URL": str(forge.bare("app")),
    }
    for command in (UNTRUST, TRUST, FETCH, JENKINS_FETCH):
        ended = run(command, checkout, **job)
        assert ended.rc == 0, ended.stderr
    parts = sorted(path.parent.as_posix() for path in checkout.rglob("part.h"))
    assert parts == sorted(str(checkout / "engine" / path) for path in needed)


BRANCHES = {"main": "main", "release/1.2": "release%2F1.2", "fix-#7": "fix-%237", "a%b": "a%25b"}


@pytest.mark.parametrize("branch", BRANCHES)
def test_the_baseline_is_that_of_the_branch_that_a_change_goes_to(
    tmp_path: Path, httpserver: HTTPServer, branch: str
) -> None:
    """Jenkins' job has the branch's name with these characters escaped, its URL once more."""
    asked: list[str] = []

    def answer(request: Request) -> Response:
        asked.append(request.environ["REQUEST_URI"])
        return Response("{}")

    httpserver.expect_request(re.compile(".*")).respond_with_handler(answer)
    escaped = BRANCHES[branch]
    doubly = escaped.replace("%", "%25")
    server = {"CI_API_V4_URL": httpserver.url_for("/api/v4"), "CI_PROJECT_ID": "7"}
    target = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": branch, "CI_DEFAULT_BRANCH": "main"}
    for job in ({"CI_COMMIT_BRANCH": branch}, target):
        run(BASELINE, tmp_path, **server, CI_JOB_TOKEN="x", **job)
    builds = (
        {"BRANCH_NAME": branch, "JOB_URL": httpserver.url_for(f"/job/app/job/{doubly}/")},
        {
            "BRANCH_NAME": "PR-7",
            "CHANGE_TARGET": branch,
            "JOB_URL": httpserver.url_for("/job/app/job/PR-7/"),
        },
    )
    for build in builds:
        run(JENKINS_BASELINE, tmp_path, **build)

    gitlab = (
        f"/api/v4/projects/7/jobs/artifacts/{escaped}/raw/megtrim-out/final/sizes.json?job=megtrim"
    )
    jenkins = f"/job/app/job/{doubly}/lastSuccessfulBuild/artifact/megtrim-out/final/sizes.json"
    assert asked == [gitlab, gitlab, jenkins, jenkins]


def test_a_merge_request_does_not_say_where_submodules_come_from(tmp_path: Path) -> None:
    """Nor where the engine's key is sent: the default branch's file does."""
    forge = SourceForge(tmp_path / "forge")
    engine = forge.commit("engine", dict.fromkeys(LITE.signs, ""))
    stolen = forge.commit("stolen", dict.fromkeys(LITE.signs, ""))
    config = "version: 1\nengine: {kind: megengine, source: engine}\n"
    forge.commit("app", {"megtrim.yaml": config}, {"engine": ("../engine.git", engine)})
    forked = forge.commit("fork", {"megtrim.yaml": config}, {"engine": ("../stolen.git", stolen)})
    checkout = forge.check_out("fork", forked, tmp_path / "checkout")
    job = {
        "CI_PROJECT_URL": forge.url("app").removesuffix(".git"),
        "CI_DEFAULT_BRANCH": "main",
        "CI_REPOSITORY_URL": str(forge.bare("app")),
        "MEGTRIM_ENGINE_KEY": "a-token-of-the-engine",
    }
    ended = [run(command, checkout, **job) for command in (UNTRUST, TRUST, FETCH)]

    assert [each.rc for each in ended] == [0, 0, 2], ended[-1].stderr
    assert not (checkout / "engine/.git").exists()


def test_the_commands_trim_and_judge(
    make_project: MakeProject, tmp_path: Path, httpserver: HTTPServer
) -> None:
    project = make_project("tiny-mobile")
    project.expect("trim")
    checkout = tmp_path / "checkout"
    shutil.copytree(project.folder, checkout)
    final = checkout / "megtrim-out/final"

    for command in SCRIPT:
        ended = run(command, checkout)
        assert ended.rc == 0, ended.stderr
    files = [*JOB["artifacts"]["paths"], *JOB["artifacts"]["reports"].values()]
    assert [name for name in files if not (checkout / name).exists()] == [str(CRASH_FILE)]
    assert JUnitXml.fromfile(str(final / "junit.xml")).failures == 0

    budgets = [{"artifact": "load_and_run", "growth": "1 B"}]
    config = project.read() | {"budgets": budgets}
    (checkout / "megtrim.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (checkout / "baseline.json").write_text("of the change itself", encoding="utf-8")
    httpserver.expect_request(
        "/api/v4/projects/7/jobs/artifacts/main/raw/megtrim-out/final/sizes.json",
        query_string={"job": "megtrim"},
        headers={"JOB-TOKEN": "of-the-job"},
    ).respond_with_data(dump_sizes(Baseline(sizes={("load_and_run", "reduced"): 1})))
    httpserver.expect_request(
        "/job/app/job/main/lastSuccessfulBuild/artifact/megtrim-out/final/sizes.json"
    ).respond_with_data(dump_sizes(Baseline(sizes={("load_and_run", "reduced"): 1})))
    server = {"CI_API_V4_URL": httpserver.url_for("/api/v4"), "CI_PROJECT_ID": "7"}
    for branch, statuses in (("none-yet", [0, 0]), ("main", [0, 1])):
        job = {**server, "CI_JOB_TOKEN": "of-the-job", "CI_COMMIT_BRANCH": branch}
        assert [run(command, checkout, **job).rc for command in (CLEAN, BASELINE)] == [0, 0]
        assert [run(command, checkout).rc for command in SCRIPT] == statuses
    assert JUnitXml.fromfile(str(final / "junit.xml")).failures == 1
    file = checkout / "baseline.json"
    taken = file.read_text(encoding="utf-8")
    build = {"JOB_URL": httpserver.url_for("/job/app/job/PR-7/"), "BRANCH_NAME": "PR-7"}
    for target, baseline in (({"CHANGE_TARGET": "main"}, taken), ({}, None)):
        assert run(CLEAN, checkout).rc == run(JENKINS_BASELINE, checkout, **build, **target).rc == 0
        assert (file.read_text(encoding="utf-8") if file.exists() else None) == baseline
    file.write_text(taken, encoding="utf-8")

    (checkout / "megtrim.yaml").write_text("version: 3\n", encoding="utf-8")
    assert run(SCRIPT[0], checkout).rc == 2
    [suite] = JUnitXml.fromfile(str(final / "junit.xml"))
    assert suite.errors == 1
