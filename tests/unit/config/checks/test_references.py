"""Names in megtrim.yaml: each is defined once, and each that is used is defined."""

from __future__ import annotations

import pytest

from megtrim.config.checks.references import reference_problems
from unit.config.checks.found import found_by


@pytest.mark.parametrize("section", ["applications", "classes", "devices", "models"])
def test_a_name_is_given_once(section: str) -> None:
    """The second one is reported, with the line of the first; other types are the model's."""
    text = (
        f"{section}:\n- {{name: a}}\n- {{name: b}}\n- {{name: 3}}\n- {{name: a}}\n- {{name: 3}}\n"
    )

    assert found_by(reference_problems, text) == [
        (
            f"f:5: {section}[3].name: found 'a' a second time (the first is on line 2), "
            "expected each name once"
        )
    ]


def test_a_phone_is_listed_once() -> None:
    """Two entries of one serial would be two leases of one phone."""
    text = "devices: [{name: a, serial: X}, {name: b, serial: X}]\n"

    [problem] = found_by(reference_problems, text)
    assert problem.startswith("f:1: devices[1].serial: found 'X' a second time")
    assert problem.endswith("expected each phone once")


def test_a_class_exists() -> None:
    """Without classes there is the one that every CPU is of."""
    device = "devices: [{name: d, class: agx}]\n"

    assert found_by(reference_problems, f"classes: [{{name: agx}}]\n{device}") == []
    [problem] = found_by(reference_problems, f"classes: [{{name: a76}}, {{name: a53}}]\n{device}")
    assert problem == "f:2: devices[0].class: found 'agx', expected a76 or a53"
    [problem] = found_by(reference_problems, device)
    assert problem == "f:1: devices[0].class: found 'agx', expected any"


def test_scenarios_are_named_once_in_a_model() -> None:
    """Another model may have one of the same name; classes are listed once, too."""
    text = (
        "classes: [{name: a}]\nmodels:\n"
        "- {name: m, scenarios: [{name: s}, {name: s}]}\n"
        "- {name: n, scenarios: [{name: s, classes: [a, a, b]}]}\n"
    )

    assert [each.partition(", expected")[0] for each in found_by(reference_problems, text)] == [
        "f:3: models[0].scenarios[1].name: found 's' a second time (the first is on line 3)",
        "f:4: models[1].scenarios[0].classes[1]: found 'a' a second time (the first is on line 4)",
        "f:4: models[1].scenarios[0].classes[2]: found 'b'",
    ]


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("--input", "the key inputs in its place"),
        ("--input=data.npy", "the key inputs in its place"),
        ("--fast-run", "the key fast_run in its place"),
        ("--bin-out-dump", "no such argument: verification adds it"),
    ],
)
def test_arguments_that_megtrim_adds_are_refused(argument: str, expected: str) -> None:
    """An application's command line is its own."""
    text = "models: [{{name: m, scenarios: [{{name: s, {}args: ['{}']}}]}}]\n"

    assert found_by(reference_problems, text.format("", argument)) == [
        f"f:1: models[0].scenarios[0].args[0]: found '{argument}', expected {expected}"
    ]
    assert found_by(reference_problems, text.format("application: a, ", argument)) == []
    assert found_by(reference_problems, text.format("", "--inputs")) == []
