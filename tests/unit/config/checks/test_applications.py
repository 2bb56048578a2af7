"""Applications: names of their own, and a command line that uses what a scenario gives."""

from __future__ import annotations

import pytest

from megtrim.config.checks.applications import (
    application_names,
    application_problems,
    engine_target,
    runs_engine,
)
from megtrim.config.yaml.document import Document, parse_document
from unit.config.checks.found import found_by


def document(text: str) -> Document:
    return parse_document(text.encode(), file="f")


def scenario(keys: str) -> list[str]:
    """Return what is found in a scenario of the application ``app`` with these keys."""
    return found_by(
        application_problems,
        f"applications: [{{name: app}}]\nmodels: [{{scenarios: [{{application: app, {keys}}}]}}]\n",
    )


@pytest.mark.parametrize(
    "keys",
    [
        'args: ["{model}"]',
        'args: ["{model}", "{input:data}"], inputs: {data: d.npy}',
        'args: ["{model}", "-j{threads}"], threads: 4',
        'args: ["{model}", "{algo_cache}"], algo_cache: c, fast_run: true',
    ],
)
def test_a_command_that_uses_what_it_is_given_is_accepted(keys: str) -> None:
    """Model, inputs, threads and cache."""
    assert scenario(keys) == []


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (
            "args: [run]",
            "args: found a command line without {model}, expected {model} in its place",
        ),
        (
            'args: ["{model}"], inputs: {data: d.npy}',
            "inputs.data: found an input that args does not use, expected {input:data} in args",
        ),
        (
            'args: ["{model}", "{input:data}"]',
            "args: found {input:data}, expected an input that `inputs` names",
        ),
        (
            'args: ["{model}"], threads: 4',
            "threads: found 4 threads that args does not ask for, expected {threads} in args",
        ),
        (
            'args: ["{model}", "{algo_cache}"]',
            (
                "args: found {algo_cache}, expected algo_cache, a recorded one: "
                "only the engine's own program searches"
            ),
        ),
        (
            'args: ["{model}"], algo_cache: c',
            "algo_cache: found a cache that args does not use, expected {algo_cache} in args",
        ),
        (
            'args: ["{model}"], fast_run: true',
            (
                "fast_run: found fast_run with an application, expected a recorded algo_cache and "
                "{algo_cache} in args: an application does not search"
            ),
        ),
        (
            "threads: 1",
            "args: found nothing, in a scenario of an application, expected its whole command line",
        ),
    ],
)
def test_what_is_given_and_what_is_used_must_agree(keys: str, problem: str) -> None:
    """Each difference is one problem with its key."""
    assert scenario(keys) == [f"f:2: models[0].scenarios[0].{problem}"]


def test_an_unknown_placeholder_hides_no_other_problem_behind_it() -> None:
    """What is used is known only if every argument can be read."""
    [problem] = scenario('args: ["{modle}"], threads: 4')

    assert problem.startswith("f:2: models[0].scenarios[0].args[0]: found '{modle}', expected ")


def test_the_application_of_a_scenario_exists() -> None:
    """A misspelt name gets a suggestion; without applications there is none to suggest."""
    asked = "models: [{scenarios: [{application: clasify, args: ['{model}']}]}]\n"

    [problem] = found_by(application_problems, "applications: [{name: classify}]\n" + asked)
    assert problem.endswith("found 'clasify', expected classify (did you mean classify?)")
    [problem] = found_by(application_problems, asked)
    assert problem.endswith("expected one of `applications`, of which there are none")


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{name: load_and_run}", "name: found 'load_and_run', expected a name of its own"),
        ("{name: main}", "name: found 'main', expected a name of its own"),
        ("{name: trace.txt}", "name: found 'trace.txt', expected another name"),
        ("{name: input0.npy}", "name: found 'input0.npy', expected another name"),
        ("{name: a, library: shared}", "library: found library without source"),
    ],
)
def test_an_application_takes_no_name_of_others(entry: str, problem: str) -> None:
    """The engine's own program and the files next to a running one have names already."""
    target = "main" if "main" in entry else "load_and_run"
    text = f"engine: {{kind: sample, target: {target}}}\napplications: [{entry}]\n"

    [found] = found_by(application_problems, text)
    assert found.startswith(f"f:2: applications[0].{problem}")


def test_an_archive_has_no_budget() -> None:
    """Its size is not the size of a program."""
    [problem] = found_by(application_problems, "artifacts: [app, lib.a]\n")

    assert problem.startswith("f:1: artifacts[1]: found 'lib.a', expected the application")


def test_names_are_read_before_the_model_accepts_them() -> None:
    """Values of the wrong type are left to the model."""
    assert application_names(document("applications: [{name: b}, 3, {name: 4}, {name: a}]")) == [
        *("b", "a"),
    ]
    assert engine_target(document("engine: {target: main}")) == "main"
    assert engine_target(document("engine: {target: 3}")) == "load_and_run"
    assert engine_target(document("engine: sample")) == "load_and_run"


@pytest.mark.parametrize(
    ("scenarios", "runs"),
    [("[{name: s}]", True), ("[{application: a}, {name: s}]", True), ("[{application: a}]", False)],
)
def test_the_engines_program_runs_where_a_scenario_names_no_other(
    scenarios: str, runs: bool
) -> None:
    """One such scenario is enough."""
    assert runs_engine(document(f"models: [{{scenarios: {scenarios}}}]")) is runs


@pytest.mark.parametrize(
    ("keys", "found", "what"),
    [
        ("cmake: {WITH_X: 1}", "cmake: found cmake without source", "the key engine.cmake"),
        (
            "source: app, cmake: {CMAKE_TOOLCHAIN_FILE: x}",
            "cmake.CMAKE_TOOLCHAIN_FILE: found an option that megtrim sets",
            "one of the application's own",
        ),
        (
            "source: app, cmake: {MEGTRIM_ENGINE_SOURCE: x}",
            "cmake.MEGTRIM_ENGINE_SOURCE: found an option that megtrim sets",
            "one of the application's own",
        ),
    ],
)
def test_options_are_of_a_build_of_its_own(keys: str, found: str, what: str) -> None:
    """What megtrim passes itself is not overridden."""
    [problem] = found_by(application_problems, f"applications: [{{name: app, {keys}}}]\n")

    assert problem.startswith(f"f:1: applications[0].{found}")
    assert problem.endswith(what)
