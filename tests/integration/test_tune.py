"""Races for flags on the real sample engine."""

from __future__ import annotations

import json
import os
import shlex
from difflib import SequenceMatcher
from pathlib import Path

import pytest
import yaml

from integration import sample_builds
from megtrim.config.load import load_config
from megtrim.config.scenarios import all_scenarios
from megtrim.devices.local import Local
from megtrim.engines.sample import SampleEngine, find_embedded_source
from megtrim.load_and_run.arguments import Flag
from megtrim.perf.criterion import Criterion
from megtrim.perf.experiments.experiment import Experiment, Step
from megtrim.perf.experiments.situation import Situation
from megtrim.perf.experiments.table import BASELINE, find_experiments
from megtrim.pipeline.tuning.field import Field, RaceFiles
from megtrim.pipeline.tuning.flag_race import TuneTerms, tune
from megtrim.process import ProcessRunner
from support.fork_server import run_megtrim
from support.megtrim_cli import SAMPLE, Project

pytestmark = pytest.mark.chain

SCENARIO = "tiny-vgg/default"
PROCESSES = ProcessRunner(os.environ)


def make_field(program: Path) -> Field:
    """Return contestants of tiny-vgg that are slowed down by a known share, and one that fails.

    The baseline takes 60 % longer than it would.
    """
    scenario = next(all_scenarios(load_config(SAMPLE / "megtrim.yaml").config))
    dialect = SampleEngine(find_embedded_source(), PROCESSES).dialect()
    made = Field(
        scenario=scenario,
        situation=Situation(dialect=dialect, architecture="x86_64"),
        kept=(Flag("slow_down", "60"),),
        files=RaceFiles(
            program=program,
            model=SAMPLE / scenario.model.file,
            inputs={"data": SAMPLE / scenario.settings.inputs["data"]},
        ),
        other_load=1.0,
    )
    made.enter(find_experiments([BASELINE])[0])
    for name, flag in (
        ("slower-by-40", Flag("slow_down", "40")),
        ("slower-by-0", Flag("slow_down", "0")),
        ("slower-by-20", Flag("slow_down", "20")),
        ("crash", Flag("multithread", "0")),
    ):
        made.enter(Experiment(name=name, row="", title=name, steps=(Step(flags=(flag,)),)))
    return made


def test_the_fastest_of_known_times_wins(tmp_path: Path) -> None:
    """It is found with few runs; who does not run does not start; the last heat knows the ratio."""
    program = sample_builds.build(find_embedded_source(), tmp_path / "plain")
    said: list[str] = []
    found = tune(
        make_field(program),
        TuneTerms(budget_s=300, criterion=Criterion(threshold=0.05)),
        Local("here", PROCESSES, tmp_path / "runs"),
        say=said.append,
    )
    assert found.winner.name == "slower-by-0"
    assert [each.name for each in found.not_started] == ["crash"]
    assert "illegal value" in found.not_started[0].reason
    assert found.race.runs <= 0.35 * 4 * 40
    (heat,) = found.heats
    assert heat.against == BASELINE
    assert heat.seen is not None
    assert heat.seen.lower < 1 / 1.6 * 1.1
    assert heat.seen.upper > 1 / 1.6 * 0.9
    assert any("after 3 rounds" in line for line in said)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project.of_sample(tmp_path_factory.mktemp("team"), models=("tiny-vgg",))
    perf = {"other_load": "any"}  # other tests run at the same time
    made.write(made.read() | {"toolchain": {"kind": "host"}, "budgets": [], "perf": perf})
    made.config.write_text(f"# what we ship\n{made.config.read_text('utf-8')}", "utf-8")
    return made


def test_the_winner_becomes_a_scenario(project: Project) -> None:
    """The path is printed, the file keeps its lines, and the scenario is planned like any other.

    Which flags win depends on the machine: a search for algorithms finds what recording and
    prepared weights bring together. Without any, a quarter of the time is lost.
    """
    before = project.config.read_text("utf-8").splitlines()
    words = ("--budget", "30 s", "--write", "--name", "fastest", "--json")
    done = project.run("perf tune", SCENARIO, *words)
    assert done.ok, done.stderr
    found = json.loads(done.stdout)
    assert found["entered"] == 8
    assert found["last_heat"]["baseline"]["upper"] < 1
    named = {each["name"] for each in found["stages"][-1]["remaining"]}
    assert found["winner"] in named

    after = project.config.read_text("utf-8").splitlines()
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    assert {kind for kind, *_ in changes} == {"equal", "insert"}
    scenario = yaml.safe_load("\n".join(after))["models"][0]["scenarios"][-1]
    assert scenario == found["yaml"]
    assert scenario["name"] == "fastest"
    for part, flag in (("record", "--record-comp-seq"), ("weight", "--weight-preprocess")):
        assert (part in found["winner"]) == (flag in scenario["args"])
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
def test_mistakes_are_reported_before_the_race(
    project: Project, words: tuple[str, ...], said: str
) -> None:
    """Bad input is exit 2, with what would be right."""
    done = project.run("perf tune", *words)
    assert done.rc == 2
    assert said in done.stderr
