"""Means against size in megtrim.yaml: what may be said, and what other keys forbid."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.config.yaml.problems import ConfigError
from unit.config.support import MODEL, load

APPLICATION = """\
applications:
  - {name: a}
  - {name: b, lto: full}
"""


def text(trim: str, more: str = "") -> str:
    return f"version: 1\nengine: {{kind: sample}}\ntrim:\n{trim}{more}{MODEL}"


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
    ("trim", "more", "reported"),
    [
        (
            "  minimum_size: false\n  means:\n    lto: full\n    unwind_tables: false\n",
            "",
            (
                "megtrim.yaml:7: trim.means.unwind_tables: found false while exceptions are on, "
                "which unwind by these tables, expected minimum_size: true, or switches: "
                "{exceptions: false}"
            ),
        ),
        (
            "  means: {virtual_functions: false}\n",
            "",
            (
                "megtrim.yaml:4: trim.means.virtual_functions: found false without lto: full, "
                "which alone sees every call, expected lto: full, too"
            ),
        ),
        (
            "  optimize: size\n  means: {virtual_functions: false, lto: none}\n",
            "",
            (
                "megtrim.yaml:5: trim.means.virtual_functions: found false without lto: full, "
                "which alone sees every call, expected lto: full, too"
            ),
        ),
        (
            "  means: {lto: none}\n",
            APPLICATION,
            (
                "megtrim.yaml:4: trim.means.lto: found none while the application b asks for "
                "full, expected full, or no such key"
            ),
        ),
        (
            "  means: {small_code: O2}\n",
            "",
            "megtrim.yaml:4: trim.means.small_code: found 'O2', expected none, Os or Oz",
        ),
        (
            "  means: {fold: true}\n",
            "",
            "megtrim.yaml:4: trim.means.fold: found true, expected none or all",
        ),
        (
            "  means: {unwind_table: false}\n",
            "",
            (
                "megtrim.yaml:4: trim.means.unwind_table: found an unknown key, expected "
                "unwind_tables, small_code, lto, fold or virtual_functions (did you mean "
                "unwind_tables?)"
            ),
        ),
    ],
)
def test_what_cannot_be_is_shown_with_its_line(
    tmp_path: Path, trim: str, more: str, reported: str
) -> None:
    """And with what to write in its place."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text(trim, more))

    assert len(caught.value.problems) == 1
    assert str(caught.value.problems[0]).endswith(reported)


@pytest.mark.parametrize(
    "trim",
    [
        "  means: {unwind_tables: false}\n",
        "  minimum_size: false\n  switches: {exceptions: false}\n  means: {unwind_tables: false}\n",
        "  minimum_size: false\n  means: {unwind_tables: true}\n",
        "  optimize: size\n  means: {virtual_functions: false}\n",
        "  means: {virtual_functions: false, lto: full}\n",
        "  means:\n",
    ],
)
def test_what_fits_together_loads(tmp_path: Path, trim: str) -> None:
    """Exceptions are off by either way, and link-time optimisation is on by either."""
    load(tmp_path, text(trim))


@pytest.mark.parametrize("trim", ["  means: 3\n", "  means: [lto]\n"])
def test_wrong_shapes_are_one_clear_message(tmp_path: Path, trim: str) -> None:
    """Never a traceback."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text(trim))

    assert [each.line for each in caught.value.problems] == [4]
