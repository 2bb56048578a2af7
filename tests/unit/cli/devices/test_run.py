"""``megtrim devices run``: a program of one's own on a device."""

import json

import pytest

from unit.cli.devices.bench import Bench


def test_a_run_reports_how_the_program_ended(bench: Bench) -> None:
    """A program's failure is 1, whatever its own status is; one that was killed is none."""
    ran = bench("run", "pixel", "--", bench.program('echo "$@"; exit 3'), "a", "--json")
    assert (ran.status, ran.out) == (1, "a --json\n")
    assert ran.err.endswith("warning: program on pixel: it ended with status 3\n")

    ran = bench("run", "here", "--", bench.program("kill -TRAP $$"))
    assert "it was ended by signal 5 (SIGTRAP)" in ran.err
    ran = bench("run", "here", "--", bench.program("kill -KILL $$"))
    assert (ran.status, "it was ended by signal 9 (SIGKILL)" in ran.err) == (3, True)
    ran = bench("run", "here", "--timeout", "1", "--", bench.program("sleep 9"))
    assert (ran.status, "it did not end in time" in ran.err) == (1, True)


@pytest.mark.parametrize("seconds", ["inf", "0", "604801"])
def test_a_run_has_an_end(bench: Bench, seconds: str) -> None:
    ran = bench("run", "here", "--timeout", seconds, "--", bench.program("exit 0"))
    assert (ran.status, "Invalid value for '--timeout'" in ran.err) == (2, True)


def test_a_run_is_data_too(bench: Bench) -> None:
    ran = bench("run", "here", "--json", "--", bench.program("echo x; exit 3"))
    found = json.loads(ran.out)

    assert (ran.status, found["device"], found["rc"], found["stdout"]) == (1, "here", 3, "x\n")


def test_files_are_brought_along(bench: Bench) -> None:
    (bench.shell.folder / "data").write_text("cargo\n", encoding="utf-8")
    program = bench.program('cat data; echo "$X"')

    ran = bench("run", "pixel", "--put", "data", "--env", "X=a=b", "--", program)
    assert (ran.status, ran.out) == (0, "cargo\na=b\n")
    ran = bench("run", "pixel", "--put", "data", "--put", "./data", "--", program)
    assert (ran.status, "found a name twice in data, data, program" in ran.err) == (2, True)
