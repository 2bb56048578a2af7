import hashlib
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from megtrim.libs.elf.needed_libraries import Needs
from megtrim.libs.programs.exit_status import RunOutcome, ending
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.cpu import parse_children_s
from megtrim.places.devices.device import LARGEST_FETCHED_BYTES, Timeouts
from megtrim.places.devices.local import Local
from megtrim.places.devices.remote import run_directory
from megtrim.places.devices.remote.run_directory import wipe
from megtrim.places.devices.remote.transport import ConnectionLost, NoSpace
from support.clock import alive, until
from unit.places.devices.links import TIMEOUTS, FolderMachine, digest, losing


@pytest.fixture
def machine(processes: ProcessRunner, tmp_path: Path) -> FolderMachine:
    return FolderMachine(processes, tmp_path)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m"
    path.write_bytes(b"weights")
    return path


SHELLS = [name for name in ("dash", "bash", "mksh") if shutil.which(name)]


def test_a_program_runs_in_its_folder(machine: FolderMachine, tmp_path: Path) -> None:
    model = tmp_path / "m"
    model.write_bytes(b"weights\n")
    text = 'cat model.mge; echo "$X $@" >&2; printf made >"dump/o 1"; echo 1 >trace; exit 3'
    heard: list[str] = []
    with machine.open() as directory:
        directory.put(machine.program(text), "load_and_run")
        directory.put(model, "model.mge")
        directory.make("dump")
        run = directory.run(
            ("load_and_run", "a", "b 'c"), timeout_s=9, env={"X": "1 2"}, on_line=heard.append
        )
        assert (run.argv, run.rc, run.timed_out) == (("load_and_run", "a", "b 'c"), 3, False)
        assert (run.stdout, run.stderr) == ("weights\n", "1 2 a b 'c\n")
        assert 0 <= run.wall_s < 5
        assert run.conditions is not None
        assert sorted(heard) == ["1 2 a b 'c", "weights"]
        assert directory.names("dump") == ("o 1",)
        assert directory.names("nowhere") == directory.names("model.mge") == ()
        assert directory.get("dump/o 1") == b"made"
        assert directory.get("trace") == b"1\n"
        assert directory.get("model.mge") == b"weights\n"
        assert directory.get("dump") is directory.get("none") is None
    assert machine.left() == []


def test_calls_are_few(machine: FolderMachine, tmp_path: Path) -> None:
    for expected in (["push program"], []):
        machine.link.calls.clear()
        with machine.open() as directory:
            directory.put(machine.program("echo x >out"), "p")
            directory.make("dump")
            directory.run(("p",), timeout_s=9)
            assert directory.get("out") == b"x\n"
            assert directory.get("none") is None
        assert machine.link.calls == ["enter", *expected, "put", "run", "pull out", "clean"]


@pytest.mark.parametrize("number", [2, 3, 5, 6, 9, 11, 15])
def test_signals(machine: FolderMachine, number: int) -> None:
    """Also those that a shell's background programs would not hear; nothing is said of them."""
    run = machine.run(f"ulimit -c 0; kill -{number} $$; exit 1")
    assert (run.rc, run.stderr) == (128 + number, "")
    assert run.crash.startswith(f"ended by signal {number} ({signal.Signals(number).name})")


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_program_that_was_stopped_has_not_ended(machine: FolderMachine, shell: str) -> None:
    """As after a machine was frozen and thawed: it goes on, and its own status counts."""
    machine.link.program = shell
    run = machine.run("(sleep 0.6; kill -CONT $$) & kill -STOP $$; echo on; exit 5")
    assert (run.rc, run.stdout, run.timed_out) == (5, "on\n", False)


def test_a_hang_ends_on_the_machine_too(machine: FolderMachine) -> None:
    text = "sleep 91 & setsid sleep 92 & echo $$ $! >pids; echo said; sleep 93"
    with machine.open() as directory:
        directory.put(machine.program(text), "p")
        run = directory.run(("p",), timeout_s=0.5)
        pids = directory.get("pids")
    assert (ending(run), run.stdout) == (RunOutcome.TIMEOUT, "said\n")
    assert 0.9 < run.wall_s < 5
    assert pids is not None
    for pid in pids.split():
        until(lambda pid=int(pid): not alive(pid), "its end")  # type: ignore[misc]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_machine_says_what_others_took(machine: FolderMachine, shell: str) -> None:
    machine.link.program = shell
    burn = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.4: pass'"
    run = machine.run(burn)
    answer = next(each for each in reversed(machine.link.answers) if "megtrim own=" in each)
    own_s = parse_children_s(answer.partition("megtrim own=")[2].partition("\n")[0])
    assert own_s is not None
    assert own_s >= 0.3  # in steps of the kernel's counters
    assert run.other_load is not None


def test_a_result_that_is_damaged_on_its_way_is_no_result(machine: FolderMachine) -> None:
    with machine.open() as directory:
        directory.put(machine.program("echo trace >t"), "p")
        directory.run(("p",), timeout_s=9)
        machine.link.damage = 1
        with pytest.raises(InfrastructureFailure, match="t was damaged on its way here"):
            directory.get("t")
        assert directory.get("t") == b"trace\n"


@pytest.mark.parametrize("at", ["enter", "push", "put", "run", "pull"])
def test_a_lost_link_is_reported_and_leaves_nothing(machine: FolderMachine, at: str) -> None:
    machine.link.before = losing(at)
    with pytest.raises(ConnectionLost), machine.open() as directory:
        directory.put(machine.program("echo t >t"), "p")
        directory.run(("p",), timeout_s=9)
        directory.get("t")
    assert not machine.root.exists() or machine.left() == []


def test_a_link_lost_while_leaving_does_not_cost_the_results(machine: FolderMachine) -> None:
    reported: list[str] = []
    machine.link.before = losing("clean")
    with machine.open(said=reported) as directory:
        directory.put(machine.program("echo t >t"), "p")
        directory.run(("p",), timeout_s=9)
        assert directory.get("t") == b"t\n"
    assert reported == [
        "  later board (test): the link was lost at clean; the next job on it will clean up"
    ]
    assert len(machine.left()) == 1
    machine.link.before = losing("")
    with machine.open():
        assert len(machine.left()) == 1
    assert machine.left() == []


def test_an_answer_without_its_end_is_no_run(machine: FolderMachine) -> None:
    machine.link.cut = "run"
    with pytest.raises(ConnectionLost, match="lost while running the program"):
        machine.run("echo t >t")


def test_an_entry_sweeps_what_a_killed_holder_left(
    machine: FolderMachine, processes: ProcessRunner
) -> None:
    work = machine.root / "runs" / "run-old" / "place"
    (work / "closed").mkdir(parents=True)
    (work / "closed").chmod(0)
    (machine.root / "files").mkdir()
    (machine.root / "files" / "abc.part").write_bytes(b"half")
    (machine.root / "files" / ("a" * 64)).write_bytes(b"old")
    os.utime(machine.root / "files" / ("a" * 64), (0, 0))
    script = f"cd {work}; setsid sleep 95 </dev/null >/dev/null 2>&1 & echo $!"
    stray = int(machine.link.shell(script, timeout_s=9).stdout)
    with machine.open():
        until(lambda: not alive(stray), "its end")
        assert "run-old" not in machine.left()
        assert list((machine.root / "files").iterdir()) == []
    assert machine.left() == []


def test_a_machine_that_no_longer_answers_ends_the_run(machine: FolderMachine) -> None:
    timeouts = Timeouts(heartbeat_s=0.1, probe_s=0.3, poll_s=0.05)
    machine.link.program = "bash"
    machine.link.before = losing("probe")
    began = time.monotonic()
    with (
        pytest.raises(ConnectionLost, match="no sign of life for 0 s while running p"),
        machine.open(timeouts) as directory,
    ):
        directory.put(machine.program("sleep 96"), "p")
        directory.run(("p",), timeout_s=60)
    assert time.monotonic() - began < 30


def test_conditions_of_a_run(machine: FolderMachine) -> None:
    with machine.open() as directory:
        directory.put(machine.program("exit 0"), "p")
        first = directory.run(("p",), timeout_s=9).conditions
        second = directory.run(("p",), timeout_s=9).conditions
    assert first is not None
    assert second is not None
    assert second.before == first.after


def test_a_program_that_was_not_put(machine: FolderMachine) -> None:
    with machine.open() as directory, pytest.raises(InputError, match="p was not put on"):
        directory.run(("p",), timeout_s=9)


def test_a_file_is_brought_once(machine: FolderMachine, model: Path) -> None:
    for name in ("a", "b"):
        with machine.open() as directory:
            directory.put(model, name)
            directory.put(model, f"{name}2")
            assert directory.get(name) == directory.get(f"{name}2") == b"weights"
    assert [call for call in machine.link.calls if call.startswith("push")] == ["push m"]
    assert [path.name for path in (machine.root / "files").iterdir()] == [digest(b"weights")]


def test_a_kept_file_that_a_program_wrote_to_is_brought_again(
    machine: FolderMachine, model: Path
) -> None:
    """The copy is what is checked, at every use."""
    with machine.open() as directory:
        directory.put(model, "m")
        assert directory.get("m") == b"weights"
    (machine.root / "files" / digest(b"weights")).write_bytes(b"evil")
    with machine.open() as directory:
        directory.put(model, "m")
        assert directory.get("m") == b"weights"
    assert (machine.root / "files" / digest(b"weights")).read_bytes() == b"weights"


def test_damage_on_the_way_is_mended_once(machine: FolderMachine, model: Path) -> None:
    with machine.open() as directory:
        machine.link.damage = 1
        directory.put(model, "m")
        assert directory.get("m") == b"weights"
    (machine.root / "files" / digest(b"weights")).unlink()
    with machine.open() as directory:
        machine.link.damage = 2
        directory.put(model, "m")
        with pytest.raises(InfrastructureFailure, match="m was damaged on its way there"):
            directory.get("m")
    assert machine.left() == []


def test_a_file_is_not_put_through_a_link(machine: FolderMachine, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    with machine.open() as directory:
        directory.put(machine.program(f"ln -s {victim} cache; mkdir folder"), "p")
        directory.run(("p",), timeout_s=9)
        for name in ("cache", "folder"):
            directory.put(tmp_path / "program", name)
            assert directory.get(name) == (tmp_path / "program").read_bytes()
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["", "../x", "a/../b", "/x", "-x", "a b", "a\nb", "*", "é"])
def test_names_that_cannot_be_put(machine: FolderMachine, model: Path, name: str) -> None:
    with machine.open() as directory, pytest.raises(InputError):
        directory.put(model, name)


@pytest.mark.parametrize("there", [True, False])
def test_a_loader_is_brought_where_the_machine_has_none(
    machine: FolderMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    loader = tmp_path / "lib" / "ld-test.so.1"
    brought = tmp_path / "sysroot-ld"
    brought.write_text('#!/bin/sh\necho "$@"\n')
    if there:
        loader.parent.mkdir()
        loader.write_text("")
    needs = Needs(loader=str(loader), files=(("ld-test.so.1", brought), ("libx.so", brought)))
    monkeypatch.setattr(run_directory, "read_loader", lambda _program: str(loader))
    monkeypatch.setattr(run_directory, "read_needs", lambda *_given: needs)
    with machine.open() as directory:
        directory.put(machine.program("echo itself $@"), "p")
        run = directory.run(("p", "a"), timeout_s=9)
        again = directory.run(("p", "a"), timeout_s=9)
    expected = "itself a\n" if there else "--library-path . ./p a\n"
    assert run.stdout == again.stdout == expected


@pytest.mark.parametrize("there", [True, False])
def test_androids_loader_is_the_phones_own(
    machine: FolderMachine, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    loader = "/system/bin/linker64"
    libs = Needs(loader=loader, files=(("libc++_shared.so", machine.program("")),))
    monkeypatch.setattr(run_directory, "read_loader", lambda _program: loader)
    monkeypatch.setattr(run_directory, "read_needs", lambda *_given: libs)
    with machine.open() as directory:
        monkeypatch.setattr(directory, "_present", {loader: there})
        directory.put(machine.program("echo $LD_LIBRARY_PATH; ls libc*"), "p")
        if there:
            assert directory.run(("p",), timeout_s=9).stdout == ".\nlibc++_shared.so\n"
        else:
            with pytest.raises(InputError, match=r"has no /system/bin/linker64"):
                directory.run(("p",), timeout_s=9)


def test_a_machine_that_only_has_the_older_digest(
    machine: FolderMachine, model: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "old"
    tools.mkdir()
    names = "sh cp mv rm ls find stat df mkdir chmod touch sleep setsid env cat date uname sha1sum"
    for name in names.split():
        (tools / name).symlink_to(f"/usr/bin/{name}")
    machine.link.path = str(tools)
    with machine.open() as directory:
        directory.put(model, "m")
        assert directory.get("m") == b"weights"
    expected = hashlib.sha1(b"weights", usedforsecurity=False).hexdigest()
    assert [path.name for path in (machine.root / "files").iterdir()] == [expected]


def test_a_machine_without_any_digest_is_refused(machine: FolderMachine, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ["sh", "rm", "ls", "find", "df", "mkdir", "chmod", "date"]:
        (tools / name).symlink_to(Path("/usr/bin") / name)
    machine.link.path = str(tools)
    with pytest.raises(InfrastructureFailure, match="did not report"), machine.open():
        pass
    assert machine.left() == []


def test_files_of_odd_names_come_back(machine: FolderMachine) -> None:
    text = r"""
for name in 'a b' '-x' '[1]*' 'q"' 'b\n' 'é'; do echo 1 >"d/$name"; done
"""
    with machine.open() as directory:
        directory.put(machine.program(text), "p")
        directory.make("d")
        directory.run(("p",), timeout_s=9)
        names = directory.names("d")
        assert names == ("-x", "[1]*", "a b", "b\\n", 'q"', "é")
        assert all(directory.get(f"d/{name}") == b"1\n" for name in names)


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


def test_a_file_without_an_end_is_the_programs_fault(
    machine: FolderMachine, processes: ProcessRunner, tmp_path: Path
) -> None:
    """It is read nowhere, nor where programs run on this machine."""
    size_bytes = LARGEST_FETCHED_BYTES + 1
    program = machine.program(f"truncate -s 8T trace\ntruncate -s {size_bytes} more\necho 1 >o")
    began_s = time.monotonic()
    for place in (machine.open(), Local("here", processes, tmp_path / "runs").open()):
        with place as directory:
            directory.put(program, "program")
            directory.run(("program",), timeout_s=20)
            for name, size in (("trace", f"{8 * 1024**4:,}"), ("more", f"{size_bytes:,}")):
                with pytest.raises(ProductFailure, match=f"program left {name} with {size} bytes"):
                    directory.get(name)
            assert directory.get("o") == b"1\n"

    assert time.monotonic() - began_s < 10


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


@pytest.fixture
def free(machine: FolderMachine, tmp_path: Path) -> Path:
    """Holds the free space of the machine, in KiB."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "df").write_text("#!/bin/sh\necho Filesystem\necho d 900 1 $(cat $0.free) 9 /\n")
    (tools / "df").chmod(0o755)
    machine.link.path = f"{tools}:{machine.link.path}"
    return tools / "df.free"


def test_too_little_space_is_reported_before_anything_is_brought(
    machine: FolderMachine, model: Path, free: Path
) -> None:
    model.write_bytes(os.urandom(100 * 1024))
    free.write_text("10000")
    with machine.open() as directory:
        directory.put(model, "m")
        directory.put(machine.program(f"echo 9000 >{free}"), "p")
        directory.run(("p",), timeout_s=9)
    assert len(list((machine.root / "files").iterdir())) == 2
    free.write_text("207")
    model.write_bytes(os.urandom(100 * 1024))
    with machine.open() as directory:
        machine.link.calls.clear()
        with pytest.raises(NoSpace, match=r"0\.2 MiB are free, 0\.2 MiB are needed for m"):
            directory.put(model, "m")
        assert machine.link.calls == ["put"]
        assert list((machine.root / "files").iterdir()) == []
    free.write_text("208")
    with machine.open() as directory:
        directory.put(model, "m")
        assert directory.get("m") == model.read_bytes()


def test_a_run_that_filled_the_disk_is_no_run(machine: FolderMachine, free: Path) -> None:
    """What it wrote may be cut short, whatever it ended with."""
    free.write_text("10000")
    with pytest.raises(NoSpace, match="no space left while running p"):
        machine.run(f"echo 63 >{free}")
    assert machine.left() == []


def test_a_wipe_leaves_nothing_of_ours(machine: FolderMachine, model: Path) -> None:
    wipe(machine.link, root=str(machine.root), timeouts=TIMEOUTS)
    with machine.open() as directory:
        directory.put(model, "m")
        directory.get("m")
    (machine.root / "runs" / "run-x").mkdir()
    wipe(machine.link, root=str(machine.root), timeouts=TIMEOUTS)
    assert list(machine.root.iterdir()) == []
