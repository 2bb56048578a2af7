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


@pytest.mark.parametrize(
    ("trim", "cmake", "reported"),
    [
        (
            "  minimum_size: true\n  switches:\n    logging: false\n    exceptions: true\n",
            "{}",
            (
                "megtrim.yaml:7: trim.switches.exceptions: found true, which minimum_size: true "
                "forces off, expected minimum_size: false, and each switch that is off: "
                "rtti: false, logging: false"
            ),
        ),
        (
            "  switches: {rtti: true, logging: true, exceptions: true}\n",
            "{}",
            (
                "megtrim.yaml:4: trim.switches.rtti: found true, which minimum_size: true "
                "forces off, expected minimum_size: false, and each switch that is off"
            ),
        ),
        (
            "  switches: {rttti: false}\n",
            "{}",
            (
                "megtrim.yaml:4: trim.switches.rttti: found an unknown key, expected rtti, "
                "logging, exceptions or flatbuffers (did you mean rtti?)"
            ),
        ),
        (
            "  switches: {rtti: 1}\n",
            "{}",
            "megtrim.yaml:4: trim.switches.rtti: found the number 1, expected true or false",
        ),
        (
            "  switches: {flatbuffers: false}\n",
            "{MGE_ENABLE_RTTI: false}",
            (
                "megtrim.yaml:2: engine.cmake.MGE_ENABLE_RTTI: found MGE_ENABLE_RTTI together with "
                "trim.switches, expected the keys of trim alone"
            ),
        ),
    ],
)
def test_contradictions_are_shown_with_their_line(
    tmp_path: Path, trim: str, cmake: str, reported: str
) -> None:
    """And with what to write in their place."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text(trim, cmake))

    assert str(caught.value.problems[0]).endswith(reported)


def test_options_of_cmake_alone_are_left_alone(tmp_path: Path) -> None:
    """Who switches by engine.cmake, for all variants, may go on doing so."""
    config = load(tmp_path, text("  level: region\n", "{MGE_ENABLE_RTTI: false}")).config

    assert config.engine.cmake == {"MGE_ENABLE_RTTI": False}


@pytest.mark.parametrize("trim", ["  switches: 3\n", "  switches: [rtti]\n"])
def test_wrong_shapes_are_one_clear_message(tmp_path: Path, trim: str) -> None:
    """Never a traceback."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text(trim))

    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].line == 4
