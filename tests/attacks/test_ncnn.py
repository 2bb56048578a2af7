"""Attempts by model files of ncnn."""

import os
import struct
import time
from pathlib import Path

import pytest

from megtrim.engines.ncnn import ParamReader
from megtrim.libs.util.errors import InputError

GOOD = "7767517\n2 2\nInput data 0 1 data 0=4 1=4 2=3\nReLU relu 1 1 data out\n"
LONGEST_S = 2.0


def refused(folder: Path, text: str | bytes) -> str:
    file = folder / "model.param"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return refused_file(file)


def refused_file(file: Path) -> str:
    start = time.monotonic()
    with pytest.raises(InputError) as caught:
        ParamReader().read_whole(file, source="model.param")
    assert time.monotonic() - start < LONGEST_S
    message = str(caught.value)
    assert "model.param" in message
    assert message.replace("\n", "").isprintable(), message
    return message


def test_a_model_that_has_no_end(tmp_path: Path) -> None:
    sparse = tmp_path / "sparse.param"
    with sparse.open("wb") as stream:
        stream.write(GOOD.encode())
        stream.truncate(2**40)
    os.mkfifo(tmp_path / "pipe.param")
    for file in (sparse, Path("/dev/zero"), tmp_path / "pipe.param"):
        refused_file(file)
    refused(tmp_path, f"{GOOD}{'x' * 20_000_000}")


@pytest.mark.parametrize("count", ["99999999999999999999", "100001", "-1", "1e3", "٣", "²"])
def test_a_count_that_promises_more(tmp_path: Path, count: str) -> None:
    for line in ("2 2", "0 1 data"):
        first, rest = line.split(" ", 1)
        assert "count" in refused(tmp_path, GOOD.replace(line, f"{count} {rest}", 1))
        _, second, *more = line.split(" ")
        changed = " ".join((first, count, *more))
        assert "count" in refused(tmp_path, GOOD.replace(line, changed, 1)), second


@pytest.mark.parametrize(
    "type_", [".*", "(?:)", "../../x", "--all", "ncnn::Net", "Re\u0301LU", "1x"]
)
def test_a_layer_that_is_a_pattern(tmp_path: Path, type_: str) -> None:
    assert "relu" in refused(tmp_path, GOOD.replace("ReLU", type_))


@pytest.mark.parametrize("name", ["\x1b[2J", "a\x00b", "a\x9bb", "a\u202eb", "a\u200bb"])
def test_a_layer_that_a_terminal_obeys(tmp_path: Path, name: str) -> None:
    for place in ("relu", "out"):
        refused(tmp_path, GOOD.replace(place, name))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        struct.pack("<iii", 7767517, 2, 2),
        struct.pack("<100f", *range(100)),
        b"#!/bin/sh\n",
        b"mgb1\0\0\0\0",
        b"77675170\n2 2\n",
        b"7767517\n",
    ],
)
def test_a_model_of_another_format_in_its_place(tmp_path: Path, data: bytes) -> None:
    assert "7767517" in refused(tmp_path, data)
