import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from megtrim.build.engines.megengine.generations import LITE
from support.source_forge import SourceForge
from unit.cli.support import Answer, Shell

ENGINE = "third_party/MegEngine"
CONFIG = f"version: 1\nengine: {{kind: megengine, source: ../{ENGINE}}}\n"
NEEDED = [path for path in LITE.submodule_paths if "redis" not in path]
KEY = "github_pat_0123456789"


@dataclass(slots=True)
class Project:
    forge: SourceForge
    shell: Shell
    server: str
    engine: str
    base: str

    def check_out(self, name: str, sha: str) -> Path:
        return self.forge.check_out("app", sha, self.shell.folder / name)

    def fetch(
        self, *more: str, project: str = "project", config: str = "trim/megtrim.yaml"
    ) -> Answer:
        given = ("--config", config, "--url", f"{self.server}/acme/app")
        return self.shell("ci", "sources", "fetch", project, "--trusted", "trusted", *given, *more)


@contextmanager
def serve(shell: Shell, private: dict[str, str]) -> Iterator[Project]:
    forge = SourceForge(shell.folder / "forge")
    links = {}
    for path in (*NEEDED, "third_party/llvm-project"):
        name = path.rpartition("/")[2]
        links[path] = (f"../{name}.git", forge.commit(name, {f"{name}.h": "\n"}))
    files = dict.fromkeys(LITE.signs, "\n")
    engine = forge.commit("MegEngine", files, links)
    app = {"trim/megtrim.yaml": CONFIG}
    base = forge.commit("app", app, {ENGINE: ("../MegEngine.git", engine)})
    with forge.server(private) as server:
        project = Project(forge, shell, server, engine, base)
        project.check_out("trusted", base)
        yield project


@pytest.fixture
def project(shell: Shell) -> Iterator[Project]:
    with serve(shell, {}) as made:
        yield made


def present(folder: Path) -> list[str]:
    found = (folder / ENGINE / "third_party").glob("*/*.h")
    return sorted(f"third_party/{path.parent.name}" for path in found)


def test_what_the_engine_needs_is_fetched(project: Project) -> None:
    folder = project.check_out("project", project.base)
    done = project.fetch().expect(0)

    assert present(folder) == sorted(NEEDED)
    assert f"{ENGINE} at {project.engine[:12]} from " in done.out
    assert "llvm-project" not in {name for name, _ in project.forge.asked}


def test_all_toolchains_have_the_same_engine(project: Project) -> None:
    folder = project.check_out("project", project.base)
    project.fetch(config="trim/megtrim.yaml#arm64").expect(0)

    assert present(folder) == sorted(NEEDED)


def test_further_ones_are_named(project: Project) -> None:
    folder = project.check_out("project", project.base)
    project.fetch("--submodules", f"{ENGINE}/third_party/llvm-project").expect(0)
    assert present(folder) == sorted([*NEEDED, "third_party/llvm-project"])

    project.fetch("--submodules", "models").expect(
        2, "the input submodules: found models, expected the path of a submodule"
    )


@pytest.mark.parametrize("path", ["../x", "--upload-pack=x", "a/../b", "/etc", ".git/hooks"])
def test_paths_of_further_ones_stay_in_the_tree(project: Project, path: str) -> None:
    project.check_out("project", project.base)
    project.fetch(f"--submodules={path}").expect(2, "the input submodules: found")


@pytest.mark.parametrize("source", ["/etc", "../../x", "../../../third_party/MegEngine"])
def test_an_engine_elsewhere_is_refused(project: Project, source: str) -> None:
    text = CONFIG.replace(f"../{ENGINE}", source)
    links = {ENGINE: ("../MegEngine.git", project.engine)}
    project.check_out("project", project.forge.commit("app", {"trim/megtrim.yaml": text}, links))
    project.fetch("--out", "out").expect(2, "project/trim/megtrim.yaml:2: engine.source: found")

    ending = json.loads((project.shell.folder / "out/final/ending.json").read_text())
    assert (ending["exit"], ending["config"]) == (2, "trim/megtrim.yaml")


def test_a_server_that_is_away_is_reported_as_that(project: Project) -> None:
    links = {ENGINE: ("https://127.0.0.1:1/acme/MegEngine.git", project.engine)}
    project.check_out("project", project.forge.commit("app", {"trim/megtrim.yaml": CONFIG}, links))
    away = ("--repositories", "https://127.0.0.1:1/acme/", "--out", "out")
    config = "./trim/megtrim.yaml#arm64"
    assert project.fetch(*away, config=config).status == 3

    join = ("ci", "evidence", "join", "--config", config, "--verdict", "out/final/verdict.json")
    project.shell(*join, "--to", "report")
    gate = project.shell("ci", "gate", "report").expect(3)
    assert "MegEngine.git cannot be fetched at " in gate.out


def test_a_project_without_submodules_needs_none(project: Project) -> None:
    files = {"trim/megtrim.yaml": "version: 1\nengine: {kind: sample}\n"}
    project.check_out("project", project.forge.commit("app", files, {}))
    done = project.fetch()

    assert (done.status, done.out) == (0, "")


def test_the_key_is_sent_to_the_engine_alone(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = base64.b64encode(f"x-access-token:{KEY}".encode()).decode()
    outputs = shell.folder / "outputs"
    monkeypatch.setenv("GITHUB_OUTPUT", str(outputs))
    monkeypatch.setenv("MEGTRIM_ENGINE_KEY", KEY)
    with serve(shell, {"MegEngine": KEY}) as project:
        folder = project.check_out("project", project.base)
        done = project.fetch()

    assert done.status == 0, done.err
    assert present(folder) == sorted(NEEDED)
    assert {name for name, given in project.forge.asked if encoded in given} == {"MegEngine"}
    assert "true" in outputs.read_text().split("\n")
    every = [file for file in folder.rglob("*") if file.is_file()]
    assert not any(
        word in file.read_bytes() for file in every for word in (KEY.encode(), encoded.encode())
    )
    assert KEY not in done.out + done.err


def test_a_change_cannot_send_the_key_elsewhere(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEGTRIM_ENGINE_KEY", KEY)
    with serve(shell, {"MegEngine": KEY}) as project:
        json_sha = project.forge.commit("other", {"a.h": "\n"})
        links = {ENGINE: ("../MegEngine.git", project.engine), "other": ("../other.git", json_sha)}
        project.base = project.forge.commit("app", {"trim/megtrim.yaml": CONFIG}, links)
        changed = links | {ENGINE: ("../other.git", json_sha)}
        head = project.forge.commit("app", {"trim/megtrim.yaml": CONFIG}, changed)
        project.check_out("project", head)
        project.forge.git("-C", str(shell.folder / "trusted"), "fetch", "-q",
                          project.forge.url("app"), project.base)  # fmt: skip
        project.forge.git("-C", str(shell.folder / "trusted"), "checkout", "-q", project.base)
        project.fetch()

    assert "other" in {name for name, _ in project.forge.asked}
    assert {given for name, given in project.forge.asked if name == "other"} == {""}


def test_a_key_that_is_none_is_not_shown(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEGTRIM_ENGINE_KEY", "-----BEGIN KEY-----\nabcdefg\n-----END KEY-----")
    project.check_out("project", project.base)
    refused = project.fetch().expect(
        2, "MEGTRIM_ENGINE_KEY: found something else, expected a token in one line, or an SSH key"
    )

    assert "abcdefg" not in refused.err + refused.out
