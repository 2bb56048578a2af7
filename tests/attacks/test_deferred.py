"""Attempts on a program's rest: what it runs was linked with it, or it says so and traps.

One small program is linked, cut and run by the real toolchain of this machine; each row of the
table spoils the rest, or asks for it under conditions that a runtime may not expect.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.links import TRAPPED, Lease, lease
from megtrim.core.build_spec import PACKED, REST_SUFFIX, LinkSpec, Relocations
from megtrim.core.cli.probe import expect_recordable
from megtrim.core.functions import cutter, rest
from megtrim.core.functions.runtime_lines import REASONS, RuntimeLine
from megtrim.core.trim.builds.size_options import WITH_LLD
from megtrim.libs.elf.layout import (
    AARCH64,
    ARM,
    LOADED,
    WITH_BUILD_ID,
    X86_64,
    ElfHeader,
    parse_build_id,
)
from megtrim.libs.elf.symbol_table import read_table
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.reached import parse_record, price
from unit.places.compile.projects.support import write

SOURCES = Path(__file__).with_name("deferred")
FILES = ("CMakeLists.txt", "program.cpp", "later.cpp", "later.version", "loader.cpp")
HEAD_BYTES = 64
IDENTITY_AT = 16
SIZE_AT = 48
TRAP = 128 + 5
SEGV = 128 + 11
STOPPED = -1
"""By a trap before main, which is another signal on each machine."""
ALL = "all 36\n"
"""2 * 3 + 1, 2 * 5 + 2 and 2 * 7 + 3, by three functions in as many blocks."""


OF_THIS_LINK = (
    "static volatile int number;\n"
    "__attribute__((constructor)) static void mark(void) {{ number = {}; }}\n"
)


@dataclass(frozen=True)
class Cut:
    program: bytes
    rest: bytes
    trimmed: TrimmedProgram
    other_rest: bytes
    """Of another link of the same sources."""
    library: bytes
    library_rest: bytes
    loader: bytes
    at: Lease


def defer(
    at: Lease, target: str, label: str, *, shared: bool = False, export: bool = False
) -> Path:
    spec = specify(at, target, label, DEFERRED, shared=shared, export=export)
    return at.link(spec, LinkSpec(target="loader", label="loader")) / label


def specify(
    at: Lease,
    target: str,
    label: str,
    deferred: tuple[str, ...],
    *,
    shared: bool = False,
    export: bool = False,
) -> LinkSpec:
    by_lld = at.toolchain.kind in WITH_LLD
    # As an NDK links, and as packed relocations would be.
    of_android = ("-Wl,--no-rosegment", *PACKED[Relocations.RELR]) if by_lld else ()
    return LinkSpec(
        target=target,
        label=label,
        flags=(WITH_BUILD_ID, *of_android, *rest.flags(by_lld=by_lld, shared=shared)),
        sources=(*rest.sources(1 << 20), (f"{label}.c", OF_THIS_LINK.format(len(label)))),
        deferred=deferred,
        near=deferred,
        layout=rest.layout(_NUMBERS[at.toolchain.machine], by_lld=by_lld, shared=export),
    )


_NUMBERS = {"x86_64": X86_64, "aarch64": AARCH64, "arm": ARM}
_LATER = ("answer", "one", "far", "last", "store", "throw", "handler", "data", "write")
DEFERRED = tuple(f"later_{name}" for name in _LATER)


def cut(linked: Path, name: str, deferred: tuple[str, ...] = DEFERRED) -> cutter.CutProgram:
    table = read_table(linked / name)
    place = rest.find_place((linked / name).read_bytes(), source=name)
    rest.prove(table, table, rest.Deferred(whole=frozenset(deferred)), place, source=name)
    return cutter.cut((linked / "stripped" / name).read_bytes(), name, table, source=name)


def lease_sources(kind: str, root: Path) -> Lease:
    texts = {name: (SOURCES / name).read_text() for name in FILES}
    return lease(kind, root, write(root / "sources", texts), "program", "later", "loader")


@dataclass(frozen=True)
class Machine:
    kind: str = "host"
    emulated: bool = False

    def __str__(self) -> str:
        return f"{self.kind} emulated" if self.emulated else self.kind


class Maker:
    """Links and cuts the sources once with each toolchain."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: dict[str, Cut] = {}

    def make(self, kind: str) -> Cut:
        if kind not in self._made:
            self._made[kind] = link_all(kind, self._root)
        return self._made[kind]

    def put(self, kind: str, folder: Path, *, emulated: bool = False) -> "Place":
        """Put the program and the library into a folder, each with its rest."""
        made = self.make(kind)
        for name, data in (("program", made.program), ("liblater.so", made.library)):
            (folder / name).write_bytes(data)
            (folder / name).chmod(0o755)
        (folder / f"program{REST_SUFFIX}").write_bytes(made.rest)
        (folder / f"liblater.so{REST_SUFFIX}").write_bytes(made.library_rest)
        foreign = made.at.toolchain.machine != os.uname().machine
        return Place(folder, made, emulated or foreign)


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    return Maker(tmp_path_factory.mktemp("deferred"))


@pytest.fixture
def machine() -> Machine:
    return Machine()


def link_all(kind: str, root: Path) -> Cut:
    root = root / kind.replace(" ", "-")
    root.mkdir()
    at = lease_sources(kind, root)
    first = defer(at, "program", "first")
    own = cut(first, "program")
    other = cut(defer(at, "program", "another"), "program")
    library = cut(defer(at, "liblater.so", "library", shared=True), "liblater.so")
    loader = (first.parent / "loader" / "loader").read_bytes()
    table = read_table(first / "program")
    trimmed = TrimmedProgram(name="program", shipped=own.first, table=table, left_out=DEFERRED)
    return Cut(
        program=own.first,
        rest=own.rest,
        trimmed=trimmed,
        other_rest=other.rest,
        library=library.first,
        library_rest=library.rest,
        loader=loader,
        at=at,
    )


@dataclass(frozen=True)
class Place:
    """A folder with the program, and its rest as it should be."""

    folder: Path
    cut: Cut
    emulated: bool

    @property
    def program(self) -> Path:
        return self.folder / "program"

    @property
    def rest(self) -> Path:
        return self.folder / f"program{REST_SUFFIX}"

    def change(self, at: int, new: bytes) -> None:
        data = bytearray(self.rest.read_bytes())
        data[at : at + len(new)] = new
        self.rest.write_bytes(data)

    def flip(self, at: int) -> None:
        self.change(at, bytes([self.rest.read_bytes()[at] ^ 1]))

    def run(self, *arguments: str, **env: str) -> CompletedCommand:
        return self.call(str(self.program), *arguments, **env)

    def call(self, program: str, *arguments: str, **env: str) -> CompletedCommand:
        emulator = self.cut.at.emulator if self.emulated else ()
        argv = (*emulator, program, *arguments)
        command = Command(argv=argv, timeout_s=60, env=env, cwd=self.folder)
        return ProcessRunner(os.environ).run(command)


@pytest.fixture
def place(machine: Machine, maker: Maker, tmp_path: Path) -> Place:
    return maker.put(machine.kind, tmp_path, emulated=machine.emulated)


MISSING = "is not there"
INCOMPLETE = "is incomplete"
DAMAGED = "is damaged"
OTHER = "is of another build"
UNREADABLE = "cannot be opened"
DENIED = "lets no memory become code"
OWN = "own text\nown class\n"


@dataclass(frozen=True)
class Attempt:
    spoil: Callable[[Place], object]
    ways: tuple[str, ...]
    """Arguments of the program."""
    out: str
    status: int = 0
    said: str = ""
    """Part of the one line; empty: there is none."""
    env: str = ""
    """Value of MEGTRIM_REST; FOLDER stands for the program's."""
    record: str = ""
    """Value of MEGTRIM_REACHED."""
    recorded: int = 0
    """Lines in the file FOLDER/record."""
    printed: int = 0
    """Such lines on standard error."""
    call: str = "FOLDER/program"
    """How the program is called."""


def leave(_: Place) -> None:
    """Spoil nothing."""


def fails(
    spoil: Callable[[Place], object], said: str, *, ways: str = "all", out: str = "", env: str = ""
) -> Attempt:
    return Attempt(spoil, tuple(ways.split()), out, TRAP, said, env)


def runs(
    spoil: Callable[[Place], object], out: str, *, ways: str = "all", env: str = ""
) -> Attempt:
    return Attempt(spoil, tuple(ways.split()), out, env=env)


def put(make: Callable[[Place], bytes]) -> Callable[[Place], object]:
    return lambda place: place.rest.write_bytes(make(place))


def flip(at: int) -> Callable[[Place], object]:
    return lambda place: place.flip(at if at >= 0 else len(place.cut.rest) + at)


def remove(place: Place) -> None:
    place.rest.unlink()


def move(place: Place, to: str = "elsewhere") -> Path:
    return place.rest.rename(place.folder / to)


def rename(place: Place) -> Path:
    return place.program.rename(place.folder / "tool")


def rename_both(place: Place) -> None:
    rename(place)
    move(place, f"tool{REST_SUFFIX}")


def exchange_names(place: Place) -> None:
    """Another build has the old name, and its rest."""
    rename_both(place)
    place.rest.write_bytes(place.cut.other_rest)


def link_from_elsewhere(place: Place) -> None:
    (place.folder / "away").mkdir()
    (place.folder / "away" / "link").symlink_to("../program")


def reserve_less(place: Place) -> None:
    """As GNU strip did before sections filled what is reserved."""
    data = place.program.read_bytes()
    header = ElfHeader(data)
    made = [
        each._replace(memory_bytes=4096) if (each.kind, each.flags) == (LOADED, 0) else each
        for each in header.segments
    ]
    start, end = header.segment_headers
    packed = b"".join(header.pack_segment(each) for each in made)
    place.program.write_bytes(data[:start] + packed + data[end:])


def trust_no_caller(place: Place) -> None:
    """Let it run as another group than its caller's."""
    others = [group for group in os.getgroups() if group != os.getgid()]
    try:
        os.chown(place.program, -1, others[0] if others else NOBODY)
    except PermissionError:
        pytest.skip("only root, or a member of two groups, makes a set-group-ID program")
    place.program.chmod(0o2755)


NOBODY = 65534


def and_then(*steps: Callable[[Place], object]) -> Callable[[Place], object]:
    def spoil(place: Place) -> None:
        for step in steps:
            step(place)

    return spoil


def exchange_blocks(place: Place) -> None:
    at = len(place.cut.rest) - 2 * rest.BLOCK_BYTES
    data = place.cut.rest
    middle = at + rest.BLOCK_BYTES
    place.change(at, data[middle:] + data[at:middle])


def records(ways: str, out: str, recorded: int, status: int = 0) -> Attempt:
    return Attempt(leave, (ways,), out, status, record=RECORD, recorded=recorded)


def fill_record(place: Place) -> None:
    (place.folder / "record").write_text("full\n" * MOST_LINES, encoding="utf-8")


RECORD = "FOLDER/record"
MOST_LINES = 210_000


def put_instead(kind: Callable[[Path], object]) -> Callable[[Place], object]:
    def spoil(place: Place) -> None:
        place.rest.unlink()
        kind(place.rest)

    return spoil


ATTEMPTS = {
    "the_rest_is_not_needed": runs(remove, "now thrown\n", ways="now"),
    "the_rest_is_missing": fails(remove, MISSING),
    "the_rest_is_empty": fails(put(lambda _: b""), INCOMPLETE),
    "the_rest_is_only_a_head": fails(put(lambda p: p.cut.rest[:HEAD_BYTES]), INCOMPLETE),
    "the_rest_ends_a_byte_early": fails(put(lambda p: p.cut.rest[:-1]), INCOMPLETE),
    "the_rest_goes_on": runs(put(lambda p: p.cut.rest + b"more"), ALL),
    "the_rest_is_of_another_build": fails(put(lambda p: p.cut.other_rest), OTHER),
    "another_body_has_this_head": fails(
        put(lambda p: p.cut.rest[:HEAD_BYTES] + p.cut.rest[HEAD_BYTES:][::-1]), DAMAGED
    ),
    "the_mark_is_flipped": fails(flip(0), "is no rest"),
    "the_identity_is_flipped": fails(flip(IDENTITY_AT), OTHER),
    "the_size_is_flipped": fails(flip(SIZE_AT), OTHER),
    "the_first_byte_is_flipped": fails(flip(HEAD_BYTES), DAMAGED),
    "the_last_byte_is_flipped": fails(flip(-1), DAMAGED),
    "two_blocks_change_places": fails(exchange_blocks, DAMAGED),
    "the_rest_is_zeros": fails(put(lambda p: bytes(len(p.cut.rest))), "is no rest"),
    "the_rest_is_the_program": fails(put(lambda p: p.cut.program), "is no rest"),
    "the_rest_is_a_folder": fails(put_instead(Path.mkdir), INCOMPLETE),
    "the_rest_is_a_queue": fails(put_instead(os.mkfifo), INCOMPLETE),
    "the_rest_is_a_link_to_itself": fails(put_instead(lambda p: p.symlink_to(p)), UNREADABLE),
    "the_rest_is_a_link": runs(lambda p: p.rest.symlink_to(move(p)), ALL),
    "a_variable_names_the_rest": runs(move, ALL, env="FOLDER/elsewhere"),
    "a_variable_names_nothing": fails(leave, MISSING, env="FOLDER/nothing"),
    "a_variable_names_a_long_path": fails(leave, "cannot be opened", env="a" * 5000),
    "a_variable_is_empty": runs(leave, ALL, env=""),
    "an_eager_start_finds_no_rest": Attempt(remove, ("now",), "", STOPPED, MISSING, "eager"),
    "an_eager_start_finds_damage": Attempt(flip(-1), ("now",), "", STOPPED, DAMAGED, "eager"),
    "an_eager_start_takes_all": runs(leave, ALL, env="eager"),
    "the_program_names_the_rest": runs(move, "given 0\n", ways="given elsewhere"),
    "the_program_names_another": runs(leave, "given -1\n", ways="given program"),
    "four_threads_fault_at_once": runs(leave, f"threads {4 * 36}\n", ways="threads"),
    "four_threads_find_no_rest": fails(remove, MISSING, ways="threads"),
    "a_child_needs_it_first": runs(leave, "child 7\nparent 7\n", ways="fork"),
    "a_deferred_function_throws": runs(leave, "caught later 2\n", ways="throw"),
    "the_kernel_reads_deferred_data": runs(leave, OWN, ways="data"),
    "deferred_data_is_damaged": fails(flip(-1), DAMAGED, ways="one"),
    "the_program_changes_deferred_data": Attempt(leave, ("change",), OWN, SEGV),
    "a_throw_finds_damage": fails(flip(HEAD_BYTES), DAMAGED, ways="throw"),
    "the_program_blocks_every_signal": runs(leave, "blocked 7\n", ways="blocked"),
    "the_program_leaves_its_folder": runs(leave, "one 7\n", ways="folder"),
    "the_program_may_open_no_file": fails(leave, UNREADABLE, ways="files"),
    "the_system_denies_protection": fails(leave, DENIED, ways="mprotect", out="denied 0\n"),
    "the_system_denies_moving": fails(leave, DENIED, ways="mremap", out="denied 0\n"),
    "the_system_denies_memory": fails(leave, "no memory", ways="mmap", out="denied 0\n"),
    "the_program_has_a_handler": Attempt(leave, ("own",), "one 7\nhandled\n", 7),
    "the_program_has_an_old_handler": Attempt(leave, ("signal",), "one 7\nhandled\n", 7),
    "the_programs_handler_is_deferred": Attempt(leave, ("late",), "one 0\nhandled later\n", 7),
    "the_program_follows_a_null_pointer": Attempt(leave, ("null",), "", SEGV),
    "the_program_writes_into_it": Attempt(leave, ("write",), "", SEGV),
    "the_program_sends_itself_the_signal": Attempt(leave, ("raise",), "one 7\n", SEGV),
    "nothing_deferred_is_recorded": records("now", "now thrown\n", 0),
    "four_threads_are_recorded": records("threads", f"threads {4 * 36}\n", 3),
    "a_child_is_recorded": records("fork", "child 7\nparent 7\n", 2),
    "a_recorded_function_throws": records("throw", "caught later 2\n", 1),
    "a_recorded_program_blocks_signals": records("blocked", "blocked 7\n", 1),
    "a_recorded_program_handles_its_faults": records("own", "one 7\nhandled\n", 1, 7),
    "a_recorded_handler_is_deferred": records("late", "one 0\nhandled later\n", 1, 7),
    "a_recorded_program_follows_a_null_pointer": records("null", "", 1, SEGV),
    "a_recorded_function_begins_with_a_fault": records("store", "", 1, SEGV),
    "a_record_cannot_be_written": Attempt(leave, ("all",), ALL, record="FOLDER", printed=3),
    "a_record_has_a_long_name": Attempt(leave, ("all",), ALL, record="a" * 5000, printed=3),
    "a_record_is_full": Attempt(fill_record, ("all",), ALL, record=RECORD, recorded=MOST_LINES),
    "a_record_finds_no_rest": Attempt(remove, ("all",), "", TRAP, MISSING, record=RECORD),
    "a_stranger_names_a_record": Attempt(trust_no_caller, ("all",), ALL, record=RECORD),
    "a_stranger_names_a_rest": runs(trust_no_caller, ALL, env="FOLDER/nothing"),
    "a_stranger_asks_for_all": Attempt(
        and_then(remove, trust_no_caller), ("now",), "now thrown\n", env="eager"
    ),
    "a_stranger_links_to_it": Attempt(
        and_then(trust_no_caller, link_from_elsewhere),
        ("proc",),
        "",
        TRAP,
        "cannot be looked for: there is no /proc",
        call="FOLDER/away/link",
    ),
    "the_program_is_renamed": Attempt(rename, ("all",), ALL, call="FOLDER/tool"),
    "both_are_renamed": Attempt(rename_both, ("all",), ALL, call="FOLDER/tool"),
    "another_build_has_the_old_name": Attempt(exchange_names, ("all",), ALL, call="FOLDER/tool"),
    "a_link_leads_to_the_program": Attempt(
        link_from_elsewhere, ("all",), ALL, call="FOLDER/away/link"
    ),
    "there_is_no_proc": runs(leave, ALL, ways="proc"),
    "there_is_no_proc_and_a_link": Attempt(
        link_from_elsewhere, ("proc",), ALL, call="FOLDER/away/link"
    ),
    "there_is_no_proc_and_it_goes_away": Attempt(leave, ("proc-folder",), ALL, call="./program"),
    "a_relative_rest_and_it_goes_away": runs(move, "one 7\n", ways="folder", env="elsewhere"),
    "a_relative_record_and_it_goes_away": Attempt(
        leave, ("folder",), "one 7\n", record="record", recorded=1
    ),
    "the_stack_of_signals_is_small": runs(leave, "one 7\n", ways="stack"),
    "a_small_stack_finds_no_rest": fails(remove, MISSING, ways="stack"),
    "a_timer_ticks_while_it_takes_all": runs(move, "timer 0\n", ways="timer elsewhere"),
    "the_program_names_nothing_first": runs(leave, "refused 6\n", ways="refused"),
    "a_record_is_on_a_full_disk": Attempt(leave, ("all",), ALL, record="/dev/full", printed=3),
    "a_record_meets_a_limit": Attempt(
        leave, ("limit",), "one 7\n", record=RECORD, recorded=1, printed=1
    ),
    "no_one_reads_a_record": Attempt(leave, ("deaf",), "one 7\n", record="/dev/full"),
    "the_program_reserves_too_little": Attempt(
        reserve_less, ("now",), "", STOPPED, "reserves too little"
    ),
}
BY_THE_SYSTEM = frozenset(
    name
    for name, row in ATTEMPTS.items()
    if name.startswith(("a_stranger_", "the_system_denies_"))
    or {"proc", "proc-folder", "limit"} & {*row.ways}
)
"""What an emulator does not pass on: filters of system calls, limits, as whom a program runs."""
OF_SMALL_PAGES = frozenset(
    ("the_rest_ends_a_byte_early", "the_last_byte_is_flipped", "deferred_data_is_damaged")
)
"""Where pages have 64 KiB, the last block has no code or data, only what a record needs."""
BY_THE_LINK = (
    "the_rest_is_missing",
    "the_last_byte_is_flipped",
    "an_eager_start_takes_all",
    "the_kernel_reads_deferred_data",
    "a_deferred_function_throws",
    "the_programs_handler_is_deferred",
    "four_threads_are_recorded",
    "a_recorded_function_begins_with_a_fault",
    "the_program_reserves_too_little",
)
"""Where a linker's layout shows. The others are about the runtime, which is one per machine."""
EMULATED = tuple(name for name in ATTEMPTS if name not in BY_THE_SYSTEM)
ARM64 = tuple(name for name in EMULATED if name not in OF_SMALL_PAGES)
BY_THE_MACHINE = (
    "the_rest_is_missing",
    "the_program_is_renamed",
    "an_eager_start_takes_all",
    "four_threads_fault_at_once",
    "a_deferred_function_throws",
    "the_kernel_reads_deferred_data",
    "the_program_blocks_every_signal",
    "the_programs_handler_is_deferred",
    "the_program_follows_a_null_pointer",
    "four_threads_are_recorded",
    "a_recorded_function_throws",
    "a_recorded_program_blocks_signals",
    "a_recorded_handler_is_deferred",
    "a_recorded_function_begins_with_a_fault",
    "the_program_reserves_too_little",
)
"""Where registers, instructions or the form of the file matter."""
GNU_LD = pytest.mark.chain
LLD = pytest.mark.clang
MACHINES = (
    (Machine(), tuple(ATTEMPTS), GNU_LD),
    (Machine(emulated=True), EMULATED, GNU_LD),
    (Machine("x86-64 by lld"), BY_THE_LINK, LLD),
    (Machine("arm64 by GNU ld"), ARM64, LLD),
    (Machine("clang-linux-arm64"), ARM64, LLD),
    (Machine("armv7"), ARM64, LLD),
    (Machine("armv7 -marm"), BY_THE_MACHINE, LLD),
    (Machine("armhf by GNU ld"), BY_THE_MACHINE, LLD),
    (Machine("armhf by GNU ld -marm"), BY_THE_MACHINE, LLD),
)


def list_attempts() -> list[object]:
    return [
        pytest.param(machine, name, marks=mark, id=f"{name} {machine}")
        for machine, names, mark in MACHINES
        for name in names
    ]


@pytest.mark.parametrize(("machine", "name"), list_attempts())
def test_attempt(name: str, place: Place) -> None:
    attempt = ATTEMPTS[name]
    folder = str(place.folder)
    attempt.spoil(place)
    given = {"MEGTRIM_REST": attempt.env, "MEGTRIM_REACHED": attempt.record}
    env = {key: value.replace("FOLDER", folder) for key, value in given.items()}
    stopped = TRAPPED[place.cut.at.toolchain.machine]
    status = stopped if attempt.status == STOPPED else attempt.status

    done = place.call(attempt.call.replace("FOLDER", folder), *attempt.ways, **env)

    lines = [line for line in done.stderr.splitlines() if line.startswith("megtrim: ")]
    assert (done.stdout, done.rc) == (attempt.out, status), done.stderr
    assert len(lines) == bool(attempt.said)
    assert all(attempt.said in line for line in lines)
    told = [line for line in lines if (known := RuntimeLine.find(line)) and known.reason in REASONS]
    assert told == lines  # what a verdict quotes
    record = place.folder / "record"
    found = record.read_text().splitlines() if record.exists() else []
    assert len(found) == attempt.recorded
    identity = parse_build_id(place.cut.program)
    printed = [line for line in done.stderr.splitlines() if line.startswith(identity)]
    assert len(printed) == attempt.printed


@pytest.mark.chain
def test_no_thread_traps_before_the_line_is_written(maker: Maker, tmp_path: Path) -> None:
    """It did in one of ten runs: threads find it missing at once, and one writes."""
    place = maker.put("host", tmp_path, emulated=True)
    remove(place)

    said = [place.run("threads").stderr.count("megtrim: ") for _ in range(25)]

    assert said == [1] * len(said)


def meanwhile(place: Place, way: str, change: Callable[[], object]) -> tuple[str, int]:
    """Run the program; once it is ready, change something, and let it go on."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(place.run, way)
        while not (place.folder / "ready").exists() and not running.done():
            time.sleep(0.001)
        change()
        (place.folder / "go").touch()
        done = running.result()
    return done.stdout, done.rc


@pytest.mark.chain
def test_a_forged_record_is_given_back(place: Place) -> None:
    """What the program writes is read; what someone else wrote in its place is not."""
    record = place.folder / "record"
    program = place.cut.trimmed
    place.run("all", MEGTRIM_REACHED=str(record))
    data = record.read_bytes()
    stays = next(each for each in program.table.functions if each.name == "main")
    last = data[-59:]
    forged = (
        b"0" * 40 + last[40:],
        last[:41] + f"{int(last[41:49], 16) + 4:08x}\n".encode(),
        last[:41] + f"{stays.address:08x}\n".encode(),
        last[:-3],
        b"\x1b]0;" + last,
    )

    assert len(price(parse_record(data, source="record"), [program]).prices) == 3
    for each in forged:
        found = price(parse_record(data + each, source="record"), [program])
        assert len(found.prices) == 3
        assert [*found.passed_over.values()] == [["record:4"]]


@pytest.mark.chain
def test_a_forged_caller_is_given_back(place: Place) -> None:
    record = place.folder / "record"
    place.run("all", MEGTRIM_REACHED=str(record))
    lines = record.read_bytes().splitlines()
    at = lines[0][41:49]

    def read(back: bytes) -> list[str]:
        data = b"\n".join((lines[0][:50] + back, *lines[1:]))
        found = price(parse_record(data, source="record"), [place.cut.trimmed])
        assert len(found.prices) == 3
        return [each.caller for each in found.groups]

    assert read(lines[0][50:]) == ["main"]
    assert sorted(read(f"{int(at, 16) + 1:08x}".encode())) == ["later_one", "main"]
    assert "code that has no name" in read(b"f" * 16)
    assert "code of another file" in read(b"0" * 8)


@pytest.mark.chain
def test_a_forged_run_is_given_back(place: Place) -> None:
    record = place.folder / "record"
    place.run("all", MEGTRIM_REACHED=str(record))
    for forged in (b"run: \x1b]0;a\n", b"run: " + b"a" * 5000 + b"\n"):
        data = forged + record.read_bytes()
        found = price(parse_record(data, source="record"), [place.cut.trimmed])
        assert [each.runs for each in found.groups] == [("",)]
        assert [*found.passed_over.values()] == [["record:1"]]


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_a_run_is_recorded_into_something_else(kind: str, tmp_path: Path) -> None:
    record = tmp_path / "record"
    target = tmp_path / "key"
    target.write_bytes(b"secret")
    if kind == "link":
        record.symlink_to(target)
    elif kind == "folder":
        record.mkdir()
    else:
        os.mkfifo(record)
    with pytest.raises(InputError, match="expected a new file or a record"):
        expect_recordable(record)
    assert target.read_bytes() == b"secret"


@pytest.mark.chain
def test_the_rest_is_exchanged_while_it_runs(place: Place) -> None:
    out, status = meanwhile(place, "wait", lambda: put(lambda p: p.cut.other_rest)(place))
    assert (out, status) == ("ready 7\nstill 7\n", TRAP)


@pytest.mark.chain
def test_the_rest_is_overwritten_while_it_runs(place: Place) -> None:
    """What was taken in is the program's own: no one changes it through the file."""
    out, status = meanwhile(place, "wait", lambda: place.change(0, bytes(len(place.cut.rest))))
    assert (out, status) == ("ready 7\nstill 7\n", TRAP)


@pytest.mark.chain
def test_the_rest_is_removed_while_it_runs(place: Place) -> None:
    out, status = meanwhile(place, "wait", place.rest.unlink)
    assert (out, status) == ("ready 7\nstill 7\n", TRAP)


@pytest.mark.chain
def test_the_rest_comes_later(place: Place) -> None:
    """What is delivered a second after the start is there when it is needed."""
    away = move(place)

    def deliver() -> None:
        time.sleep(1)
        away.rename(place.rest)

    out, status = meanwhile(place, "begin", deliver)
    assert (out, status) == ("ready 0\none 7\n", 0)


@pytest.mark.chain
def test_a_library_is_dropped_and_loaded_again(place: Place) -> None:
    place.program.write_bytes(place.cut.loader)
    done = place.run(str(place.folder / "liblater.so"))
    assert (done.stdout, done.rc) == ("1\n42\n42\n", 0)


@pytest.mark.chain
def test_a_library_finds_no_rest(place: Place) -> None:
    place.program.write_bytes(place.cut.loader)
    (place.folder / f"liblater.so{REST_SUFFIX}").unlink()
    done = place.run(str(place.folder / "liblater.so"))
    assert (done.stdout, done.rc) == ("1\n", TRAP)
    assert MISSING in done.stderr
