"""``megtrim size``: a stage, and a group of verbs that take no configuration."""

from __future__ import annotations

from unit.cli.support import Shell


def test_without_a_verb_it_is_the_stage(shell: Shell) -> None:
    """It needs a configuration, and says so."""
    answer = shell("size")

    assert answer.status == 2
    assert "megtrim.yaml" in answer.err


def test_a_verb_needs_no_configuration(shell: Shell) -> None:
    """Its file is what is missing."""
    answer = shell("size", "show", "gone")

    assert answer.status == 2
    assert "gone" in answer.err
    assert "megtrim.yaml" not in answer.err
