"""Probed twins of a small program, made by real compilers and linkers, and run."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from integration.links import KINDS, Lease, lease
from megtrim.core.build_spec import LinkSpec
from megtrim.core.functions import link_map, probes, qemu_log
from megtrim.core.functions.observables import Observables, function_list, observables
from megtrim.libs.elf.symbol_table import FunctionTable, read_table
from megtrim.libs.util.process import Command, CompletedCommand
from unit.places.compile.projects.support import write

REFUSED = 96
"""What the runtime in probes.c exits with where it cannot record."""

SOURCES = Path(__file__).with_name("probes")
SAID = "thrown and caught\n"
ALWAYS = {"alias_of_one", "always_at_exit", "always_before_main", "always_in_main"}
SHARED = {"share_inner", "share_outer"}
RAN = {
    "none": set[str](),
    "quiet": set[str](),
    "threads": {"threads_each"},
    "signals": {
        "signals_blocked",
        "signals_handler",
        "signals_in_handler",
        "signals_behind_another",
    },
    "fork": {"fork_in_child"},
    "crash": {"crash_at_last"},
    "trap": {"trap_at_last"},
    "outer": SHARED,
    "inner": SHARED,
}
"""Argument of the program, and which functions it runs then."""
STARTS = (
    "alias_",
    "always_",
    "never_",
    "threads_",
    "signals_",
    "fork_",
    "crash_",
    "trap_",
    "share_",
)
NOT_AT_EXIT = {"crash", "trap"}


@dataclass(frozen=True)
class Twins:
    at: Lease
    program: Path
    twin: Path
    table: FunctionTable
    observables: Observables

    @property
    def record(self) -> Path:
        return self.at.root / probes.RECORD_FILE

    def run(self, *arguments: str) -> CompletedCommand:
        self.record.unlink(missing_ok=True)
        return self.at.run(self.twin, *arguments, **probes.ENVIRONMENT)

    def ran(self) -> tuple[str, ...]:
        return self._list(
            probes.parse_record(self.record.read_bytes(), self.table, source="record")
        )

    def logged(self, *arguments: str) -> tuple[str, ...]:
        self.at.emulate(self.program, *arguments, **qemu_log.ENVIRONMENT)
        log = (self.at.root / qemu_log.LOG_FILE).read_bytes()
        return self._list(qemu_log.ran_in_log(log, read_table(self.program), source="log"))

    def _list(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return function_list(self.observables, names).names


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Twins]:
    return cache(lambda kind: _twins(kind, tmp_path_factory.mktemp(kind)))


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, make: Callable[[str], Twins]) -> Twins:
    return make(request.param)


@pytest.fixture
def on_host(make: Callable[[str], Twins]) -> Twins:
    twins = make("host")
    twins.record.unlink(missing_ok=True)
    return twins


def _twins(kind: str, root: Path) -> Twins:
    sources = {name: (SOURCES / name).read_text() for name in ("CMakeLists.txt", "program.cpp")}
    at = lease(kind, root, write(root / "sources", sources), "program")
    unfolded = LinkSpec(target="program", label="unfolded", unfolded=True, map=True)
    probed = LinkSpec(
        target="program",
        label="probed",
        unfolded=True,
        flags=probes.flags(shared=False),
        sources=probes.sources(shared=False),
        strip=False,
    )
    links = at.link(unfolded, probed)
    program = links / "unfolded/program"
    twin = links / "probed/program"
    found = _observed(program)
    table = read_table(twin)
    twin.write_bytes(probes.patch(twin.read_bytes(), table, found.names))
    return Twins(at, program, twin, table, found)


def _observed(program: Path) -> Observables:
    table = read_table(program)
    origins = link_map.read_map(Path(f"{program}.map"))
    hidden = link_map.platform_names(origins, table)
    return observables("0" * 64, table, hidden | probes.unprobeable(program.read_bytes(), table))


@pytest.mark.parametrize("what", RAN)
def test_the_twin_records_what_ran_and_nothing_else(made: Twins, what: str) -> None:
    """In threads, with all signals blocked, within handlers, in a child; it ends as ever.

    The emulator lists the same: each function, however the run ends; a C library of the program's
    own is on neither list.
    """
    ended = made.run(what)
    unprobed = made.at.run(made.program, what)
    ran = made.ran()
    own = {name for name in ran if name.startswith(STARTS)}

    always = ALWAYS - ({"always_at_exit"} if what in NOT_AT_EXIT else set())
    assert (ended.rc, ended.stdout) == (unprobed.rc, unprobed.stdout)
    assert ended.stdout == ("" if what == "quiet" else SAID)
    assert own == always | RAN[what]
    assert (ended.rc > 128) == (what in NOT_AT_EXIT)
    assert ran == made.logged(what)


def test_a_second_run_adds_to_the_record(made: Twins) -> None:
    """So a program that starts itself again leaves one record of all."""
    made.run("fork")
    ended = made.at.run(made.twin, "quiet", **probes.ENVIRONMENT)

    assert ended.ok
    assert "fork_in_child" in made.ran()


def _refused(ended: CompletedCommand) -> str | None:
    assert ended.rc == REFUSED
    assert ended.stdout == ""
    return probes.refusal(ended.stderr)


@pytest.mark.chain
def test_a_twin_that_cannot_record_says_so(on_host: Twins) -> None:
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
