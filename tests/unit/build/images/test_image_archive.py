from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.images.docker import ARCHIVE, DockerClient, load, save
from unit.build.images.stub import ID, Stub

TAG = "megtrim/android-arm64"


@pytest.fixture
def stub(tmp_path: Path) -> Stub:
    made = Stub.make(tmp_path / "bin")
    made.answer((["load"], 0, "", ""), (["save"], 0, "", ""))
    return made


def test_an_archive_is_loaded(stub: Stub, tmp_path: Path) -> None:
    docker = DockerClient(stub.processes)
    assert load(docker, tmp_path, TAG) is None
    assert stub.calls() == []

    (tmp_path / ARCHIVE).write_bytes(b"image")
    found = load(docker, tmp_path, TAG)

    assert found is not None
    assert found.id == ID
    assert stub.calls("load") == [["load", "--quiet", "--input", str(tmp_path / ARCHIVE)]]


def test_a_damaged_archive_is_none(stub: Stub, tmp_path: Path) -> None:
    stub.answer((["load"], 1, "", "invalid tar header\n"))
    (tmp_path / ARCHIVE).write_bytes(b"half")

    assert load(DockerClient(stub.processes), tmp_path, TAG) is None


def test_an_image_is_saved_over_the_last_one(stub: Stub, tmp_path: Path) -> None:
    folder = tmp_path / "kept"

    assert save(DockerClient(stub.processes), folder, TAG, pytest.fail)
    assert stub.calls("save") == [["save", "--output", str(folder / ARCHIVE), TAG]]


def test_half_an_archive_is_not_left(stub: Stub, tmp_path: Path) -> None:
    program = stub.folder / "docker"
    full = "write image.tar: no space left on device"
    program.write_text(f'#!/bin/sh\necho half > "$3"\necho "{full}" >&2\nexit 1\n', "utf-8")
    (tmp_path / ARCHIVE).write_bytes(b"old")
    warnings: list[str] = []

    assert not save(DockerClient(stub.processes), tmp_path, TAG, warnings.append)
    assert not (tmp_path / ARCHIVE).exists()
    (warning,) = warnings
    assert warning == (
        f"the image is not kept for later jobs: {tmp_path / ARCHIVE} cannot be written: "
        "write image.tar: no space left on device"
    )


def test_a_folder_that_cannot_be_made_is_a_warning(stub: Stub, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    warnings: list[str] = []

    assert not save(DockerClient(stub.processes), tmp_path / "file" / "x", TAG, warnings.append)
    assert len(warnings) == 1
    assert stub.calls("save") == []
