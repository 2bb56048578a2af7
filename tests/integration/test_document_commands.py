"""The commands in the rows of the engine's documents, typed on the sample engine."""

import pytest

from integration.conftest import MakeProject
from support.document_commands import BUILDS, list_experiment_commands
from support.megtrim_cli import Project, read_verdict, run_megtrim

pytestmark = pytest.mark.chain

MODEL = "tiny-mobile"
MORE = {
    "megtrim probe": (MODEL, "--", "--cpu"),
    # The shortest that there is: what the rows say of times was not measured here.
    "megtrim perf run": ("--experiment", "baseline", "--rounds", "12"),
}


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> Project:
    return make_project(MODEL, perf={"other_load": "any", "inconclusive": "warn"})


@pytest.mark.parametrize("command", [each for each in BUILDS if each != "megtrim model show"])
def test_each_command_does_what_its_row_says(project: Project, command: str) -> None:
    project.expect(command.removeprefix("megtrim "), *MORE.get(command, ()))


def test_a_model_is_shown(project: Project) -> None:
    model = project.folder / project.read()["models"][0]["file"]

    shown = run_megtrim("model", "show", str(model), cwd=project.folder)

    assert shown.rc == 0, shown.stderr


def test_each_experiment_is_measured_or_says_what_it_needs(project: Project) -> None:
    """In one run: a start for each would measure the baseline as often."""
    names = dict.fromkeys(name for _, name in list_experiment_commands(planned=False))
    words = [word for name in names for word in ("--experiment", name)]
    ended = project.run("perf run", *words, "--rounds", "12", "--json")
    rows = {row["experiment"]: row for row in read_verdict(ended)["performance"]["rows"]}

    assert rows.keys() >= names.keys()
    assert {row["status"] for row in rows.values()} <= {"measured", "inconclusive", "skipped"}
    assert all(row["reason"] for row in rows.values() if row["status"] == "skipped")
    measured = [name for name, row in rows.items() if row["status"] != "skipped"]
    assert {"baseline", "fast-run", "weight-preprocess", "fake-first", "record-1"} <= {*measured}
