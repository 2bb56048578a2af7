"""The notes of a release: sizes, models and keep set, each against the last release."""

from __future__ import annotations

from dataclasses import replace

from megtrim.regions.keepset import parse_keep_set
from megtrim.regions.region import Region
from megtrim.release.pages import DescribedRelease, render_notes
from unit.release.examples import MODELS, contents, keep_set
from unit.verdict.examples import MOBILENET, RESNET, passing

KEEP = parse_keep_set(keep_set(passing(), models=MODELS), source="k")
NOW = DescribedRelease(tag="v2", contents=contents(), keep=KEEP)


def notes(before: DescribedRelease | None = None, now: DescribedRelease = NOW) -> str:
    return render_notes(now, before, archive="app-v2.tar.gz", sha256="a" * 64)


def test_a_first_release_compares_nothing() -> None:
    """It says what it can run, and how it is verified."""
    page = notes()

    assert "| `bin/load_and_run` | 12 B | new | 37.5 MiB |" in page
    assert f"- `{RESNET}`: `--cpu --iter 1`\n" in page
    assert f"megtrim release verify app-v2.tar.gz --sha256 {'a' * 64}" in page
    assert "Keep set since" not in page


def test_an_equal_release_says_so() -> None:
    """Nothing changed."""
    page = notes(replace(NOW, tag="v1"))

    assert "| `bin/load_and_run` | 12 B | the same | 37.5 MiB |" in page
    assert "## Keep set since v1\n\nIt is the same." in page


def test_sizes_are_held_against_the_last_release() -> None:
    """By how much each grew or shrank."""
    said = contents()
    older = tuple(replace(each, size_bytes=each.size_bytes + 1024) for each in said.artifacts)
    page = notes(replace(NOW, tag="v1", contents=replace(said, artifacts=older)))

    assert "in v1" in page
    assert "| `bin/load_and_run` | 12 B | 1.0 KiB, -1 KiB |" in page


def test_models_that_changed_are_named() -> None:
    """And scenarios that are gone."""
    said = contents()
    changed = tuple(
        replace(each, model_sha256="9" * 64) if each.model == "resnet18-s" else each
        for each in said.scenarios
    )
    fewer = tuple(each for each in said.scenarios if each.id != MOBILENET)
    before = replace(NOW, tag="v1", contents=replace(said, scenarios=changed))

    assert f"- `{RESNET}`: `--cpu --iter 1`, with a model that changed" in notes(before)
    assert f"- no longer: `{MOBILENET}`" in notes(
        replace(NOW, tag="v1"), replace(NOW, contents=replace(said, scenarios=fewer))
    )
    alone = replace(NOW, tag="v1", contents=replace(said, scenarios=fewer))
    assert f"- `{MOBILENET}`: `--cpu --iter 1`, a new model" in notes(alone)


def test_regions_that_changed_are_named() -> None:
    """Many of them by their number."""
    first, *others = KEEP.scenarios
    many = tuple(Region("kern", (number,)) for number in range(30))
    before = replace(
        NOW, tag="v1", keep=replace(KEEP, scenarios=(replace(first, regions=many), *others))
    )
    page = notes(before)

    assert "left out now: " in page
    assert "and 9 more" in page
    assert "kept now" not in page
