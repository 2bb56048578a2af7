"""The README of a release: what it can run, and what it cannot."""

from __future__ import annotations

from dataclasses import replace

from megtrim.checks.statuses import CheckStatus, ScenarioStatus
from megtrim.release.contents import ArtifactKind
from megtrim.release.pages import render_readme as render
from unit.release.examples import contents
from unit.verdict.examples import RESNET


def test_it_says_what_it_can_run() -> None:
    """Each scenario with the model it was proven with."""
    page = render(contents(), has_licences=True)

    assert f"| `{RESNET}` | `{'1' * 64}` | `--cpu --iter 1` | pass | qemu-arm64 |" in page
    assert "| `bin/load_and_run` | program | 12 B | 37.5 MiB |" in page
    assert "MegEngineTrimmed::shared" in page
    assert "`licences`" in page


def test_it_says_how_an_app_takes_it() -> None:
    """If there is an AAR."""
    lines = "android { buildFeatures { prefab = true } }"

    assert lines in render(contents(), has_licences=True, has_aar=True)
    assert lines not in render(contents(), has_licences=True)


def test_it_says_what_devices_proved() -> None:
    """Where it was built, an emulator stood for them, or nothing did."""
    said = contents()
    first = replace(
        said.scenarios[0], status=ScenarioStatus.UNVERIFIED, on_devices=CheckStatus.PASS
    )
    page = render(replace(said, scenarios=(first,)), has_licences=True)

    assert "| unverified; on devices: pass |" in page


def test_it_says_what_it_cannot_run() -> None:
    """By how deep it was trimmed."""
    said = contents()
    deeper = replace(said, trim=replace(said.trim, level="function"))

    assert "Kernels that none of these runs are compiled out" in render(said, has_licences=True)
    assert "Functions that none of these ran are left out" in render(deeper, has_licences=True)


def test_without_a_library_or_licences_it_says_so() -> None:
    """No reader looks for what is not there."""
    said = contents()
    programs = tuple(each for each in said.artifacts if each.kind is ArtifactKind.PROGRAM)
    page = render(replace(said, artifacts=programs), has_licences=False)

    assert "There is no library in it" in page
    assert "The engine's checkout has no file with a licence." in page


def test_a_cell_stays_one_cell() -> None:
    """A bar in an argument would begin another."""
    said = contents()
    first = replace(said.scenarios[0], arguments=("--a|b",))
    page = render(replace(said, scenarios=(first,)), has_licences=True)

    assert "a&#124;b" in page
