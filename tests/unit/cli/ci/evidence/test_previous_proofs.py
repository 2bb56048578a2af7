"""``--proofs FILE``: proofs of earlier runs, of which there may be none yet."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from megtrim.cli.ci.evidence.previous_proofs import read_proofs
from megtrim.util.console import Console
from megtrim.util.errors import InputError
from unit.evidence.support import evidence, proofs, written


def test_proofs_are_read_from_their_file(tmp_path: Path) -> None:
    """Nothing is said about them."""
    (tmp_path / "evidence.json").write_text(written(evidence()), encoding="utf-8")
    stream = io.StringIO()

    assert read_proofs(tmp_path / "evidence.json", Console(stream)) == proofs(evidence())
    assert stream.getvalue() == ""


def test_a_first_run_has_none(tmp_path: Path) -> None:
    """Which is said where a file was named: its name may be misspelt."""
    stream = io.StringIO()

    assert read_proofs(None, Console(stream)) == proofs()
    assert stream.getvalue() == ""
    assert read_proofs(tmp_path / "absent", Console(stream)) == proofs()
    assert f"no earlier proofs: there is no {tmp_path / 'absent'}" in stream.getvalue()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """It is not taken for a first run."""
    (tmp_path / "evidence.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError):
        read_proofs(tmp_path / "evidence.json", Console(io.StringIO()))
