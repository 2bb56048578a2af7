"""``megtrim size why``: for people and as JSON."""

from __future__ import annotations

import json

from unit.cli.support import Shell
from unit.size.references.made_programs import PROGRAM


def test_a_function_of_a_file_has_a_reason(shell: Shell) -> None:
    """The chain from the entry point, who refers to it, and what would go with it."""
    (shell.folder / "program").write_bytes(PROGRAM)

    answer = shell("size", "why", "run", "--file", "program")

    assert answer.status == 0
    assert "start (the entry point)\n    -> alias" in answer.out
    assert "1 other refers to it" in answer.out
    assert "without it, 44 bytes would go" in answer.out


def test_json_has_all_facts(shell: Shell) -> None:
    """With linkage names and places."""
    (shell.folder / "program").write_bytes(PROGRAM)

    found = json.loads(shell("size", "why", "run", "--file", "program", "--json").out)

    assert found["chain"] == ["start", "alias"]
    assert found["parts"][0]["linkage_names"] == ["alias", "run"]
    assert (found["size_bytes"], found["retained_bytes"], found["exact"]) == (36, 44, True)


def test_a_part_of_several_names_is_answered_with_a_list(shell: Shell) -> None:
    """To choose from; `--top` bounds it."""
    (shell.folder / "program").write_bytes(PROGRAM)

    answer = shell("size", "why", "a", "--file", "program", "--top", "1")

    assert "names contain 'a'; ask for one of them by its whole name" in answer.out
    assert "others]" in answer.out


def test_what_is_not_there_is_refused(shell: Shell) -> None:
    """With how to find what is."""
    (shell.folder / "program").write_bytes(PROGRAM)

    answer = shell("size", "why", "nowhere", "--file", "program")

    assert answer.status == 2
    assert "program has nothing that is called 'nowhere'" in answer.err
