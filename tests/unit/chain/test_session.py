"""What a stage works with: the request, the services, and results as they come."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.chain.graph import PLAIN, PROFILE
from megtrim.chain.session import (
    TaskResults,
    binary,
    binary_digest,
    scenario_inputs,
)
from megtrim.config.scenarios import all_scenarios
from megtrim.util.errors import InputError
from megtrim.util.files import sha256_file
from unit.trim.stages.built import built, finish
from unit.trim.stages.support import open_session


def test_paths_of_the_configuration_are_relative_to_its_file(tmp_path: Path) -> None:
    """Absolute ones stay what they are."""
    session, _ = open_session(tmp_path)

    assert session.request.path(Path("m.mge")) == tmp_path / "m.mge"
    assert session.request.path(Path("/m.mge")) == Path("/m.mge")


def test_a_scenario_has_the_device_of_its_class(tmp_path: Path) -> None:
    """Without one, the message names the class."""
    session = built(tmp_path)
    here, big, *_ = all_scenarios(session.request.config)

    assert session.services.device(here).name == "here"
    assert session.services.device(big).name == "emulated"
    with pytest.raises(InputError, match="no device stands for CPU class any"):
        replace(session.services, devices={}).device(here)


def test_a_program_of_a_build_has_a_path_and_a_digest(tmp_path: Path) -> None:
    """Below the build's folder."""
    session = built(tmp_path)
    folder = session.results.done[PLAIN]

    assert binary(folder, "load_and_run") == folder.path / "bin" / "load_and_run"
    assert binary_digest(folder, "load_and_run") == sha256_file(binary(folder, "load_and_run"))


def test_what_is_not_there_yet_is_made_on_demand(tmp_path: Path) -> None:
    """Once, and only where there is someone to make it."""
    session, _ = open_session(tmp_path)
    made: list[str] = []

    def make(task: str) -> None:
        made.append(task)

    folder = finish(session, PLAIN, {"f": "x"})
    results = TaskResults(done={PLAIN: folder}, make=make)

    assert results.obtain(PLAIN) is folder
    assert results.obtain(PROFILE) is None
    assert made == [PROFILE]
    assert TaskResults(done={PLAIN: folder}).obtain(PROFILE) is None


def test_inputs_of_a_scenario_bind_all_that_its_run_depends_on(tmp_path: Path) -> None:
    """Files by their content; an input by its suffix, too, which a program sees."""
    session = built(tmp_path)
    scenario = next(all_scenarios(session.request.config))
    before = scenario_inputs(scenario, session)

    assert before == {
        "model": sha256_file(tmp_path / "m.mge"),
        "arguments": "--cpu",
        "threads": "2",
        "timeout": "90.0",
        "input data": f"{sha256_file(tmp_path / 'd.npy')} .npy",
        "device kind": "fake",
    }
    (tmp_path / "d.npy").write_bytes(b"other numbers")
    after = scenario_inputs(scenario, session)
    assert {label for label in before if before[label] != after[label]} == {"input data"}
    searched = scenario.settings.model_copy(update={"algo_cache": Path("d.npy")})
    cached = scenario_inputs(replace(scenario, settings=searched), session)
    assert cached["algorithm cache"] == sha256_file(tmp_path / "d.npy")
