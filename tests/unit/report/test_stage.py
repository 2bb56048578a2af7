from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from megtrim.chain.graph import VERDICT, Stage, Task
from megtrim.report import stage as report
from megtrim.util.errors import InputError
from megtrim.verdict.model import ReportResult, to_json
from unit.trim.stages.built import finish
from unit.trim.stages.support import open_session
from unit.verdict.examples import failing

TASK = Task(stage=Stage.REPORT, name="report", needs=(VERDICT,))


def test_every_form_is_of_the_same_verdict(tmp_path: Path) -> None:
    session, _ = open_session(tmp_path)
    folder = finish(session, VERDICT, {"verdict.json": to_json(failing())})
    left = tmp_path / "left"
    left.mkdir()

    assert report.work(TASK, session, left) == ReportResult()
    forms = ["index.html", "junit.xml", "report.md"]
    assert sorted(path.name for path in left.iterdir()) == forms
    assert int(ET.parse(left / "junit.xml").getroot().attrib["failures"]) > 0
    for name in ("index.html", "report.md"):
        assert "run0-var178 by up to 0.0125" in (left / name).read_text(encoding="utf-8")
    assert report.inputs(TASK, session) == {"verdict": folder.files["verdict.json"]}


def test_a_damaged_verdict_is_named(tmp_path: Path) -> None:
    session, _ = open_session(tmp_path)
    folder = finish(session, VERDICT, {"verdict.json": "{}"})

    with pytest.raises(InputError, match=str(folder.file("verdict.json"))):
        report.work(TASK, session, tmp_path)
