from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from megtrim.devices.device import LARGEST_FETCHED_BYTES
from megtrim.devices.local import Local
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.util.errors import InfrastructureFailure, ProductFailure
from megtrim.util.process import ProcessRunner
from unit.devices.folder_link import FolderLink
from unit.devices.remote_rig import opened

FINE = "#!/bin/sh\necho fine\n"
KEPT = hashlib.sha256(FINE.encode()).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "machine" / "megtrim"


@pytest.fixture
def ran(processes: ProcessRunner, root: Path, tmp_path: Path) -> Callable[[str], ProgramRun]:
    def run(text: str) -> ProgramRun:
        program = tmp_path / "program"
        program.write_text(text, encoding="utf-8")
        with opened(FolderLink(processes), root) as directory:
            directory.put(program, "program")
            return directory.run(("program",), timeout_s=20)

    return run


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
def test_what_a_program_leaves_stops_no_other(
    ran: Callable[[str], ProgramRun], root: Path, deed: str
) -> None:
    with suppress(InfrastructureFailure):  # it may tear down its own run directory
        ran(f"#!/bin/sh\ncd ../../../files\n{deed}\n")
    run = ran(FINE)

    assert (run.rc, run.stdout) == (0, "fine\n")
    assert [path.name for path in (root / "files").iterdir() if path.name == KEPT] == [KEPT]
    assert not (root / "tuned").exists()
    assert list((root / "runs").iterdir()) == []


def test_nothing_is_removed_behind_a_link(ran: Callable[[str], ProgramRun], tmp_path: Path) -> None:
    """A program may have put one in the place of our folder of runs."""
    mine = tmp_path / "else" / "mine"
    mine.parent.mkdir()
    mine.write_bytes(b"precious")
    with suppress(InfrastructureFailure):
        ran(f"#!/bin/sh\ncd ../../..\nrm -r runs\nln -s {mine.parent} runs\n")
    ran(FINE)

    assert mine.read_bytes() == b"precious"


def test_a_file_without_an_end_is_the_programs_fault(
    processes: ProcessRunner, root: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    size_bytes = LARGEST_FETCHED_BYTES + 1
    program.write_text(
        f"#!/bin/sh\ntruncate -s 8T trace\ntruncate -s {size_bytes} more\necho 1 >o\n"
    )
    began_s = time.monotonic()
    with opened(FolderLink(processes), root) as directory:
        directory.put(program, "program")
        directory.run(("program",), timeout_s=20)
        for name, found in (("trace", f"{8 * 1024**4:,}"), ("more", f"{size_bytes:,}")):
            with pytest.raises(ProductFailure, match=f"the program left {name} with {found} bytes"):
                directory.get(name)
        assert directory.get("o") == b"1\n"

    assert time.monotonic() - began_s < 10


def test_nor_is_it_read_where_programs_run_on_this_machine(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\ntruncate -s 8T trace\n")
    with Local("here", processes, tmp_path / "runs").open() as directory:
        directory.put(program, "program")
        directory.run(("program",), timeout_s=20)
        with pytest.raises(ProductFailure, match="the program left trace with"):
            directory.get("trace")


@pytest.mark.parametrize("name", [r"o\377", r"o\033[31m", r"o\r"])
def test_a_name_that_is_no_text_is_the_programs_fault(
    processes: ProcessRunner, root: Path, tmp_path: Path, name: str
) -> None:
    """On every kind of device: no report can show it, and adb cannot fetch it."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n: >\"dump/$(printf '{name}')x\"\n")
    remote = opened(FolderLink(processes), root)
    for place in (remote, Local("here", processes, tmp_path / "runs").open()):
        with place as directory:
            directory.put(program, "program")
            directory.make("dump")
            assert directory.run(("program",), timeout_s=20).rc == 0
            with pytest.raises(ProductFailure, match="left a file in dump whose name is not text"):
                directory.names("dump")


@pytest.mark.parametrize("written", ["1", "0", "-1", "01", "", "x y"])
def test_what_a_program_writes_in_place_of_its_pid_ends_no_others(
    ran: Callable[[str], ProgramRun], written: str
) -> None:
    """``kill -9 -1`` would end all that this user has, adb's daemon among it."""
    run = ran(f"#!/bin/sh\necho '{written}' >../pid\nexit 4\n")
    assert run.rc == 4
