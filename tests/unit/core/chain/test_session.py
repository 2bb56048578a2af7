"""What a stage works with, and why a task would run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.chain.graph import PLAIN, PROFILE
from megtrim.core.chain.session import (
    DurationLog,
    TaskResults,
    binary,
    binary_digest,
    open_durations,
    scenario_inputs,
)
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.stages import reason
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import sha256_file
from unit.core.trim.stages.built import built, finish
from unit.core.trim.stages.support import open_session


def test_paths_of_the_configuration_are_relative_to_its_file(tmp_path: Path) -> None:
    session, _ = open_session(tmp_path)

    assert session.request.path(Path("m.mge")) == tmp_path / "m.mge"
    assert session.request.path(Path("/m.mge")) == Path("/m.mge")


def test_a_scenario_has_the_device_of_its_class(tmp_path: Path) -> None:
    session = built(tmp_path)
    here, big, *_ = all_scenarios(session.config)

    assert session.services.device(here).name == "here"
    assert session.services.device(big).name == "emulated"
    with pytest.raises(InputError, match="no device represents CPU class any"):
        replace(session.services, devices={}).device(here)


def test_a_program_of_a_build_has_a_path_and_a_digest(tmp_path: Path) -> None:
    folder = built(tmp_path).results.done[PLAIN]

    assert binary(folder, "load_and_run") == folder.path / "bin" / "load_and_run"
    assert binary_digest(folder, "load_and_run") == sha256_file(binary(folder, "load_and_run"))


def test_what_is_not_there_yet_is_made_on_demand(tmp_path: Path) -> None:
    session, _ = open_session(tmp_path)
    made: list[str] = []

    def make(task: str) -> None:
        made.append(task)

    folder = finish(session, PLAIN, {"f": "x"})
    results = TaskResults(done={PLAIN: folder}, make=make)

    assert results.obtain(PLAIN) is folder
    assert results.obtain(PROFILE) is None
    assert made == [PROFILE]
    assert TaskResults(done={PLAIN: folder}).obtain(PROFILE) is None


def test_inputs_of_a_scenario_bind_all_that_its_run_depends_on(tmp_path: Path) -> None:
    session = built(tmp_path)
    scenario = next(all_scenarios(session.config))
    before = scenario_inputs(scenario, session)

    assert before == {
        "model": sha256_file(tmp_path / "m.mge"),
        "arguments": "--cpu",
        "threads": "2",
        "timeout": "90.0",
        "input data": f"{sha256_file(tmp_path / 'd.npy')} .npy",
        "device kind": "fake",
    }
    (tmp_path / "d.npy").write_bytes(b"other numbers")
    after = scenario_inputs(scenario, session)
    assert {label for label in before if before[label] != after[label]} == {"input data"}
    searched = scenario.settings.model_copy(update={"algo_cache": Path("d.npy")})
    cached = scenario_inputs(replace(scenario, settings=searched), session)
    assert cached["algorithm cache"] == sha256_file(tmp_path / "d.npy")


def test_what_each_task_took_last_is_summed_up(tmp_path: Path) -> None:
    log = DurationLog(tmp_path / "d.json", "sample zig 2")
    for task, time_s in (("build/plain", 100), ("build/plain", 61), ("verify/m", 2)):
        log.add(task, time_s)

    reason = "when these tasks were last done on this machine"
    assert log.describe(["build/plain", "verify/m"]) == f"1 min 3 s {reason}"
    assert log.describe(["verify/m"]) == f"2 s {reason}"
    assert log.describe(["verify/m", "verify/new"]) == log.describe([]) == ""
    assert DurationLog(tmp_path / "d.json", "sample zig 4").describe(["verify/m"]) == ""


def test_a_file_that_cannot_be_used_counts_as_none(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    for text in ("", "{}", "[1]", '{"s a": "x"}', '{"s a": NaN}', "\0"):
        file.write_text(text, encoding="utf-8")
        log = DurationLog(file, "s")
        assert log.describe(["a"]) == ""
        log.add("a", 1)
        assert log.describe(["a"])
    file.unlink()
    file.mkdir()
    DurationLog(file, "s").add("a", 1)


def test_the_last_500_tasks_are_kept(tmp_path: Path) -> None:
    log = DurationLog(tmp_path / "d.json", "s")
    log.add("first", 1)
    document = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))
    document |= {f"s {number}": 1 for number in range(499)}
    (tmp_path / "d.json").write_text(json.dumps(document), encoding="utf-8")
    assert log.describe(["first"])

    log.add("new", 1)

    assert log.describe(["498", "new"])
    assert log.describe(["first"]) == ""


@pytest.mark.parametrize(("name", "there"), [("MEGTRIM_STATE", True), ("NONE", False)])
def test_a_user_without_a_home_has_none(tmp_path: Path, name: str, there: bool) -> None:
    log = open_durations({name: str(tmp_path)}, "s")

    assert (log is not None) is there
    if log is not None:
        log.add("a", 1)
        assert (tmp_path / "durations.json").is_file()


OLD = "0123456789abcdef" * 4
NEW = "fedcba9876543210" * 4


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        ({"a": "1"}, None, "there is no result yet"),
        ({"a": "1"}, {"a": "1"}, "its folder is incomplete: an earlier run was interrupted"),
        ({"threads": "2"}, {"threads": "1"}, "threads changed (1 → 2)"),
        ({"model": NEW}, {"model": OLD}, "model changed (01234567 → fedcba98)"),
        ({"a": "1", "input x": OLD}, {"a": "1"}, "input x is new"),
        ({"a": "1"}, {"a": "1", "input x": OLD}, "input x is gone"),
        ({"b": "2", "a": "2"}, {"a": "1", "b": "1"}, "a changed (1 → 2); b changed (1 → 2)"),
        (
            {"options": "CMAKE_BUILD_TYPE=Release LTO=OFF TESTS=OFF"},
            {"options": "CMAKE_BUILD_TYPE=Release LTO=ON TESTS=OFF"},
            "options changed (+ LTO=OFF, - LTO=ON)",
        ),
        ({"args": "--cpu --iter 5"}, {"args": "--cpu"}, "args changed (+ --iter, + 5)"),
        ({"args": "a b"}, {"args": "b a"}, "args changed (the same in another order)"),
        (
            {"flag": f"-DROOT={'/x' * 30}/new"},
            {"flag": f"-DROOT={'/x' * 30}/old"},
            f"flag changed (-DROOT={'/x' * 6}…{'/x' * 8}/old → -DROOT={'/x' * 6}…{'/x' * 8}/new)",
        ),
        (
            {"flags": f"-g -DROOT={'/x' * 30}/new"},
            {"flags": "-g"},
            "flags changed (+ -DROOT=/x/x/x/x/x/x…/x/x/x/x/x/x/x/x/new)",
        ),
        ({"keep": "a\nb"}, {"keep": "a"}, "keep changed (+ b)"),
        ({"keep": "a"}, {"keep": "a\nb"}, "keep changed (- b)"),
        ({"keep": "a\nc"}, {"keep": "a\nb"}, "keep changed (+ c, - b)"),
        ({"keep": "a\nb"}, {"keep": ""}, "keep changed (+ a, + b)"),
        ({"keep": "a\nb\nc\nd"}, {"keep": "e"}, "keep changed (+ a, + b, + c and 2 more)"),
        ({"keep": "b\na"}, {"keep": "a\nb"}, "keep changed (the same in another order)"),
        # The first three are shown, and 40 letters of each.
        (
            dict.fromkeys("edcba", "2"),
            dict.fromkeys("abcde", "1"),
            "a changed (1 → 2); b changed (1 → 2); c changed (1 → 2) and 2 more",
        ),
        ({"a": "x" * 40}, {"a": ""}, f"a changed ( → {'x' * 40})"),
        ({"a": "x" * 41}, {"a": ""}, f"a changed ( → {'x' * 19}…{'x' * 20})"),
    ],
)
def test_reason(now: dict[str, str], before: dict[str, str] | None, expected: str) -> None:
    assert reason(now, before) == expected
