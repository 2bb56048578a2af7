"""Records of the field, read beside the releases that their lines are of."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.checks.invocation import Options
from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InputError
from megtrim.ship.cli.reached import keep_reached
from support.made_programs import ID, STUB_AT
from unit.ship.crashes.made_programs import program
from unit.ship.release.examples import write_release

CONFIG = """\
version: 1
engine: {kind: sample}
trim: {level: deferred}
models: [{name: a, file: m.mge, scenarios: [{name: default}]}]
"""
OLDER = "11" * 20
LINE = f"{ID} {STUB_AT:08x}\n"


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedConfig:
    (tmp_path / "m.mge").write_bytes(b"model")
    (tmp_path / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    made = program()
    older = replace(made, shipped=made.shipped.replace(bytes.fromhex(ID), bytes.fromhex(OLDER)))
    write_release(tmp_path / "new", made)
    write_release(tmp_path / "old", older)
    return load_config(tmp_path / "megtrim.yaml")


def keep(loaded: LoadedConfig, record: str, *releases: str) -> tuple[LoadedConfig, str]:
    file = loaded.folder / "record"
    file.write_text(record, encoding="utf-8")
    options = Options(
        out=loaded.folder / "out",
        reached=(file,),
        of_releases=tuple(loaded.folder / name for name in releases),
    )
    stream = io.StringIO()
    return keep_reached(options, loaded, Console(stream)), stream.getvalue()


def test_lines_of_several_builds_have_a_release_each(loaded: LoadedConfig) -> None:
    record = f"{LINE}{LINE.replace(ID, OLDER)}"
    kept, said = keep(loaded, record, "old", "new")

    assert kept.config.trim.keep == ("first()", "second(int)", "unused()")
    assert "reached    1 deferred function, 4 bytes" in said
    assert "skipped" not in said


def test_without_its_release_a_line_is_passed_over(loaded: LoadedConfig) -> None:
    """There are no results here: the release is enough."""
    record = f"{LINE}{LINE.replace(ID, OLDER)}"
    kept, said = keep(loaded, record, "new")

    assert kept.config.trim.keep == ("first()", "second(int)", "unused()")
    assert f"skipped 1 line of the build {OLDER}: {loaded.folder}/record:2" in said


def test_nothing_that_fits_is_an_error(loaded: LoadedConfig) -> None:
    with pytest.raises(
        InputError, match=f"no line of the record belongs to the build {ID}: 1 line of"
    ):
        keep(loaded, LINE.replace(ID, "2" * 40), "new")
    with pytest.raises(InputError, match="no line of the record is a build id and an address"):
        keep(loaded, "PK", "new")
