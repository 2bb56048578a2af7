"""Applications in a configuration: what is measured, run and bound when they are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.config.model import Config
from unit.config.support import ENGINE, MODEL, load

APPLICATIONS = """\
applications:
  - {name: classify, source: app}
  - {name: served, source: app, library: shared, lto: full}
  - {name: intree}
"""
OWN = """\
models:
  - name: m
    file: m.mge
    scenarios:
      - {name: s, application: classify, args: [--model, "{model}"]}
"""
BOTH = OWN + "      - {name: t}\n"


def config(folder: Path, text: str) -> Config:
    (folder / "app").mkdir(exist_ok=True)
    (folder / "app/CMakeLists.txt").write_text("project(x)\n", encoding="utf-8")
    return load(folder, ENGINE + text).config


def test_what_is_left_out_is_the_recipe(tmp_path: Path) -> None:
    """An archive, linked in without optimisation at link time."""
    found = config(tmp_path, APPLICATIONS + MODEL).applications

    assert [each.model_dump() for each in found] == [
        {
            "name": "classify",
            "source": Path("app"),
            "library": "static",
            "cmake": {},
            "lto": "none",
        },
        {"name": "served", "source": Path("app"), "library": "shared", "cmake": {}, "lto": "full"},
        {"name": "intree", "source": None, "library": "static", "cmake": {}, "lto": "none"},
    ]
    assert [each.is_shared for each in found] == [False, True, False]


@pytest.mark.parametrize(
    ("models", "measured"),
    [
        (MODEL, ("load_and_run", "classify", "served", "intree")),
        (BOTH, ("load_and_run", "classify", "served", "intree")),
        (OWN, ("classify", "served", "intree")),
    ],
)
def test_every_program_that_runs_is_measured(
    tmp_path: Path, models: str, measured: tuple[str, ...]
) -> None:
    """The engine's own one only where a scenario runs it."""
    assert config(tmp_path, APPLICATIONS + models).artifacts == measured


def test_a_budget_may_be_an_applications(tmp_path: Path) -> None:
    """Also where no one lists artifacts."""
    text = APPLICATIONS + OWN + "budgets:\n  - {artifact: classify, max: 1 MiB}\n"

    assert str(config(tmp_path, text).budgets[0].max_size) == "1048576 B"


def test_a_run_is_bound_to_the_application_by_its_words(tmp_path: Path) -> None:
    """Another program with the same arguments is another run."""
    one, two = config(tmp_path, APPLICATIONS + BOTH).models[0].scenarios

    assert (one.application, one.command) == ("classify", ("classify", "--model", "{model}"))
    assert (two.application, two.command) == (None, ("--cpu",))


def test_an_application_is_found_by_its_name(tmp_path: Path) -> None:
    """And nothing by no name."""
    found = config(tmp_path, APPLICATIONS + MODEL)

    assert found.application("served") == found.applications[1]
    assert found.application("load_and_run") is None
    assert found.application(None) is None
