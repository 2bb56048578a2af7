"""A repository whose engine is a private submodule with submodules, and whose models are in LFS.

Sources come from a server of the test's own, by HTTP; what is in Git LFS, from a folder.
"""

import base64
import hashlib
import json
import os
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from act import stranger
from act.driver.forge import KIT, KIT_VERSION, STRANGER, Forge
from act.driver.runner import Act, Run
from act.world import HOSTED_JOBS, content
from megtrim.libs.util.process import Command, ProcessRunner
from support.github_double import GithubDouble
from support.megtrim_cli import SAMPLE
from support.source_forge import OWNER, SourceForge

ENGINE = "third_party/engine"
NEEDED = "third_party/notes"
KEY = "github_pat_engine_0123456789"
SECRET = base64.b64encode(f"x-access-token:{KEY}".encode()).decode()
POINTER = "version https://git-lfs.github.com/spec/v1\n"
CONFIG = f"""\
version: 1
engine: {{kind: sample, source: {ENGINE}}}
toolchain: {{kind: host}}
models:
  - name: tiny-mobile
    file: models/tiny-mobile.sample
    scenarios:
      - {{name: default, args: [--cpu, --iter, 2], inputs: {{data: models/tiny-mobile.data.npy}}}}
"""


@dataclass(slots=True)
class Team:
    forge: Forge
    sources: SourceForge

    def propose(self, branch: str, files: dict[str, str | bytes | None]) -> int:
        self.forge.push(files, branch=branch, message="A change")
        return self.forge.open_pull(branch)


def make_engine(sources: SourceForge) -> str:
    files = {
        path.removeprefix("engine/"): data.decode()
        for path, data in stranger.before().items()
        if path.startswith("engine/")
    }
    notes = sources.commit("notes", {"notes.txt": "Of the engine.\n"})
    links = {
        NEEDED: ("../notes.git", notes),
        "third_party/llvm-project": ("https://example.invalid/llvm-project.git", "1" * 40),
    }
    return sources.commit("engine", files, links)


def megtrim(folder: Path, *argv: str) -> None:
    remotes = (folder.parent / "remotes").as_uri()
    env = {**os.environ, "MEGTRIM_ENGINE_KEY": KEY, "GITHUB_SERVER_URL": remotes}
    command = Command(
        argv=(sys.executable, "-m", "megtrim", *argv), timeout_s=1800, cwd=folder, merge_stderr=True
    )
    done = ProcessRunner(env).run(command)
    assert done.ok, done.stdout


def move_to_lfs(forge: Forge) -> None:
    objects = (forge.root / "remotes" / STRANGER).with_suffix(".lfs")
    objects.mkdir(parents=True)
    for file in sorted((forge.code.work / "models").iterdir()):
        data = file.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        (objects / digest).write_bytes(data)
        pointer = f"{POINTER}oid sha256:{digest}\nsize {len(data)}\n"
        file.write_text(pointer, encoding="utf-8")


def adopt(forge: Forge, engine: str, server: str) -> None:
    code = forge.code
    models = {
        f"models/{name}": (SAMPLE / "models" / name).read_bytes()
        for name in ("tiny-mobile.sample", "tiny-mobile.data.npy")
    }
    modules = f'[submodule "{ENGINE}"]\n\tpath = {ENGINE}\n\turl = ../../{OWNER}/engine.git\n'
    texts = {"megtrim.yaml": CONFIG.encode(), ".gitmodules": modules.encode()}
    for name, data in (models | texts).items():
        path = code.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    code.git("add", "--all")
    code.git("update-index", "--add", "--cacheinfo", f"160000,{engine},{ENGINE}")
    code.git("commit", "--quiet", "--message", "The app, and the engine")
    url = f"{server}/stranger/vision-app"
    more = ("--url", url, "--submodules", f"{ENGINE}/{NEEDED}")
    megtrim(code.work, "ci", "sources", "fetch", ".", "--trusted", ".", *more)
    kit = ("--kit", KIT, "--kit-sha", forge.kit_sha, "--kit-version", KIT_VERSION)
    megtrim(code.work, "init", "--github", *kit)
    stranger.trace(forge)
    for caller in sorted((code.work / ".github/workflows").glob("*.yml")):
        stranger.introduce(caller, forge.kit_sha)
        text = caller.read_text(encoding="utf-8")
        more_inputs = f"lfs: true, submodules: {ENGINE}/{NEEDED}, config: "
        text = text.replace("config: ", more_inputs, 1)
        secret = "    secrets: {engine-key: '${{ secrets.ENGINE_KEY }}'}\n"
        caller.write_text(text.rstrip("\n") + "\n" + secret, encoding="utf-8")
    move_to_lfs(forge)
    sha = code.save(message="Adopt megtrim", branch="main")
    forge.know(sha)
    forge.api.set_head("main", sha)
    forge.api.workflows = {"megtrim.yml": {"pull-request"}, "megtrim-refresh.yml": set()}


@pytest.fixture(scope="module")
def team(act: Act, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    root = tmp_path_factory.mktemp("submodules")
    sources = SourceForge(root / "sources")
    engine = make_engine(sources)
    ccache = os.environ.get("CCACHE_DIR") or str(Path.home() / ".cache" / "ccache")
    with GithubDouble() as double, sources.server({"engine": KEY}) as server:
        env = {"CCACHE_DIR": ccache, "GITHUB_SERVER_URL": server}
        forge = Forge(root / "forge", act, double, env)
        adopt(forge, engine, server)
        yield Team(forge, sources)


@pytest.fixture(scope="module")
def stored(team: Team) -> Run:
    team.sources.asked.clear()
    return team.forge.run_push(secrets={"ENGINE_KEY": KEY})


def test_a_check_with_submodules_passes(stored: Run) -> None:
    assert stored.conclusions == HOSTED_JOBS, stored.log
    assert content(stored, "megtrim-report", "verdict.json")["verdict"] == "pass"
    lines = "\n".join(stored.jobs["build"].lines)
    assert f"{ENGINE} at " in lines
    assert f"{ENGINE}/{NEEDED} at " in lines
    assert "llvm" not in lines


def test_the_key_went_to_the_engine_alone(team: Team, stored: Run) -> None:
    assert {name for name, given in team.sources.asked if SECRET in given} == {"engine"}
    texts = [stored.log.read_bytes()]
    for artifact in stored.artifacts.values():
        with zipfile.ZipFile(artifact) as archive:
            texts += [archive.read(name) for name in archive.namelist()]
    for text in texts:
        assert KEY.encode() not in text
        assert SECRET.encode() not in text
    assert "megtrim-build-logs" not in stored.artifacts


def test_a_fork_gets_no_key_and_says_so(team: Team, stored: Run) -> None:
    number = team.propose("fork", {"README.md": "# A fork\n"})
    team.sources.asked.clear()
    fork = team.forge.run_pull(number, fork=True, secrets={"ENGINE_KEY": KEY})

    assert fork.conclusions["verdict"] == "failure"
    assert not any(SECRET in given for _, given in team.sources.asked)
    assert "cannot be fetched" in fork.jobs["verdict"].summary


def test_a_change_of_where_the_engine_is_from_is_refused(team: Team, stored: Run) -> None:
    other = team.sources.commit("mallory", {"a": "\n"})
    modules = f'[submodule "{ENGINE}"]\n\tpath = {ENGINE}\n\turl = ../../{OWNER}/mallory.git\n'
    team.forge.code.git("checkout", "--quiet", "-B", "elsewhere", "main")
    team.forge.code.git("update-index", "--cacheinfo", f"160000,{other},{ENGINE}")
    (team.forge.code.work / ".gitmodules").write_text(modules)
    team.forge.code.git("add", ".gitmodules")
    team.forge.code.git("commit", "--quiet", "--message", "Elsewhere")
    team.forge.code.git("push", "--quiet", "origin", "HEAD:refs/heads/elsewhere")
    sha = team.forge.code.git("rev-parse", "HEAD")
    team.forge.know(sha)
    team.forge.api.set_head("elsewhere", sha)
    number = team.forge.open_pull("elsewhere")
    team.sources.asked.clear()
    run = team.forge.run_pull(number, secrets={"ENGINE_KEY": KEY})

    assert run.conclusions["verdict"] == "failure"
    assert team.sources.asked == []
    (comment,) = [each for each in team.forge.api.comments.values() if each["number"] == number]
    assert "a repository that the base commit names" in json.dumps(comment["body"])
