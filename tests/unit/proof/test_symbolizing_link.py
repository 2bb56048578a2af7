from __future__ import annotations

from pathlib import Path

from megtrim.chain.filenames import DROPPED_FILE
from megtrim.chain.graph import NAMED
from megtrim.chain.session import Session
from megtrim.chain.store import StageFolder
from megtrim.proof.trap_diagnosis import named_files, named_program
from unit.trim.stages.built import built, finish, linked
from unit.trim.stages.support import changed

PROGRAM = "links/named/load_and_run"
LIST = DROPPED_FILE.format(target="load_and_run")


def making(session: Session, made: list[str]) -> Session:
    def make(task: str) -> StageFolder:
        made.append(task)
        return finish(session, task, {PROGRAM: "program", LIST: "list"})

    return changed(session, make=make)


def test_it_is_linked_where_a_trap_asks(tmp_path: Path) -> None:
    made: list[str] = []
    session = making(linked(tmp_path), made)
    files = named_files("load_and_run", session)

    assert files is not None
    assert [each.read_text(encoding="utf-8") for each in files] == ["program", "list"]
    assert named_files("load_and_run", session) == files
    assert made == [NAMED]


def test_without_trimmed_functions_there_is_none(tmp_path: Path) -> None:
    made: list[str] = []
    session = making(built(tmp_path), made)

    assert named_files("load_and_run", session) is None
    assert named_program("load_and_run", session) is None
    assert made == []


def test_a_program_that_is_not_linked_again_has_none(tmp_path: Path) -> None:
    assert named_files("other", making(linked(tmp_path), [])) is None
    (tmp_path / "again").mkdir()
    failing = changed(linked(tmp_path / "again"), make=lambda _task: None)
    assert named_program("load_and_run", failing) is None
