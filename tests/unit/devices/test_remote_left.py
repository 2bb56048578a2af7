import time
from contextlib import suppress
from pathlib import Path

import pytest

from megtrim.devices.device import LARGEST_FETCHED_BYTES
from megtrim.devices.local import Local
from megtrim.util.errors import InfrastructureFailure, ProductFailure
from megtrim.util.process import ProcessRunner
from unit.devices.remote_rig import FolderMachine, digest

FINE = "echo fine"
KEPT = digest(f"#!/bin/sh\n{FINE}\n".encode())


@pytest.mark.parametrize(
    "deed",
    [
        f"mkdir -p {KEPT}/x",
        f"mkdir -p {KEPT}.part/x",
        f"mkfifo {KEPT}",
        f"ln -s /etc/passwd {KEPT}",
        f"echo other >{KEPT}; chmod 0 {KEPT}",
        # The next entry's words about its files, with a folder of the program's choice among them.
        r"touch 'a\nmegtrim root=\057nowhere\057x'",
        "touch 'a\nmegtrim sum=sha1sum'",
        "chmod 0 .",
        "cd ..; rm -r files; touch files",
        "cd ..; rm -r files; ln -s /nowhere files",
        "cd ..; rm -r runs; touch runs",
        "cd ..; chmod 0 .",
        "cd ../..; rm -r megtrim; touch megtrim",
        "cd ..; mkdir tuned",
    ],
)
def test_what_a_program_leaves_stops_no_other(machine: FolderMachine, deed: str) -> None:
    with suppress(InfrastructureFailure):  # it may tear down its own run directory
        machine.run(f"cd ../../../files\n{deed}")
    run = machine.run(FINE)

    assert (run.rc, run.stdout) == (0, "fine\n")
    assert [path.name for path in (machine.root / "files").iterdir() if path.name == KEPT] == [KEPT]
    assert not (machine.root / "tuned").exists()
    assert machine.left() == []


def test_nothing_is_removed_behind_a_link(machine: FolderMachine, tmp_path: Path) -> None:
    """A program may have put one in the place of our folder of runs."""
    mine = tmp_path / "else" / "mine"
    mine.parent.mkdir()
    mine.write_bytes(b"precious")
    with suppress(InfrastructureFailure):
        machine.run(f"cd ../../..\nrm -r runs\nln -s {mine.parent} runs")
    machine.run(FINE)

    assert mine.read_bytes() == b"precious"


def test_a_file_without_an_end_is_the_programs_fault(machine: FolderMachine) -> None:
    size_bytes = LARGEST_FETCHED_BYTES + 1
    program = machine.program(f"truncate -s 8T trace\ntruncate -s {size_bytes} more\necho 1 >o")
    began_s = time.monotonic()
    with machine.open() as directory:
        directory.put(program, "program")
        directory.run(("program",), timeout_s=20)
        for name, found in (("trace", f"{8 * 1024**4:,}"), ("more", f"{size_bytes:,}")):
            with pytest.raises(ProductFailure, match=f"the program left {name} with {found} bytes"):
                directory.get(name)
        assert directory.get("o") == b"1\n"

    assert time.monotonic() - began_s < 10


def test_nor_is_it_read_where_programs_run_on_this_machine(
    machine: FolderMachine, processes: ProcessRunner, tmp_path: Path
) -> None:
    program = machine.program("truncate -s 8T trace")
    with Local("here", processes, tmp_path / "runs").open() as directory:
        directory.put(program, "program")
        directory.run(("program",), timeout_s=20)
        with pytest.raises(ProductFailure, match="the program left trace with"):
            directory.get("trace")


@pytest.mark.parametrize("name", [r"o\377", r"o\033[31m", r"o\r"])
def test_a_name_that_is_no_text_is_the_programs_fault(
    machine: FolderMachine, processes: ProcessRunner, tmp_path: Path, name: str
) -> None:
    """On every kind of device: no report can show it, and adb cannot fetch it."""
    program = machine.program(f": >\"dump/$(printf '{name}')x\"")
    for place in (machine.open(), Local("here", processes, tmp_path / "runs").open()):
        with place as directory:
            directory.put(program, "program")
            directory.make("dump")
            assert directory.run(("program",), timeout_s=20).rc == 0
            with pytest.raises(ProductFailure, match="left a file in dump whose name is not text"):
                directory.names("dump")


@pytest.mark.parametrize("written", ["1", "0", "-1", "01", "", "x y"])
def test_what_a_program_writes_in_place_of_its_pid_ends_no_others(
    machine: FolderMachine, written: str
) -> None:
    """``kill -9 -1`` would end all that this user has, adb's daemon among it."""
    assert machine.run(f"echo '{written}' >../pid\nexit 4").rc == 4
