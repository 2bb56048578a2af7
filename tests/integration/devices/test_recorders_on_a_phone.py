"""Functions recorded on a phone: the same as an emulator recorded, and as a twin keeps them."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.devices.rigs import SYSROOT
from integration.test_evidence import Team
from megtrim.core.functions import link_map, probes
from megtrim.core.functions.observables import observables
from megtrim.libs.elf.symbol_table import FunctionTable, read_table
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.devices import kinds as device_kinds
from support import sshd
from support.megtrim_cli import SAMPLE, KeepFolder
from support.sshd import Sshd
from unit.places.devices.machines import spec_of

COMMITTED = "megtrim/functions.keepset"


@dataclass(frozen=True, slots=True)
class Demo:
    folder: Path
    out: Path
    environment: dict[str, str]

    def trim(self, *more: str) -> list[bytes]:
        config = ("--config", str(self.folder / "functions.yaml"), "--out", str(self.out))
        argv = (sys.executable, "-m", "megtrim", "trim", *config, "--json", *more)
        ended = ProcessRunner(self.environment).run(Command(argv=argv, timeout_s=1800))
        assert ended.rc == 0, ended.stderr
        assert "is not what was traced now" not in ended.stderr
        done = {
            task: Path(reported["folder"])
            for task, reported in json.loads(ended.stdout)["done"].items()
        }
        lists = [done[task] / "functions.txt" for task in sorted(done) if "functions/tiny" in task]
        assert len(lists) == 4
        files = [*lists, done["reduce/reduced"] / "bin/load_and_run"]
        return [each.read_bytes() for each in files]


@pytest.fixture
def demo(tmp_path: Path, shared_out: Path, phone_environment: dict[str, str]) -> Demo:
    shutil.copytree(SAMPLE, tmp_path / "sample")
    state = {"MEGTRIM_STATE": str(tmp_path / "state")}
    return Demo(tmp_path / "sample", shared_out, {**os.environ, **phone_environment, **state})


@pytest.mark.usefixtures("phone_root")
def test_the_demo_on_a_phone_agrees_with_what_is_committed(demo: Demo) -> None:
    """`demo --device virtual-phone` on a fresh clone passes, and ships what the demo ships."""
    keep = KeepFolder(demo.folder / COMMITTED)
    committed = keep.texts()
    phone = demo.trim("--device", "virtual-phone")
    emulator = demo.trim()

    assert phone == emulator
    assert keep.texts() == committed != {}


PROGRAM = """\
#include <cstdio>
#include <thread>
#define APART extern "C" __attribute__((noinline, used))
APART void probed_in_main(const char* what) { std::puts(what); }
APART void probed_in_thread() { std::puts("thread"); }
APART void probed_never() { std::puts("never"); }
int main(int count, char**) {
  probed_in_main("main");
  std::thread(probed_in_thread).join();
  if (count > 9) probed_never();
}
"""


@pytest.fixture
def twin(tmp_path: Path) -> tuple[Path, FunctionTable]:
    processes = ProcessRunner(os.environ)
    ((name, text),) = probes.sources(shared=False)
    for file, content in ((name, text), ("program.cpp", PROGRAM)):
        (tmp_path / file).write_text(content, encoding="utf-8")
    runtime = tmp_path / "runtime.o"
    made = tmp_path / "twin"
    flags = ("-c", "-O2", "-fno-stack-protector")
    processes.capture("aarch64-linux-gnu-gcc", *flags, str(tmp_path / name), "-o", str(runtime))
    processes.capture(
        "aarch64-linux-gnu-g++",
        "-O2",
        "-static",
        str(runtime),
        str(tmp_path / "program.cpp"),
        *probes.flags(shared=False),
        f"-Wl,-Map={made}.map",
        "-o",
        str(made),
    )
    table = read_table(made)
    platform = link_map.platform_names(link_map.read_map(Path(f"{made}.map")), table)
    observed = observables("0" * 64, table, platform).names
    made.write_bytes(probes.patch(made.read_bytes(), table, observed))
    return made, table


def test_a_twin_records_on_a_phone(
    twin: tuple[Path, FunctionTable],
    phone_root: Path,
    phone_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    program, table = twin
    processes = ProcessRunner({**phone_environment, "MEGTRIM_STATE": str(tmp_path / "state")})
    spec = spec_of(processes, tmp_path / "scratch", sysroot=SYSROOT, say=lambda _: None)
    device = device_kinds.KINDS["virtual-phone"](spec)
    with device.reserve() as lease, lease.open() as directory:
        directory.put(program, "twin")
        run = directory.run(("twin",), timeout_s=60, env=probes.ENVIRONMENT)
        record = directory.get(probes.RECORD_FILE)

    assert (run.rc, run.stdout.splitlines()) == (0, ["main", "thread"])
    assert record is not None
    names = probes.parse_record(record, table, source="record")
    probed = [name for name in names if name.startswith("probed_")]
    assert probed == ["probed_in_main", "probed_in_thread"]


MODEL = "tiny-mobile"
HERE = {"name": "here", "kind": "local", "class": "any"}


@pytest.fixture
def board(processes: ProcessRunner, tmp_path: Path) -> Iterator[Sshd]:
    folder = tmp_path / "board"
    folder.mkdir()
    with sshd.running(processes, folder) as running:
        yield running


@pytest.fixture
def team(make_project: MakeProject) -> Iterator[Team]:
    it = Team(make_project(MODEL))
    config = it.project.read()
    config["trim"]["level"] = "function"
    it.project.write(config | {"devices": [HERE]})
    # A socket's path must be short: pytest's folders are not.
    with tempfile.TemporaryDirectory(prefix="mt") as state:
        it.project.env = {"MEGTRIM_STATE": state}
        it.owner = {"MEGTRIM_BOARDS": f"{state}/boards.yaml", "MEGTRIM_STATE": state}
        it.trim()
        yield it


def rock(board: Sshd, **more: object) -> dict[str, object]:
    there = board.settings
    files = {"key": str(there.key), "known_hosts": str(there.known_hosts)}
    place = {"host": there.host, "port": there.port, **files}
    return {"name": "rock-5", "kind": "ssh", "class": "any", **place, **more}


def test_a_board_records_and_proves(team: Team, board: Sshd) -> None:
    whole = team.keep.texts()
    team.project.change(devices=[rock(board)])
    team.keep.remove()
    trimmed = team.trim()

    verdict = json.loads((team.folder / "results/verdict.json").read_text("utf-8"))
    linked = Path(json.loads(trimmed.stdout)["done"]["functions/linked"]["folder"])
    brought = {path.name for path in (board.home / ".cache/megtrim-device/files").iterdir()}
    assert verdict["verdict"] == "pass"
    assert [(each["name"], each["kind"]) for each in verdict["devices"]] == [("rock-5", "ssh")]
    assert sha256_file(linked / "links/probed/load_and_run") in brought
    assert "main" in team.keep.read().functions()
    assert team.keep.texts() == whole
    assert board.run_directories() == []


def test_device_jobs_record_on_a_board(team: Team, board: Sshd) -> None:
    whole = team.keep.texts()
    # What the configuration says of the way is for people at their desks.
    asked = rock(board, runner=True, host="evil.lan", port=9, user="root")
    team.project.change(devices=[asked])
    owned = {key: value for key, value in rock(board).items() if key not in ("kind", "class")}
    Path(team.owner["MEGTRIM_BOARDS"]).write_text(json.dumps({"boards": [owned]}), encoding="utf-8")
    traces = team.run(team.pack("--traces"), "brought/traces")
    functions = team.run(team.pack("--functions", "--evidence", "brought"), "brought/functions")
    team.keep.remove()
    team.trim("--traces", "brought")

    for evidence, purpose in ((traces, "trace"), (functions, "record")):
        assert (evidence["purpose"], evidence["device"]["kind"]) == (purpose, "ssh")
        assert [each["status"] for each in evidence["results"]] == ["pass"]
    assert team.keep.texts() == whole
