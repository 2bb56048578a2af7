"""Crashes of trimmed programs, looked up: planted at each trap and each call of one, and real ones.

The sample engine is trimmed twice, without crash ids and with them, and a release is made of each.
benchmarks/crash_lookup.py does the same with other toolchains, by regions and in shared objects.
"""

import json
import os
import shlex
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from megtrim.core.chain.result_store import Store
from megtrim.core.functions.linker_script import STUB
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.ship.crashes.finding import CrashCause, CrashFinding
from megtrim.ship.crashes.lookup import look_up
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report import parse_report
from megtrim.ship.crashes.trimmed_programs import FinishedTrim, read_newest
from megtrim.ship.release.prove import read_release
from support.clock import until
from support.crash_reports import (
    PlantedCrash,
    find_program,
    holds_truth,
    look_up_in,
    other_reports,
    plant_in_numbered,
    plant_in_plain,
    report_of,
)
from support.megtrim_cli import SAMPLE, run_megtrim

pytestmark = [pytest.mark.chain]

MODEL = "tiny-vgg"
FIELD = (
    ("--cpu", "--iter", "2", "--enable-nchw44"),
    ("--cpu", "--fake-first"),
    ("--cpu", "--record-comp-seq"),
    ("--cpu", "--multithread", "2"),
    ("--cpu", "--fast-run"),
)
"""Arguments that no scenario of the model has, each of which needs something else."""
_PLANTED = 40
_FEWEST_OTHERS = 10


_PC = 32
"""Among the registers of arm64."""
_ENTRY = 9
"""Kind of the entry of the auxiliary vector that holds where the program begins in memory."""


def take_crash(program: Path, arguments: Sequence[str], folder: Path) -> tuple[int, int]:
    """Run a program until it crashes; return the signal, and where in the file it was."""
    gate = folder / "gate"
    gate.unlink(missing_ok=True)
    argv = ("qemu-aarch64-static", "-g", str(gate), str(program), *arguments)
    command = Command(argv=argv, timeout_s=60, cwd=folder)
    with ProcessRunner(os.environ).background(command), socket.socket(socket.AF_UNIX) as link:
        until(lambda: link.connect_ex(str(gate)) == 0, "the emulator")
        entry = struct.unpack_from("<Q", program.read_bytes(), 24)[0]
        auxiliary = _ask(link, b"qXfer:auxv:read::0,1000")[1:]
        pairs = dict(struct.iter_unpack("<QQ", auxiliary[: len(auxiliary) & ~15]))
        stopped = _ask(link, b"c")
        assert stopped.startswith(b"T"), stopped
        registers = struct.unpack_from("<33Q", bytes.fromhex(_ask(link, b"g").decode()))
        _send(link, b"k")
    return int(stopped[1:3], 16), registers[_PC] - (pairs[_ENTRY] - entry)


def _send(link: socket.socket, text: bytes) -> None:
    link.sendall(b"$" + text + b"#%02x" % (sum(text) % 256))


def _ask(link: socket.socket, text: bytes) -> bytes:
    _send(link, text)
    data = b""
    while True:
        byte = link.recv(1)
        if not byte:
            return b""
        if byte == b"$":
            data = b""
        elif byte == b"#":
            link.recv(2)
            link.sendall(b"+")
            return _unescape(data)
        else:
            data += byte


def _unescape(data: bytes) -> bytes:
    """Undo the escapes of binary data: ``}`` and the byte with one bit turned."""
    found = bytearray()
    rest = iter(data)
    for byte in rest:
        found.append(next(rest) ^ 0x20 if byte == 0x7D else byte)
    return bytes(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    results: FinishedTrim
    release: FinishedTrim
    folder: Path
    file: Path
    out: Path

    @property
    def program(self) -> TrimmedProgram:
        return self.results.programs[0]

    def look_up(self, site: int) -> CrashFinding:
        """Look a tombstone of this program up, in the results and in the release alike."""
        crash = PlantedCrash(site=site, truth="")
        found = look_up_in(crash, self.program, self.results)
        released = find_program(self.release, self.program.name)
        assert look_up_in(crash, released, self.release) == found
        return found


@pytest.fixture(scope="module")
def trims(make_project: MakeProject, shared_out: Path) -> tuple[Shipped, Shipped]:
    project = make_project(MODEL, toolchain="zig")
    project.out = project.folder / "out"
    config = project.read()
    config["models"][0]["scenarios"] = config["models"][0]["scenarios"][:1]
    made = []
    for crash_ids in (False, True):
        config["trim"] |= {"level": "function", "crash_ids": crash_ids}
        project.write(config)
        released = project.folder / f"release-{crash_ids}"
        project.expect("trim", "--accept", "--reuse", str(shared_out))
        project.expect("release build", str(released))
        results = read_newest(Store(project.out))
        (program,) = results.programs
        file = project.folder / f"{program.name}-{crash_ids}"
        file.write_bytes(program.shipped)
        file.chmod(0o755)
        release = read_release(released, shown="release")
        made.append(
            Shipped(results=results, release=release, folder=released, file=file, out=project.out)
        )
    return made[0], made[1]


def test_without_crash_ids_the_truth_is_among_the_candidates(
    trims: tuple[Shipped, Shipped],
) -> None:
    plain, numbered = trims
    planted = [*plant_in_plain(plain.program, numbered.program)]
    called = [each for each in planted if each.truth in plain.program.left_out]
    assert len(called) >= _PLANTED
    assert len(called) < len(planted)

    for site in {each.site for each in planted}:
        finding = plain.look_up(site)
        assert finding.cause is CrashCause.CANDIDATES
        assert all(holds_truth(each, finding) for each in planted if each.site == site)


def test_with_crash_ids_each_trap_is_one_name(trims: tuple[Shipped, Shipped]) -> None:
    _, numbered = trims
    planted = [*plant_in_numbered(numbered.program)]
    assert len(planted) >= _PLANTED
    assert STUB not in {each.name for each in numbered.program.table.functions}
    assert any(each.truth.endswith(">") for each in planted)

    for each in planted:
        finding = numbered.look_up(each.site)
        assert finding.cause is CrashCause.LEFT_OUT
        assert len(finding.candidates) == 1
        assert holds_truth(each, finding)


@pytest.mark.parametrize("which", [0, 1])
def test_other_reports_never_have_a_certain_name(
    trims: tuple[Shipped, Shipped], which: int
) -> None:
    made = trims[which]
    numbered = [*plant_in_numbered(trims[1].program)]
    stub = next((e.address for e in made.program.table.functions if e.name == STUB), 0)
    others = [*other_reports(made.program, stub or numbered[0].site)]
    assert len(others) >= _FEWEST_OTHERS

    for what, data in others:
        report = parse_report(data, source=what)
        found = [
            look_up(report, trim.programs, trim.nameless) for trim in (made.results, made.release)
        ]
        assert found[0] == found[1]
        assert found[0].cause is not CrashCause.LEFT_OUT, what


def test_the_command_line_gives_both_answers(trims: tuple[Shipped, Shipped]) -> None:
    """In a release; and the printed command runs the nearest scenario on the build that crashed."""
    _, numbered = trims
    crash = next(plant_in_numbered(numbered.program))
    folder = numbered.file.parent
    (folder / "tombstone_04").write_bytes(report_of(crash, numbered.program))
    words = ("explain", "--crash", "tombstone_04", "--json")
    of_release = run_megtrim(*words, "--release", str(numbered.folder), cwd=folder)
    asked = run_megtrim(*words, "--out", str(numbered.out), cwd=folder)
    assert (of_release.rc, asked.rc) == (0, 0), of_release.stderr + asked.stderr

    facts = json.loads(of_release.stdout)
    assert (facts["crash"], facts["certain"]) == ("trimming left it out", True)
    assert len(facts["candidates"]) == 1
    label = "to be sure, run this with the arguments and inputs of your user"
    ended = run_megtrim(*shlex.split(json.loads(asked.stdout)[label])[1:], cwd=folder)
    assert ended.rc == 0, ended.stderr


def test_real_crashes(trims: tuple[Shipped, Shipped], tmp_path: Path) -> None:
    plain, numbered = trims
    names = set()
    for arguments in FIELD:
        words = (str(SAMPLE / "models" / f"{MODEL}.sample"), *arguments)
        found = []
        for each in (plain, numbered):
            number, site = take_crash(each.file, words, tmp_path)
            assert number == 5
            found.append(each.look_up(site))
        shared, exact = found
        (candidate,) = exact.candidates
        assert (shared.cause, exact.cause) == (CrashCause.CANDIDATES, CrashCause.LEFT_OUT)
        names.add(candidate.name)
        if candidate.linkage_name:
            assert candidate in shared.candidates
    assert len(names) == len(FIELD)


def test_the_engines_own_error_is_no_fault_of_trimming(
    trims: tuple[Shipped, Shipped], tmp_path: Path
) -> None:
    """A minimum-size build traps for a missing file, too."""
    _, numbered = trims
    _, site = take_crash(numbered.file, ("none.sample", "--cpu"), tmp_path)

    finding = numbered.look_up(site)
    assert (finding.cause, finding.candidates) == (CrashCause.NOT_TRIMMING, ())
    assert "the program's own trap" in finding.text
