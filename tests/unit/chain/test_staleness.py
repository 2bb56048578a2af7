"""Why a task would run, in one line."""

import pytest

from megtrim.stages import reason

OLD, NEW = "0123456789abcdef" * 4, "fedcba9876543210" * 4


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        ({"a": "1"}, None, "there is no result yet"),
        ({"a": "1"}, {"a": "1"}, "its folder is incomplete: an earlier run was interrupted"),
        ({"threads": "2"}, {"threads": "1"}, "threads changed (1 → 2)"),
        ({"model": NEW}, {"model": OLD}, "model changed (01234567 → fedcba98)"),
        ({"a": "1", "input x": OLD}, {"a": "1"}, "input x is new"),
        ({"a": "1"}, {"a": "1", "input x": OLD}, "input x is gone"),
        ({"b": "2", "a": "2"}, {"a": "1", "b": "1"}, "a changed (1 → 2); b changed (1 → 2)"),
        (
            {"options": "CMAKE_BUILD_TYPE=Release LTO=OFF TESTS=OFF"},
            {"options": "CMAKE_BUILD_TYPE=Release LTO=ON TESTS=OFF"},
            "options changed (+ LTO=OFF, - LTO=ON)",
        ),
        ({"args": "--cpu --iter 5"}, {"args": "--cpu"}, "args changed (+ --iter, + 5)"),
        ({"args": "a b"}, {"args": "b a"}, "args changed (the same in another order)"),
        (
            {"flag": f"-DROOT={'/x' * 30}/new"},
            {"flag": f"-DROOT={'/x' * 30}/old"},
            f"flag changed (-DROOT={'/x' * 6}…{'/x' * 8}/old → -DROOT={'/x' * 6}…{'/x' * 8}/new)",
        ),
        (
            {"flags": f"-g -DROOT={'/x' * 30}/new"},
            {"flags": "-g"},
            "flags changed (+ -DROOT=/x/x/x/x/x/x…/x/x/x/x/x/x/x/x/new)",
        ),
        ({"keep": "a\nb"}, {"keep": "a"}, "keep changed (+ b)"),
        ({"keep": "a"}, {"keep": "a\nb"}, "keep changed (- b)"),
        ({"keep": "a\nc"}, {"keep": "a\nb"}, "keep changed (+ c, - b)"),
        ({"keep": "a\nb"}, {"keep": ""}, "keep changed (+ a, + b)"),
        ({"keep": "a\nb\nc\nd"}, {"keep": "e"}, "keep changed (+ a, + b, + c and 2 more)"),
        ({"keep": "b\na"}, {"keep": "a\nb"}, "keep changed (the same in another order)"),
    ],
)
def test_reason(now: dict[str, str], before: dict[str, str] | None, expected: str) -> None:
    assert reason(now, before) == expected


def test_only_the_first_three_changes_are_shown() -> None:
    now = dict.fromkeys("edcba", "2")
    before = dict.fromkeys("abcde", "1")

    assert reason(now, before) == (
        "a changed (1 → 2); b changed (1 → 2); c changed (1 → 2) and 2 more"
    )


def test_a_text_of_the_longest_length_is_whole() -> None:
    assert reason({"a": "x" * 40}, {"a": ""}) == f"a changed ( → {'x' * 40})"
    assert reason({"a": "x" * 41}, {"a": ""}) == f"a changed ( → {'x' * 19}…{'x' * 20})"
