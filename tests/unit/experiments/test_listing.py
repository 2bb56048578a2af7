"""Experiments as text."""

from __future__ import annotations

from dataclasses import replace

from megtrim.experiments.experiment import Backend
from megtrim.experiments.listing import (
    describe_effects,
    describe_step,
    render_reference,
    show_commands,
)
from megtrim.experiments.table import EXPERIMENTS, find_experiments
from megtrim.load_and_run.dialects import LITE


def test_steps_in_words() -> None:
    """What each one does, and which one is measured."""
    (recipe,) = find_experiments(["recipe-x86"])
    assert [describe_step(step) for step in recipe.steps] == [
        "run the model; choose layouts, and dump the model",
        "run the dumped model with --fast-run, --weight-preprocess; leave an algorithm cache",
        (
            "run the dumped model with --weight-preprocess, --fake-first; "
            "algorithms from the cache; 2 warm-ups; measured"
        ),
    ]
    (arm,) = find_experiments(["recipe-arm"])
    assert "; in the calling thread; " in describe_step(arm.measured)


def test_effects_in_words() -> None:
    """In the order of the document's columns."""
    (baseline, nchw88) = find_experiments(["baseline", "nchw88"])
    assert describe_effects(baseline) == ""
    assert describe_effects(nchw88) == "prepare slower, warm-up faster, inference faster"


def test_no_commands_of_an_unknown_flag() -> None:
    """The reason why it cannot run says which."""
    (full,) = find_experiments(["full-run"])
    without = replace(LITE, switches=LITE.switches - {"full_run"})
    shown = show_commands(full, dialect=LITE, backend=Backend.CPU, architecture=None)
    assert shown[0][:3] == ("load_and_run", "MODEL", "--cpu")
    assert show_commands(full, dialect=without, backend=Backend.CPU, architecture=None) == ()


def test_the_reference_has_every_experiment() -> None:
    """A row and a section of commands each; those of older releases where they differ."""
    page = render_reference()
    for each in EXPERIMENTS:
        assert f"| [`{each.name}`](#{each.name}) | {each.row} | {each.title} |" in page
        assert f"\n## {each.name}\n\n```text\nload_and_run MODEL " in page
    assert page.count("Up to 1.6:") == 9
    assert "--layout-transform arm --layout-transform-dump DUMPED_MODEL" in page
