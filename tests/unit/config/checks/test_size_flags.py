"""Size optimisations that another key rules out are refused, with what to write in its place."""

from __future__ import annotations

import pytest

from megtrim.config.checks.size_flags import means_problems
from unit.config.checks.found import found_by

APPLICATIONS = "applications: [{name: a}, {name: b, lto: full}]\n"


WITHOUT_LTO = (
    "trim.means.virtual_functions: found false without lto: full, which alone sees every call, "
    "expected lto: full, too"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "trim: {minimum_size: false, means: {lto: full, unwind_tables: false}}\n",
            (
                "trim.means.unwind_tables: found false while exceptions are on, which unwind by "
                "these tables, expected minimum_size: true, or switches: {exceptions: false}"
            ),
        ),
        ("trim: {means: {virtual_functions: false}}\n", WITHOUT_LTO),
        ("trim: {optimize: size, means: {virtual_functions: false, lto: none}}\n", WITHOUT_LTO),
        (
            f"trim: {{means: {{lto: none}}}}\n{APPLICATIONS}",
            (
                "trim.means.lto: found none while the application b asks for full, "
                "expected full, or no such key"
            ),
        ),
    ],
)
def test_a_contradiction_names_its_key(text: str, expected: str) -> None:
    """And the key that it contradicts."""
    [problem] = found_by(means_problems, text)

    assert problem.endswith(expected)


@pytest.mark.parametrize(
    "trim",
    [
        "{means: {unwind_tables: false}}",
        "{minimum_size: false, switches: {exceptions: false}, means: {unwind_tables: false}}",
        "{minimum_size: false, means: {unwind_tables: true}}",
        "{optimize: size, means: {virtual_functions: false}}",
        "{means: {virtual_functions: false, lto: full}}",
        "{means: }",
        "3",
    ],
)
def test_what_fits_together_is_accepted(trim: str) -> None:
    """Exceptions are off by either way, and link-time optimisation is on by either."""
    assert found_by(means_problems, f"trim: {trim}\n{APPLICATIONS}") == []
