"""``megtrim devices run``: a program of one's own on a device."""

from __future__ import annotations

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
    ran = bench("run", "here", "--timeout", "0.2", "--", bench.program("sleep 9"))
    assert (ran.status, "it did not end in time" in ran.err) == (1, True)


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e300", "604801"])
def test_a_run_has_an_end(bench: Bench, seconds: str) -> None:
    ran = bench("run", "here", "--timeout", seconds, "--", bench.program("exit 0"))
    assert (ran.status, "--timeout: found " in ran.err) == (2, True)


def test_samples_have_a_median(bench: Bench) -> None:
    ran = bench("run", "here", "--repeat", "3", "--", bench.program("echo x"))
    assert ran.status == 0
    assert [line.partition(":")[0] for line in ran.out.splitlines()] == [
        *("x", "sample 1", "x", "sample 2", "x", "sample 3"),
        f"median {ran.out.rpartition('median ')[2].partition(':')[0]}",
    ]
    assert ran.out.endswith(" s: 3 of 3 samples valid on here\n")
    flaky = bench.program('test -e again && exit 1; touch again; echo "$0"')
    found = json.loads(bench("run", "here", "--repeat", "3", "--json", "--", flaky).out)
    assert [each["rc"] for each in found["samples"]] == [0, 1, 1]
    assert [each["invalid"] for each in found["samples"]] == ["", *["the program failed"] * 2]
    assert found["median_s"] == found["samples"][0]["time_s"]


def test_files_are_brought_along(bench: Bench) -> None:
    (bench.shell.folder / "data").write_text("cargo\n", encoding="utf-8")
    program = bench.program('cat data; echo "$X"')

    ran = bench("run", "pixel", "--put", "data", "--env", "X=a=b", "--", program)
    assert (ran.status, ran.out) == (0, "cargo\na=b\n")
    ran = bench("run", "pixel", "--put", "data", "--put", "./data", "--", program)
    assert (ran.status, "two files of the name data" in ran.err) == (2, True)
