"""Versions of the kit: read from its tags by real git, and held against what a person names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from megtrim.build.sources.git import expect_version, list_versions
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import ProcessRunner
from support.source_forge import KIT, KIT_SHA, make_kit

OTHER = "0" * 40


def test_the_newest_comes_first(tmp_path: Path, processes: ProcessRunner) -> None:
    """By number, each with its commit; of a tag with a text, too. What is no version is no tag."""
    server = make_kit(tmp_path, "v0.9.0", "v0.10.0", "v1.2.3", "v1", "vision-v1.0.0", "v1.2.3-rc1")
    found = list_versions(f"{server}/{KIT}", processes)

    assert [*found.items()] == [(tag, KIT_SHA) for tag in ("v1.2.3", "v0.10.0", "v0.9.0")]


@pytest.mark.parametrize(
    ("version", "sha", "known", "message"),
    [
        ("v9.9.9", KIT_SHA, ("v1.2.3", "v0.9.0"), "has no tag v9.9.9\n  its newest: v1.2.3, v0.9"),
        ("v1.2.3", KIT_SHA, (), "megtrim/kit has no tag v1.2.3\n  it has no tag vX.Y.Z: is it the"),
        ("v1.2.3", OTHER, ("v1.2.3",), f"found {OTHER}, expected {KIT_SHA}, the commit of v1.2.3"),
    ],
)
def test_what_the_kit_does_not_have_is_refused(
    version: str, sha: str, known: tuple[str, ...], message: str
) -> None:
    """A caller must not name one commit and the version of another."""
    with pytest.raises(InputError) as caught:
        expect_version(KIT, version, sha, dict.fromkeys(known, KIT_SHA))
    assert message in str(caught.value)


def test_what_it_has_is_taken() -> None:
    """Tag and commit agree."""
    expect_version(KIT, "v1.2.3", KIT_SHA, {"v1.2.3": KIT_SHA})


def test_a_repository_that_is_not_there_is_an_input_error(
    tmp_path: Path, processes: ProcessRunner
) -> None:
    """Its name is wrong, or this person may not read it."""
    with pytest.raises(InputError, match="the versions of the kit cannot be read from file://"):
        list_versions(f"{make_kit(tmp_path)}/megtrim/kitt", processes)


def test_a_server_that_does_not_answer_is_infrastructure() -> None:
    """Nothing is known of the version, so it is not said to be wrong."""
    url = "http://127.0.0.1:9/megtrim/kit"
    offline = ProcessRunner({"PATH": os.environ["PATH"]})

    with pytest.raises(InfrastructureFailure, match=f"cannot be read from {url}: ") as caught:
        list_versions(url, offline)
    assert caught.value.hint.startswith("is it reachable from this machine?")
