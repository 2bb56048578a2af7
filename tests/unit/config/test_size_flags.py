"""Size optimisations in megtrim.yaml: their keys and values."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.config.yaml.problems import ConfigError
from unit.config.support import MODEL, load


def text(trim: str) -> str:
    return f"version: 1\nengine: {{kind: sample}}\ntrim:\n{trim}{MODEL}"


def test_every_means_can_be_said_by_itself(tmp_path: Path) -> None:
    """Next to optimize: none as well; what is left out is left to optimize."""
    means = "  means: {unwind_tables: false, small_code: Os, lto: full, fold: none}\n"

    trim = load(tmp_path, text(means)).config.trim

    assert trim.optimize == "none"
    assert trim.relocations is None
    assert trim.means.model_dump() == {
        "unwind_tables": False,
        "small_code": "Os",
        "lto": "full",
        "fold": "none",
        "virtual_functions": None,
    }


@pytest.mark.parametrize(
    ("trim", "expected"),
    [
        (
            "  means: {small_code: O2}\n",
            "megtrim.yaml:4: trim.means.small_code: found 'O2', expected none, Os or Oz",
        ),
        (
            "  means: {fold: true}\n",
            "megtrim.yaml:4: trim.means.fold: found true, expected none or all",
        ),
        (
            "  means: {unwind_table: false}\n",
            (
                "megtrim.yaml:4: trim.means.unwind_table: found an unknown key, expected "
                "unwind_tables, small_code, lto, fold or virtual_functions (did you mean "
                "unwind_tables?)"
            ),
        ),
    ],
)
def test_a_value_that_cannot_be_has_an_error_with_its_line(
    tmp_path: Path, trim: str, expected: str
) -> None:
    """And with what to write in its place."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text(trim))

    assert len(caught.value.problems) == 1
    assert str(caught.value.problems[0]).endswith(expected)


@pytest.mark.parametrize("trim", ["  means: 3\n", "  means: [lto]\n"])
def test_wrong_shapes_are_one_clear_message(tmp_path: Path, trim: str) -> None:
    """Never a traceback."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text(trim))

    assert [each.line for each in caught.value.problems] == [4]
