"""Probed twins of a small program, made by real compilers and linkers, and run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.links import KINDS, Seat, seat
from megtrim.functions import blocks, linkmap, probes
from megtrim.functions.table import FunctionTable, read_table
from megtrim.process import Command, Outcome
from megtrim.recipe import LinkOrder
from unit.engines.support import write

SOURCES = Path(__file__).with_name("probes")
SAID = "thrown and caught\n"
ALWAYS = {"always_before_main", "always_in_main"}
RAN = {
    "none": set[str](),
    "quiet": set[str](),
    "threads": {"threads_each"},
    "signals": {
        *("signals_blocked", "signals_handler"),
        *("signals_in_handler", "signals_behind_another"),
    },
    "fork": {"fork_in_child"},
    "crash": {"crash_at_last"},
}
"""Argument of the program, and which functions it runs then."""
STARTS = ("always_", "never_", "threads_", "signals_", "fork_", "crash_", "trap_")


@dataclass(frozen=True)
class Twins:
    """A program, and its probed twin."""

    at: Seat
    program: Path
    twin: Path
    table: FunctionTable
    platform: frozenset[str]

    @property
    def record(self) -> Path:
        return self.at.root / probes.RECORD_FILE

    def run(self, *arguments: str) -> Outcome:
        """Run the twin with a fresh record."""
        self.record.unlink(missing_ok=True)
        return self.at.run(self.twin, *arguments, **probes.ENVIRONMENT)

    def ran(self) -> tuple[str, ...]:
        return probes.parse_record(self.record.read_bytes(), self.table, source="record")


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Twins:
    """Linked as for the collection of functions, by each toolchain."""
    return _twins(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def on_host(tmp_path: Path) -> Twins:
    return _twins("host", tmp_path)


def _twins(kind: str, root: Path) -> Twins:
    sources = {name: (SOURCES / name).read_text() for name in ("CMakeLists.txt", "program.cpp")}
    at = seat(kind, root, write(root / "sources", sources), "program")
    unfolded = LinkOrder(target="program", label="unfolded", unfolded=True, strip=False)
    probed = LinkOrder(
        target="program",
        label="probed",
        unfolded=True,
        flags=probes.FLAGS,
        sources=probes.SOURCES,
        strip=False,
        map=True,
    )
    links = at.link(unfolded, probed)
    twin = links / "probed/program"
    table = read_table(twin)
    origins = linkmap.read_map(links / "probed/program.map")
    platform = linkmap.platform_names(origins, table)
    twin.write_bytes(probes.patch(twin.read_bytes(), table, platform))
    return Twins(at, links / "unfolded/program", twin, table, platform)


@pytest.mark.parametrize("what", RAN)
def test_the_twin_records_what_ran_and_nothing_else(made: Twins, what: str) -> None:
    """In threads, with all signals blocked, within handlers, in a child; it ends as ever."""
    ended, unprobed = made.run(what), made.at.run(made.program, what)
    own = {name for name in made.ran() if name.startswith(STARTS)}

    assert (ended.rc, ended.stdout) == (unprobed.rc, unprobed.stdout)
    assert ended.stdout == ("" if what == "quiet" else SAID)
    assert own == ALWAYS | RAN[what]


@pytest.mark.parametrize("what", ["none", "threads", "signals", "fork"])
def test_the_twin_and_the_emulator_agree(made: Twins, what: str) -> None:
    """On every name but those of a static C library, which runs before any probe could."""
    if made.at.toolchain.machine == os.uname().machine:
        pytest.skip("no emulator runs this machine's own programs")
    assert made.run(what).ok
    assert made.at.run(made.program, what, **blocks.ENVIRONMENT).ok
    log = (made.at.root / blocks.LOG_FILE).read_bytes()
    logged = blocks.ran_in_log(log, read_table(made.program), source="log")

    assert {*made.ran()} - made.platform == {*logged} - made.platform
    assert {*made.ran()} >= ALWAYS | RAN[what]


def test_a_trap_of_the_programs_own_ends_it_as_ever(made: Twins) -> None:
    """Whether or not its function has a first instruction beside the trap."""
    ended, unprobed = made.run("trap"), made.at.run(made.program, "trap")

    assert ended.rc == unprobed.rc
    assert ended.rc > 128
    assert {*made.ran()} >= ALWAYS


def test_a_second_run_adds_to_the_record(made: Twins) -> None:
    """So a program that starts itself again leaves one record of all."""
    made.run("fork")
    ended = made.at.run(made.twin, "quiet", **probes.ENVIRONMENT)

    assert ended.ok
    assert "fork_in_child" in made.ran()


def _refused(ended: Outcome) -> str | None:
    assert ended.rc == probes.UNSUPPORTED
    assert ended.stdout == ""
    return probes.refusal(ended.stderr)


@pytest.mark.chain
def test_a_twin_that_cannot_record_says_so(on_host: Twins) -> None:
    """And not one function of the program has run by then."""
    record = on_host.record
    assert _refused(on_host.at.run(on_host.twin)) == "MEGTRIM_FUNCTIONS names no file"
    assert _refused(on_host.at.run(on_host.twin, MEGTRIM_FUNCTIONS="no/such/folder")) == (
        "the file that MEGTRIM_FUNCTIONS names cannot be opened"
    )
    record.write_bytes(b"x" * 64)
    assert _refused(on_host.at.run(on_host.twin, **probes.ENVIRONMENT)) == (
        "the file that MEGTRIM_FUNCTIONS names is of another program"
    )
    assert record.read_bytes() == b"x" * 64


@pytest.mark.chain
def test_code_that_cannot_be_made_writable(on_host: Twins, tmp_path: Path) -> None:
    """The memory's own file is the other way; without it, too, the twin says that it cannot."""
    confined = tmp_path / "confined"
    compiler = Command(argv=("gcc", str(SOURCES / "confined.c"), "-o", str(confined)), timeout_s=60)
    assert on_host.at.processes.run(compiler).ok
    twin = str(on_host.twin)

    ended = on_host.at.run(confined, twin, "threads", **probes.ENVIRONMENT)
    assert (ended.rc, ended.stdout, ended.stderr) == (0, SAID, "")
    assert {*on_host.ran()} > ALWAYS | RAN["threads"]
    on_host.record.unlink()
    assert _refused(on_host.at.run(confined, "sealed", twin, **probes.ENVIRONMENT)) == (
        "the program's code cannot be written on this system"
    )
