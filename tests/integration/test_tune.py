"""Searches for the fastest flags on the real sample engine."""

import json
import shlex
from difflib import SequenceMatcher

import pytest
import yaml

from support.megtrim_cli import Project, run_megtrim

pytestmark = pytest.mark.chain

SCENARIO = "tiny-vgg/default"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project.of_sample(tmp_path_factory.mktemp("team"), models=("tiny-vgg",))
    perf = {"other_load": "any"}  # other tests run at the same time
    made.write(made.read() | {"toolchain": {"kind": "host"}, "budgets": [], "perf": perf})
    made.config.write_text(f"# what we ship\n{made.config.read_text('utf-8')}", "utf-8")
    return made


def test_the_winner_becomes_a_scenario(project: Project) -> None:
    """The path is printed, the file keeps its lines, and the scenario is planned like any other.

    Which flags win depends on the machine: a search for algorithms finds a quarter of the time.
    """
    before = project.config.read_text("utf-8").splitlines()
    words = ("--budget", "30 s", "--write", "--name", "fastest", "--json")
    done = project.run("perf tune", SCENARIO, *words)
    assert done.ok, done.stderr
    found = json.loads(done.stdout)
    last = found["heats"][-1]
    assert found["winner"] == last["experiment"]
    assert last["ratios"][0]["upper"] < 1

    after = project.config.read_text("utf-8").splitlines()
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    assert {kind for kind, *_ in changes} == {"equal", "insert"}
    scenario = yaml.safe_load("\n".join(after))["models"][0]["scenarios"][-1]
    assert scenario == found["yaml"]
    assert scenario["name"] == "fastest"
    cached = "cache" in found["winner"]
    assert ("algo_cache" in scenario) == cached
    assert not cached or (project.folder / scenario["algo_cache"]).stat().st_size > 0
    assert "tiny-vgg/fastest@any" in project.run("plan").stdout
    assert f"verify it with megtrim trim --config {project.config.name}" in done.stderr
    typed = done.stderr.partition("verify it with megtrim ")[2].splitlines()[0]
    assert run_megtrim(*shlex.split(typed), cwd=project.folder).rc == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tiny-vgg/defualt",), "did you mean tiny-vgg/default"),
        ((SCENARIO, "--budget", "soon"), "expected a duration such as"),
        ((SCENARIO, "--write", "--name", "tuned"), "has a scenario tuned already"),
    ],
)
def test_mistakes_are_reported_before_anything_is_measured(
    project: Project, words: tuple[str, ...], said: str
) -> None:
    done = project.run("perf tune", *words)
    assert done.rc == 2
    assert said in done.stderr
