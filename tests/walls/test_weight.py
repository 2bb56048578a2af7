"""The tree weighs no more than tests/walls/weight.toml holds."""

import pytest

from support.weight import count, read_held, read_texts

HELD = read_held()


@pytest.fixture(scope="module")
def weights() -> dict[str, int]:
    texts = read_texts()
    if texts is None:
        pytest.skip("this is no git checkout: which files count is not known")
    return count(texts)


@pytest.mark.parametrize("what", HELD)
def test_the_tree_weighs_no_more_than_is_held(what: str, weights: dict[str, int]) -> None:
    above = weights[what] - HELD[what]

    assert above <= 0, (
        f"{what}: {weights[what]:,}, {above:,} more than tests/walls/weight.toml holds. "
        "Take something away, or raise the number in a commit that says for what."
    )


def test_everything_that_is_counted_is_held() -> None:
    assert count({}).keys() == HELD.keys()


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("ci/megtrim/new.py", "if 1: pass\n", {"ci: lines": 1, "ci: modules": 1}),
        ("ci/megtrim/new.py", "if 1: pass\n", {"ci: statements": 2}),
        ("ci/virtual_phone/new.c", "int a;\nint b;", {"ci: lines": 2, "ci: modules": 0}),
        ("tests/unit/new.py", "a = (\n1)\n", {"tests: Python lines": 2, "tests: statements": 1}),
        ("tests/data/a.json", "{}\n", {"tests/data: TOML, YAML and JSON lines": 1}),
        ("tests/data/a.json", "{}\n", {"tests: TOML, YAML and JSON lines": 0}),
        ("tests/new.yml", "a:\n  1\n", {"tests: TOML, YAML and JSON lines": 2}),
        (".github/new.yml", "a:\n", {".github: lines": 1}),
        ("docs/reference/new.md", "two words", {"docs without reference: words": 0}),
        ("docs/new.md", "two words", {"docs without reference: words": 2}),
        ("scripts/new.py", f"a = 1  # {'noqa'}: E1\n", {"scripts: lines": 1, "noqa": 1}),
        (
            "noxfile.py",
            f"a = 1  # {'type'}: ignore[x]\n",
            {"noxfile.py: lines": 1, "type: ignore": 1},
        ),
        ("ci/a.py", f"# {'fmt'}: off\n", {"fmt: skip": 1}),
    ],
)
def test_what_a_file_counts_for(file: str, text: str, expected: dict[str, int]) -> None:
    """Line breaks make no statements, and what was recorded is not what was written."""
    counted = count({file: text})

    assert {name: counted[name] for name in expected} == expected
