import json
import re

import pytest

from workflows.documents import ROOT

MATCHER = json.loads((ROOT / ".github/problem-matcher.json").read_text(encoding="utf-8"))
(OWN,) = MATCHER["problemMatcher"]
(PATTERN,) = OWN["pattern"]


def match(line: str) -> tuple[str, str, str] | None:
    found = re.search(PATTERN["regexp"], line)
    if found is None:
        return None
    return found[PATTERN["file"]], found[PATTERN["line"]], found[PATTERN["message"]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("megtrim: megtrim.yaml:3: engine.kind: found 'x'", "megtrim.yaml"),
        ("  trim/megtrim.yaml:3: engine.kind: found 'x'", "trim/megtrim.yaml"),
        ("megtrim: third_party/E/.gitmodules:3: found x", "third_party/E/.gitmodules"),
        ("megtrim: models/a b.mge.json:3: found x", "models/a b.mge.json"),
    ],
)  # fmt: skip
def test_errors_with_a_place_are_found(line: str, expected: str) -> None:
    found = match(line)

    assert found is not None
    assert found[:2] == (expected, "3")


@pytest.mark.parametrize(
    "line",
    [
        "megtrim: there is no engine checkout at x",
        "src/a.cpp:12:5: error: no such name",
        "src/a.cpp:12: error",
        "12:00:03: megtrim.yaml is read",
        "building a.yaml",
    ],
)
def test_other_lines_are_not(line: str) -> None:
    assert match(line) is None


def test_it_is_ours_alone() -> None:
    """Another tool's matcher of the same name would be replaced."""
    assert (OWN["owner"], OWN["severity"]) == ("megtrim", "error")
