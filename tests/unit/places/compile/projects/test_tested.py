"""Which tests a command of a project stands for."""

import json

import pytest

from megtrim.places.compile.projects.tested import find_meson_build, read_meson_tests

DESCRIBED = json.dumps(
    [
        {"name": "square", "suite": ["shapes:quick", "shapes:all"]},
        {"name": "square", "suite": ["shapes:quick"]},
        {"name": "a: b / c", "suite": ["shapes"]},
        {"name": "slow", "suite": ["shapes:slow"]},
        {"name": "square", "suite": ["other"]},
    ]
)
OF_SHAPES = (("shapes", "square"), ("shapes", "a: b / c"))
BOTH = (("shapes", "square"), ("shapes", "a: b / c"), ("other", "square"))


@pytest.mark.parametrize(
    ("described", "listed", "expected"),
    [
        # As versions 1.12, 1.0 with several suites, and 1.0 with one of them write it.
        (DESCRIBED, "shapes:square\nshapes:a: b / c\n", OF_SHAPES),
        (DESCRIBED, "shapes:quick+all / square\nshapes / a: b / c\n", OF_SHAPES),
        (DESCRIBED, "shapes:square\nother:square\nshapes:a: b / c\n", BOTH),
        (DESCRIBED, "quick+all - shapes:square\nquick - shapes:a: b / c\n", OF_SHAPES),
        (DESCRIBED, "square\na: b / c\n", BOTH),
        (DESCRIBED, "shapes:slow\n", (("shapes", "slow"),)),
        (DESCRIBED, "slower\nshapes:not slow\n", ()),
        (DESCRIBED, "", ()),
        ("ERROR: no such folder", "square\n", ()),
        ("[]", "square\n", ()),
        ("3", "square\n", ()),
        ('[{"name": "square"}]', "square\n", ()),
        ('[{"name": "square", "suite": []}]', "square\n", ()),
        ('[{"name": "square", "suite": [3]}]', "square\n", ()),
        ('[{"name": ["square"], "suite": ["shapes"]}]', "square\n", ()),
    ],
)
def test_tests_of_meson_are_those_that_it_lists(
    described: str, listed: str, expected: tuple[tuple[str, str], ...]
) -> None:
    assert read_meson_tests(described, listed) == expected


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        (("meson", "test"), "."),
        (("meson", "test", "-C", "out"), "out"),
        (("meson", "test", "-Cout", "--suite", "quick"), "out"),
        (("meson", "test", "-C"), ""),
    ],
)
def test_the_folder_of_a_meson_build(words: tuple[str, ...], folder: str) -> None:
    assert find_meson_build(words) == folder
