from __future__ import annotations

import os
from pathlib import Path

from megtrim.util.errors import InfrastructureFailure
from megtrim.util.process_output import Stream


def read(*pieces: bytes, log: Path | None = None, lines: list[str] | None = None) -> Stream:
    reader, writer = os.pipe()
    stream = Stream(
        os.fdopen(reader, "rb"), log=log, on_line=None if lines is None else lines.append
    )
    for piece in pieces:
        os.write(writer, piece)
    os.close(writer)
    stream.wait(10)
    return stream


def test_output_is_kept_reported_and_logged(tmp_path: Path) -> None:
    lines: list[str] = []
    stream = read(b"one\ntw", b"o \xff\nlast", log=tmp_path / "log", lines=lines)

    assert (stream.text(), stream.failure) == ("one\ntwo \ufffd\nlast", None)
    assert lines == ["one", "two \ufffd", "last"]
    assert (tmp_path / "log").read_bytes() == b"one\ntwo \xff\nlast"


def test_a_log_that_cannot_be_written_does_not_stop_the_reading(tmp_path: Path) -> None:
    stream = read(b"one\n", b"two\n", log=tmp_path)

    assert stream.text() == "one\ntwo\n"
    assert isinstance(stream.failure, InfrastructureFailure)
    assert "cannot be written" in stream.failure.message


def test_no_pipe_is_no_output() -> None:
    stream = Stream(None, log=None, on_line=None)
    stream.wait(10)

    assert (stream.text(), stream.failure) == ("", None)
