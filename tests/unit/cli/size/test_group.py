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


def test_options_of_the_stage_before_a_verb_are_refused(shell: Shell) -> None:
    """A verb does not take them, so they would be ignored."""
    answer = shell("size", "--json", "show", "file")

    assert answer.status == 2
    assert "unexpected extra arguments (show file)" in answer.err


def test_help_has_both_options_and_verbs(shell: Shell) -> None:
    """Those of the call without a verb."""
    answer = shell("size", "--help")

    assert answer.status == 0
    assert all(each in answer.out for each in ("--config", "--again", "show", "diff"))
