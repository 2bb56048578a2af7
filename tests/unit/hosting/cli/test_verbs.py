"""``megtrim ci``: gate, schema and sources."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import regress
import yaml
from jsonschema import Draft202012Validator

from megtrim.core.checks.statuses import UnverifiedPolicy
from megtrim.core.evidence.fields import EarlyExit
from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.verdict.model import Verdict, to_json
from megtrim.engines.megengine.generations import LITE
from megtrim.hosting.cli.schema import NAMES, make_schema, name_file
from megtrim.libs.util.strict_json import dump
from support.source_forge import SourceForge
from unit.core.cli.support import Answer, Shell
from unit.core.verdict import examples
from unit.core.verdict.examples import REDUCED_BYTES, failing, passing, unverified


def leave(shell: Shell, left: Verdict | EarlyExit) -> None:
    text = dump(left) if isinstance(left, EarlyExit) else to_json(left)
    name = "ending.json" if isinstance(left, EarlyExit) else "verdict.json"
    shell.write(name, text)


def end(status: int) -> EarlyExit:
    return EarlyExit(exit=status, message="it broke", hint="")


@pytest.mark.parametrize(
    ("left", "status", "size"),
    [
        (passing(), 0, str(REDUCED_BYTES)),
        (failing(), 1, "2998272"),
        # A sleeping phone blocks no one; an expired proof does.
        (unverified(), 0, str(REDUCED_BYTES)),
        (unverified(expired=True), 1, str(REDUCED_BYTES)),
        *((end(status), status, "") for status in (1, 2, 3, 70, 130)),
    ],
)
def test_the_gate_ends_as_the_run_did_and_leaves_outputs(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, left: Verdict | EarlyExit, status: int, size: str
) -> None:
    monkeypatch.setenv("GITHUB_OUTPUT", str(shell.folder / "outputs"))
    leave(shell, left)
    answer = shell("ci", "gate", ".")
    lines = shell.read("outputs").splitlines()

    word = "error" if isinstance(left, EarlyExit) else str(left.verdict)
    assert answer.status == status
    assert isinstance(left, EarlyExit) or answer.out == f"{word}: {left.headline}\n"
    assert [line.partition("<<")[0] for line in lines[::3]] == ["verdict", "size"]
    assert lines[1::3] == [word, size]


def test_a_team_may_want_to_know(shell: Shell) -> None:
    leave(shell, replace(unverified(), unverified=UnverifiedPolicy.FAIL))
    assert shell("ci", "gate", ".").expect(3).out.splitlines()[1] == (
        "  verify.unverified is fail, so each scenario needs a device that verified it: "
        "look at the device jobs, then run this job again"
    )


def test_a_verdict_next_to_the_word_of_a_run_without_one_is_of_an_earlier_run(
    shell: Shell,
) -> None:
    leave(shell, passing())
    leave(shell, end(2))
    assert shell("ci", "gate", ".").expect(2).out == "  it broke\n"


@pytest.mark.parametrize("name", ["verdict.json", "ending.json"])
def test_the_gate_stays_shut_for_what_is_no_report(shell: Shell, name: str) -> None:
    empty = shell("ci", "gate", ".")
    shell.write(name, "{}")

    assert (empty.status, shell("ci", "gate", ".").status) == (3, 2)
    assert empty.err == (
        "megtrim: .: the build job left no result\n  look at the build job, and run it again\n"
    )


def find_errors(name: str, document: Any) -> list[str]:
    return [each.message for each in Draft202012Validator(make_schema(name)).iter_errors(document)]


def test_the_schema_of_the_configuration_is_printed(shell: Shell) -> None:
    schema = json.loads(shell("ci", "schema").out)

    assert schema == make_schema("megtrim.yaml")
    assert schema["required"] == ["version", "engine"]
    assert "keep_set" in schema["properties"]
    assert json.loads(shell("ci", "schema", "sizes.json").out) == make_schema("sizes.json")
    assert shell("ci", "schema", "nonsense").status == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_says_its_version(name: str) -> None:
    schema = make_schema(name)
    Draft202012Validator.check_schema(schema)

    version = schema["properties"].get("version", {"const": 1})["const"]
    assert schema["$id"] == f"urn:megtrim:{name}:{version}"
    assert name_file(name).endswith(f"-{version}.schema.json")
    assert find_errors(name, {"version": version + 1})
    for pattern in list_patterns(schema):
        regress.Regex(pattern, "u")  # as editors and check-jsonschema read it


def list_patterns(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (each for key, each in value.items() if key == "pattern" and each is str(each))
        yield from value.get("patternProperties", ())
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            yield from list_patterns(each)


@pytest.mark.parametrize(
    ("name", "file", "parts"),
    [("model", "m.yaml", ["ScenarioConfig"]), ("scenario", "m/default.yaml", [])],
)
def test_files_of_models_and_scenarios_have_schemas(
    shell: Shell, name: str, file: str, parts: list[str]
) -> None:
    shell.sample("tiny-vgg.sample")
    (shell.folder / "tiny-vgg.sample").rename(shell.folder / "m.sample")
    assert shell("init", "m.sample").status == 0
    document = yaml.safe_load((shell.folder / "megtrim/models" / file).read_text("utf-8"))

    assert find_errors(name, document) == []
    assert find_errors(name, document | {"sauce": 1})
    assert [*json.loads(shell("ci", "schema", name).out)["$defs"]] == parts


@pytest.mark.parametrize(
    "make", [examples.passing, examples.failing, examples.near, examples.compared, examples.hostile]
)
def test_a_verdict_fits_its_schema(make: Any) -> None:
    document = json.loads(to_json(make()))

    assert find_errors("verdict.json", document) == []
    assert find_errors("verdict.json", document | {"more": 1})
    assert find_errors("verdict.json", document | {"checks": "none"})
    assert find_errors("verdict.json", {k: v for k, v in document.items() if k != "headline"})


def test_sizes_fit_their_schema() -> None:
    sizes = {("load_and_run", "reduced"): 5, ("load_and_run", "plain"): 9}
    full = json.loads(dump_sizes(Baseline(sizes=sizes)))

    assert find_errors("sizes.json", full) == []
    none = dump_sizes(Baseline(sizes={}, source="none", quick=True))
    assert find_errors("sizes.json", json.loads(none)) == []
    assert find_errors("sizes.json", full | {"artifacts": {"load_and_run": {"plain": -1}}})


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
    engine = forge.commit("MegEngine", dict.fromkeys(LITE.signs, "\n"), links)
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


@pytest.mark.parametrize("config", ["trim/megtrim.yaml", "trim/megtrim.yaml#arm64"])
def test_what_the_engine_needs_is_fetched(project: Project, config: str) -> None:
    folder = project.check_out("project", project.base)
    done = project.fetch(config=config).expect(0)

    assert present(folder) == sorted(NEEDED)
    assert f"{ENGINE} at {project.engine[:12]} from " in done.out
    assert "llvm-project" not in {name for name, _ in project.forge.asked}


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
    project.fetch().expect(0, out="")


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
