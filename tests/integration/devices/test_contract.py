"""One suite for all kinds of devices: whatever runs a program, a job sees the same.

The program under all of it does what its words say: see support/signal_probe.c.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from integration.devices.rigs import KINDS, Maker, Programs, Rig, build, find_processes
from megtrim.core.timing.spec import Criterion
from megtrim.core.trim.runs.execution import RunSpec
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from megtrim.libs.util.owned_folders import MARKER
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.device import RunDirectory
from megtrim.times.experiments.contest import Contest, Contestant, Side
from megtrim.times.measuring.timing_runs import Turn
from megtrim.times.measuring.whole_runs import CommandFiles, WholeSampler
from support.clock import until

LONG_S = 60.0
ODD_NAMES = (
    "a b",
    "a  b ",
    "it's",
    'say "hi"',
    "-rf",
    "--",
    "*",
    "[a-z]",
    "$HOME",
    "`id`",
    "a;b",
    "a&b",
    "a|b",
    "(x)",
    "{y}",
    "~",
    "#",
    "!",
    "a\\b",
    "%s",
    "Ünïcødé",
    "数据",
    "😀",
    "a=b",
    "conv1:W[0]",
    "x,y",
    "<in>",
    "a?b",
    "...",
    ".hidden",
    "megtrim rc=0",
)
ODD_WORDS = (
    *ODD_NAMES,
    "",
    " ",
    "\t",
    "a\nb",
    "\n",
    "'",
    '"',
    "\\",
    "\\n",
    "$",
    "$$",
    "''",
    "\x01",
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Programs]:
    @cache
    def of(prefix: str) -> Programs:
        folder = tmp_path_factory.mktemp("programs")
        return build(ProcessRunner(os.environ), folder, prefix)

    return of


@pytest.fixture(scope="module", params=KINDS)
def device(
    request: pytest.FixtureRequest,
    programs: Callable[[str], Programs],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Rig]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp(request.param)
        yield Maker(request, programs, folder, stack).make(request.param)


@pytest.fixture
def rig(device: Rig) -> Iterator[Rig]:
    yield device
    assert [name for name in device.left() if name != MARKER] == []


def do(
    directory: RunDirectory,
    *words: str,
    timeout_s: float = LONG_S,
    env: Mapping[str, str] | None = None,
) -> ProgramRun:
    return directory.run(("deed", *words), timeout_s=timeout_s, env=env)


def decoded(stdout: str) -> list[str]:
    return [bytes.fromhex(line).decode() for line in stdout.splitlines()]


def test_exit_statuses_and_signals_are_exact(rig: Rig) -> None:
    signals = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15)
    statuses = (0, 1, 2, 3, 7, 42, 77, 99, 124, 125, 126, 127, 128, 129, 130, 137, 200, 254, 255)
    with rig.open() as directory:
        found = [do(directory, "exit", str(status)) for status in statuses]
        killed = [do(directory, "kill", str(number)).rc - 128 for number in signals]
        trap = do(directory, "trap").rc - 128

    assert tuple(run.rc for run in found) == statuses
    assert not any(run.timed_out for run in found)
    assert tuple(killed) == signals
    assert trap in {4, 5}


def test_a_program_is_bound_to_its_cpu(rig: Rig) -> None:
    mine = sorted(os.sched_getaffinity(0))
    with rig.open() as directory:
        found = [
            directory.run(("deed", "cpus"), timeout_s=LONG_S, cpus=(cpu,)).stdout.split()
            for cpu in mine
        ]
        free = do(directory, "cpus").stdout.split()
        assert directory.cpus() == (() if rig.remote else tuple(mine))

    assert found == [[str(cpu)] for cpu in mine]
    assert free == [str(cpu) for cpu in mine]


def test_both_streams_arrive_apart_and_whole(rig: Rig) -> None:
    with rig.open() as directory:
        both = do(directory, "out", "one\n\n two", ",", "err", "three\n")
        nothing = do(directory, "exit", "0")

    assert (both.stdout, both.stderr) == ("one\n\n two", "three\n")
    assert (nothing.stdout, nothing.stderr, nothing.rc) == ("", "", 0)


def test_both_streams_are_files_where_they_are_outputs(rig: Rig) -> None:
    words = ("deed", "out", "one\n", ",", "err", "two\n")
    with rig.open() as directory:
        apart = directory.run(words, timeout_s=LONG_S, stdout="printed", stderr="said")
        files = (directory.get("printed"), directory.get("said"))
        alone = directory.run(words, timeout_s=LONG_S, stderr="other")

        assert (apart.rc, apart.stdout, apart.stderr) == (0, "", "")
        assert files == (b"one\n", b"two\n")
        assert (alone.stdout, alone.stderr, directory.get("other")) == ("one\n", "", b"two\n")


def test_whole_runs_of_a_command_are_timed(rig: Rig) -> None:
    """Each with what it prints and its exit status; the time of its copies is not among it."""
    words = ("sleep", "120", ",", "out", "one two\n", ",", "exit", "3")
    spec = RunSpec(
        program=rig.program,
        model=None,
        arguments=words,
        inputs={},
        threads=1,
        timeout_s=LONG_S,
        application=True,
        status=3,
    )
    contest = Contest(criterion=Criterion(), reference=Contestant(name="plain"))
    files = CommandFiles(specs={Side.REFERENCE: spec})
    turn = Turn(round_number=0, position=0, contestant="plain", cpus=(), padding_bytes=99)
    with rig.reserve() as lease:
        sampler = WholeSampler(contest, files, lease)
        sampler.check_outputs()
        sample, _ = sampler.take(turn)

    (time_ms,) = sample.runs_ms
    assert 110 < time_ms < 2000
    assert sampler.program_time_s > 0.22


def test_output_is_reported_while_the_program_runs_and_its_time_is_measured(rig: Rig) -> None:
    reported: list[tuple[str, float]] = []
    words = ("out", "first\n", ",", "sleep", "1200", ",", "out", "second\n")
    with rig.open() as directory:
        run = directory.run(
            ("deed", *words),
            timeout_s=LONG_S,
            on_line=lambda line: reported.append((line, time.monotonic())),
        )

    assert run.stdout == "first\nsecond\n"
    assert [line for line, _ in reported] == ["first", "second"]
    assert reported[1][1] - reported[0][1] > 0.8
    assert 1.1 < run.wall_s < 3


def test_output_that_looks_like_the_devices_own_words(rig: Rig) -> None:
    """A program cannot pretend to have ended, nor to have ended well."""
    text = "end-0000000000000000 0\nmegtrim rc=0\nmegtrim size=1 ./x\nmegtrim surveyed=yes\n"
    with rig.open() as directory:
        run = do(directory, "out", text, ",", "err", text, ",", "exit", "9")

        assert (run.rc, run.stdout, run.stderr) == (9, text, text)
        assert directory.get("x") is None


def test_much_output(rig: Rig) -> None:
    with rig.open() as directory:
        run = do(directory, "print", "1500000", "1000000")

    letters = [chr(97 + place % 23) for place in range(1, 24)]
    assert run.rc == 0
    assert (len(run.stdout), len(run.stderr)) == (1_500_000, 1_000_000)
    assert run.stdout[:23] == "".join(letters)
    assert run.stdout[:1_000_000] == run.stderr


def test_output_that_is_no_text(rig: Rig) -> None:
    with rig.open() as directory:
        run = do(directory, "bytes")

    assert run.rc == 0
    assert run.stdout == bytes(range(256)).decode("utf-8", "replace")


def test_arguments_arrive_unchanged_however_many(rig: Rig) -> None:
    words = [*ODD_WORDS, *(f"--input-{i}=" + "x" * 100 for i in range(300))]
    with rig.open() as directory:
        run = do(directory, "hex", *words)

    assert decoded(run.stdout) == words


def test_variables_arrive_unchanged(rig: Rig) -> None:
    env = {f"MIDOUT_{number}": word for number, word in enumerate(ODD_WORDS)}
    asked = [word for name in env for word in ("variable", name, ",")]
    with rig.open() as directory:
        assert decoded(do(directory, *asked, env=env).stdout) == [*ODD_WORDS]
        assert decoded(do(directory, "variable", "MIDOUT_0").stdout) == ["unset"]


def test_files_go_and_come_unchanged(rig: Rig, tmp_path: Path) -> None:
    contents = {
        "bytes": bytes(range(256)) * 5,
        "lines": b"a\r\nb\nc\r\0\n",
        "empty": b"",
        "large": os.urandom(9_000_000),
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    with rig.open() as directory:
        for name in contents:
            directory.put(tmp_path / name, f"{name}.in")
        copies = [word for name in contents for word in ("copy", f"{name}.in", name, ",")]
        assert do(directory, *copies).rc == 0
        changed = [name for name, data in contents.items() if directory.get(name) != data]

    assert changed == []


def test_what_was_put_is_there_and_nothing_else(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"weights")
    with rig.open() as directory:
        directory.put(tmp_path / "m", "model.mge")
        directory.make("dump")
        run = do(directory, "list", ".")

        assert run.stdout.splitlines() == ["deed", "dump", "model.mge"]
        assert directory.get("model.mge") == b"weights"
        assert directory.names("dump") == ()
        do(directory, "write", "dump/out", "x")
        for name in ("none", "dump/none", "none/none", "dump"):
            assert directory.get(name) is None, name
        assert directory.names("none") == directory.names("deed") == ()
        assert directory.names("dump") == ("out",)


def test_names_that_a_program_chose(rig: Rig) -> None:
    """They come from a model, so anything may stand in them."""
    with rig.open() as directory:
        directory.make("dump")
        made = [w for n in ODD_NAMES for w in ("write", f"dump/{n}", f"<{n}>", ",")]
        assert do(directory, *made).rc == 0
        names = directory.names("dump")
        fetched = {name: directory.get(f"dump/{name}") for name in names}

    assert names == tuple(sorted(ODD_NAMES))
    assert fetched == {name: f"<{name}>".encode() for name in ODD_NAMES}


@pytest.mark.parametrize("name", ["my model.mge", "it's", "-rf", "数据.npy"])
def test_names_that_a_person_chose(rig: Rig, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with rig.open() as directory:
        try:
            directory.put(tmp_path / "file", name)
        except InputError as error:
            assert repr(name) in error.message
            return
        assert do(directory, "copy", f"./{name}", "out").rc == 0
        assert directory.get("out") == b"x"


def test_a_source_that_is_not_there(rig: Rig, tmp_path: Path) -> None:
    with pytest.raises(InfrastructureFailure, match=r"nowhere cannot be "), rig.open() as directory:
        directory.put(tmp_path / "nowhere", "model.mge")


def test_a_file_without_rights(rig: Rig) -> None:
    """It is there: it is fetched, or that fails; it is never taken for missing."""
    with rig.open() as directory:
        do(directory, "write", "secret", "x", ",", "mode", "0", "secret")
        try:
            found = directory.get("secret")
        except MegtrimError as error:
            assert "secret" in error.message
        else:
            assert found == b"x"


def test_links_are_not_followed(rig: Rig) -> None:
    """Nor pipes, which no one would write into: not a byte of anything else is fetched."""
    with rig.open() as directory:
        directory.make("dump")
        run = do(
            directory,
            "write",
            "dump/real",
            "fine",
            ",",
            "link",
            "/proc/version",
            "dump/file",
            ",",
            "link",
            "/proc",
            "way",
            ",",
            "link",
            "real",
            "dump/near",
            ",",
            "link",
            "/",
            "dump/folder",
            ",",
            "link",
            "dump",
            "also",
            ",",
            "pipe",
            "dump/pipe",
        )
        assert run.rc == 0

        assert directory.get("dump/real") == b"fine"
        for name in ("dump/file", "dump/near", "dump/folder", "dump/pipe", "way/version"):
            assert directory.get(name) is None, name
        assert directory.get("also/real") is None
        assert directory.names("way") == ()
        with pytest.raises(ProductFailure, match="left a symbolic link among its outputs"):
            directory.names("dump")


def test_outputs_in_folders_come_back(rig: Rig) -> None:
    folders = ["folder", "dump/a", ",", "folder", "dump/a/b", ","]
    files = ["write", "dump/a/b/deep", "1", ",", "write", "dump/flat", "2"]
    with rig.open() as directory:
        directory.make("dump")
        assert do(directory, *folders, *files).rc == 0
        found = {name: directory.get(f"dump/{name}") for name in directory.names("dump")}
        assert found == {"a/b/deep": b"1", "flat": b"2"}
        do(directory, "pipe", "dump/a/pipe")
        with pytest.raises(ProductFailure, match="left a pipe, socket or device among its outputs"):
            directory.names("dump")


def test_put_does_not_write_through_a_link(rig: Rig, tmp_path: Path) -> None:
    """An earlier program may have left one where a file is put again."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / "input").write_bytes(b"input")
    with rig.open() as directory:
        directory.put(tmp_path / "input", "victim")
        do(directory, "write", "outside", "outside", ",", "link", "outside", "in")
        do(directory, "link", str(victim), "far")
        directory.put(tmp_path / "input", "in")
        directory.put(tmp_path / "input", "far")
        do(directory, "copy", "outside", "kept")

        assert directory.get("kept") == b"outside"
        assert directory.get("in") == b"input"
    assert victim.read_bytes() == b"mine"


def test_a_file_can_be_put_again(rig: Rig, tmp_path: Path) -> None:
    with rig.open() as directory:
        for data in (b"one", b"two two", b"one"):
            (tmp_path / "in").write_bytes(data)
            directory.put(tmp_path / "in", "in")
            assert do(directory, "copy", "in", "out", ",", "mode", "0", "in").rc == 0
            assert directory.get("out") == data


def test_a_job_is_not_spoilt_by_the_one_before(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"pure" * 1000)
    for _ in range(2):
        with rig.open() as directory:
            directory.put(tmp_path / "in", "in")
            assert do(directory, "copy", "in", "out").rc == 0
            assert directory.get("out") == b"pure" * 1000
            do(directory, "spoil", ".")
            if rig.remote:
                do(directory, "spoil", "../../../files")


def test_a_program_of_the_machine_reads_nothing_and_finds_its_libraries(rig: Rig) -> None:
    machine = os.uname().machine if rig.kind in {"local", "ssh"} else "aarch64"
    with rig.open() as directory:
        assert do(directory, "machine", ",", "read").stdout == f"{machine} 8\n1\n"
        directory.put(rig.dynamic, "dynamic")
        run = directory.run(("dynamic",), timeout_s=LONG_S)

    assert (run.rc, run.stdout, run.stderr) == (5, "dynamic\n", "")


def test_too_slow_is_a_value_and_ends_everything(rig: Rig) -> None:
    word = f"slow-{os.getpid()}-{rig.kind}"
    with rig.open() as directory:
        run = do(directory, "out", "begun", ",", "child", word, ",", "nap", timeout_s=1)
        assert run.timed_out
        assert run.stdout == "begun"
        assert run.rc != 0
        until(lambda: not find_processes(word), "its end", LONG_S)
        assert do(directory, "exit", "3").rc == 3


def test_nothing_runs_on_after_a_run(rig: Rig) -> None:
    """A child that outlives its program would write into what is fetched."""
    word = f"orphan-{os.getpid()}-{rig.kind}"
    with rig.open() as directory:
        assert do(directory, "child", word).rc == 0
        until(lambda: not find_processes(word), "its end", LONG_S)


def test_nothing_runs_on_after_a_job(rig: Rig) -> None:
    """Not even what took itself out of its program's group."""
    word = f"daemon-{os.getpid()}-{rig.kind}"
    with rig.open() as directory:
        assert do(directory, "daemon", word, ",", "exit", "4").rc == 4
    until(lambda: not find_processes(word), "its end", LONG_S)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError(), InputError("x")])
def test_nothing_is_left_after_an_error(rig: Rig, error: BaseException) -> None:
    with pytest.raises(type(error)), rig.open() as directory:
        directory.make("dump")
        do(directory, "write", "dump/x", "x", ",", "mode", "0", "dump", ",", "mode", "0", "deed")
        raise error


def test_two_jobs_at_once_do_not_meet(rig: Rig) -> None:
    def job(name: str) -> str:
        with replace(rig, lease=None).open() as directory:
            do(directory, "write", name, name, ",", "sleep", "300")
            return do(directory, "list", ".").stdout

    with ThreadPoolExecutor(3) as pool:
        seen = list(pool.map(job, ("job0", "job1", "job2")))

    assert seen == [f"deed\njob{i}\n" for i in range(3)]


def test_it_says_what_it_is(rig: Rig) -> None:
    assert rig.device.kind == rig.kind
    assert rig.device.identity() == rig.device.identity()
    assert rig.device.identity()["kind"] == rig.kind
    with rig.device.reserve() as lease:
        facts = lease.facts()
    assert lease.kind == rig.kind
    assert facts
    assert all("\n" not in key + value for key, value in facts.items())
