"""Switches that cannot be had are refused before a build."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.trim.builds import variants
from megtrim.util.errors import InputError
from unit.trim.stages.support import changed
from unit.trim.stages.switch_builds import made


@pytest.mark.parametrize(
    ("trim", "kind", "reported"),
    [
        (
            "{switches: {flatbuffers: false}}",
            "sample",
            (
                "megtrim.yaml:5: trim.switches.flatbuffers: the engine at {engine} has no option "
                "MGB_WITH_FLATBUFFERS"
            ),
        ),
        (
            "{minimum_size: false, switches: {rtti: true}}",
            "megengine",
            (
                "megtrim.yaml:5: trim.switches.rtti: found true, but it is always off in this "
                "engine's Release build for aarch64"
            ),
        ),
    ],
)
def test_what_cannot_be_had_is_refused(tmp_path: Path, trim: str, kind: str, reported: str) -> None:
    """Before anything is built, with file and line."""
    ready = made(tmp_path, trim, kind=kind)

    with pytest.raises(InputError) as caught:
        variants.expect_switchable(ready)

    assert caught.value.message == f"{tmp_path}/{reported}".format(engine=tmp_path / "engine")


@pytest.mark.parametrize("name", ["resnet18-s.mge", "resnet18-s.v2.mge"])
def test_a_model_in_flatbuffers_keeps_them(tmp_path: Path, name: str) -> None:
    """Both formats of the engine are; the file itself says so."""
    ready = made(tmp_path, "{switches: {flatbuffers: false}}", kind="megengine", model=name)

    with pytest.raises(InputError) as caught:
        variants.expect_switchable(ready)

    assert caught.value.message == (
        f"{tmp_path}/megtrim.yaml:5: trim.switches.flatbuffers: the model m (m.mge) is FlatBuffers"
    )
    assert caught.value.hint == "no build without FlatBuffers can load it: leave this switch on"


def test_a_model_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    """An encrypted one may be anything; its scenarios will tell. True is no question at all."""
    ready = made(tmp_path, "{switches: {flatbuffers: false}}", kind="megengine")
    warned: list[str] = []
    spoken = changed(ready, console=cast(Any, SimpleNamespace(warn=warned.append)))

    variants.expect_switchable(spoken)

    assert len(warned) == 1
    assert "m.mge is in a format that megtrim cannot read" in warned[0]
    on = made(
        tmp_path / "on",
        "{switches: {flatbuffers: true}}",
        kind="megengine",
        model="resnet18-s.mge",
    )
    variants.expect_switchable(on)
