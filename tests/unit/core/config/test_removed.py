"""What an earlier version had is known by name, and nothing that is known so exists still."""

import re
from pathlib import Path

import pytest

from megtrim.core.config.problems import ConfigError, KeyPath
from megtrim.core.config.removed import KEYS, OPTIONS, VERBS, describe_words, find_key
from unit.core.cli.support import Shell
from unit.core.config.support import ENGINE, MODEL, load

CHANGES = Path(__file__).parents[4] / "CHANGELOG.md"
FILES = {
    "acknowledge": "acknowledge: true\n",
    "budgets[].neighbours": "budgets:\n  - {artifact: m, max: 1 MiB, neighbours: all}\n",
    "trim.measure": "trim: {measure: [rtti]}\n",
}
"""A file for each key; it is on the last line."""


@pytest.mark.parametrize("words", [*VERBS, *OPTIONS])
def test_a_verb_or_an_option_that_was_removed_is_known(shell: Shell, words: str) -> None:
    answer = shell(*words.split()).expect(2, out="")
    row = {**VERBS, **OPTIONS}[words]
    assert answer.err == (
        f"megtrim: {words} was removed: {row.last} is the last version that has it\n"
        f"  {row.instead}\n"
    )


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_was_removed_is_known(tmp_path: Path, key: str) -> None:
    text = ENGINE + MODEL + FILES[key]
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    (problem,) = caught.value.problems
    row = KEYS[key]
    assert problem.line == len(text.splitlines())
    assert problem.found == f"a key that was removed: {row.last} is the last version that has it"
    assert problem.expected == row.instead


@pytest.mark.parametrize(
    ("path", "known"),
    [
        (("trim", "measure"), True),
        (("toolchains", 1, "trim", "measure"), True),
        (("budgets", 3, "neighbours"), True),
        (("trim", "measures"), False),
        (("models", 0, "acknowledge"), False),
        ((), False),
    ],
)
def test_a_key_is_known_by_its_path(path: KeyPath, known: bool) -> None:
    assert (find_key(path) is not None) is known


@pytest.mark.parametrize("words", ["", "perf", "trim --frobnicate", "size ratchet --write"])
def test_other_words_were_never_removed(words: str) -> None:
    assert describe_words(words) == ""


def test_names_are_known_for_one_version() -> None:
    """A row that fails here has been known long enough: remove it."""
    releases = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", CHANGES.read_text("utf-8"), re.MULTILINE)
    rows = (*VERBS.values(), *OPTIONS.values(), *KEYS.values())
    last = {row.last.removeprefix("an unreleased build after ") for row in rows}
    assert last <= {*releases[:2]}
