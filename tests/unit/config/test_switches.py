"""The engine's switches in megtrim.yaml: what they mean together, and what contradicts itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build_spec import Switch
from megtrim.config.switches import switched_off
from megtrim.config.yaml.problems import ConfigError
from unit.config.support import MODEL, load

RTTI, LOGGING, EXCEPTIONS, FLATBUFFERS = Switch


def text(trim: str, cmake: str = "{}") -> str:
    return f"version: 1\nengine: {{kind: sample, cmake: {cmake}}}\ntrim:\n{trim}{MODEL}"


@pytest.mark.parametrize(
    ("trim", "off"),
    [
        ("  level: region\n", (RTTI, LOGGING, EXCEPTIONS)),
        ("  minimum_size: false\n", ()),
        ("  minimum_size: false\n  switches: {logging: false}\n", (LOGGING,)),
        (
            "  minimum_size: false\n  switches: {exceptions: false, rtti: false}\n",
            (RTTI, EXCEPTIONS),
        ),
        ("  minimum_size: false\n  switches: {rtti: true, logging: false}\n", (LOGGING,)),
        ("  switches: {flatbuffers: false}\n", (RTTI, LOGGING, EXCEPTIONS, FLATBUFFERS)),
        ("  switches: {flatbuffers: true, rtti: false}\n", (RTTI, LOGGING, EXCEPTIONS)),
        ("  switches:\n", (RTTI, LOGGING, EXCEPTIONS)),
    ],
)  # fmt: skip
def test_what_is_off(tmp_path: Path, trim: str, off: tuple[Switch, ...]) -> None:
    """minimum_size means three; a switch that is left out follows it; FlatBuffers stay."""
    assert switched_off(load(tmp_path, text(trim)).config.trim) == off


def test_an_option_of_cmake_is_not_set_twice(tmp_path: Path) -> None:
    """It overrides all others: the switch would have no effect."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text("  switches: {flatbuffers: false}\n", "{MGE_ENABLE_RTTI: false}"))

    assert str(caught.value).endswith(
        "megtrim.yaml:2: engine.cmake.MGE_ENABLE_RTTI: found MGE_ENABLE_RTTI together with "
        "trim.switches, expected the keys of trim alone"
    )


def test_options_of_cmake_alone_are_left_alone(tmp_path: Path) -> None:
    """Who switches by engine.cmake, for all variants, may go on doing so."""
    config = load(tmp_path, text("  level: region\n", "{MGE_ENABLE_RTTI: false}")).config

    assert config.engine.cmake == {"MGE_ENABLE_RTTI": False}
