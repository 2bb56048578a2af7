"""``megtrim perf``: list, run and history."""

import json
import platform
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from megtrim.core.config.performance import PerfConfig
from megtrim.core.timing.experiment import DataType
from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import Answer, RatioResult, Reference
from megtrim.engines.load_and_run.dialects import LITE
from megtrim.engines.megengine.experiments import EXPERIMENTS
from megtrim.engines.sample import find_embedded_source
from megtrim.libs.history.folder import append_to_folder
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump
from megtrim.times.cli.list import look_around
from megtrim.times.cli.run import ask
from megtrim.times.experiments.commands import OF_FLAGS
from megtrim.times.nights.history import HistoryRun
from support.history_entries import SCENARIO, make_row, make_run
from unit.core.cli.support import Shell


@pytest.fixture
def history(shell: Shell) -> Path:
    append_to_folder(shell.folder / "perf-history", RUNS)
    return shell.folder / "perf-history"


_NOISE = 0.005 * np.random.default_rng(5).standard_normal(40)
_SLOWER = RatioResult(
    against=Reference.BASE,
    name=f"main at {19:012x}",
    stage=TimeStage.INFERENCE,
    ratio=1.1,
    lower=1.09,
    upper=1.11,
    pairs=12,
    different=Answer.YES,
    exceeds=Answer.YES,
)


def _measure(night: int) -> HistoryRun:
    row = make_row(40 * (1 + _NOISE[night]))
    if night >= 20:
        row = make_row(44 * (1 + _NOISE[night]))
    if night == 20:
        row = replace(row, ratios=(_SLOWER,), status=PerformanceStatus.REGRESSED)
    return make_run(night, [row])


RUNS = tuple(_measure(night) for night in range(40))


CONFIG = """\
version: 1
engine: {kind: sample}
toolchain: {kind: host}
models: [{name: m, file: tiny-vgg.sample, scenarios: [{name: default}]}]
"""


def test_all_experiments_without_a_configuration(shell: Shell) -> None:
    answer = shell("perf", "list").expect(0)
    for each in EXPERIMENTS:
        assert f"\n{each.name} " in f"\n{answer.out}"
    assert "needs: x86_64, a CPU with avx2, a model of float32" in answer.out
    assert "here:" not in answer.out


@pytest.mark.parametrize(
    ("name", "processes"),
    [
        ("baseline", "12"),
        ("layout-online", "8 that search, and as many of the baseline"),
        ("layout-dumped", "12 to 40, and as many of the baseline"),
    ],
)
def test_a_list_says_how_much_an_experiment_takes(shell: Shell, name: str, processes: str) -> None:
    assert f"\n    processes: {processes}\n" in shell("perf", "list", "--experiment", name).out


def test_one_experiment_as_json(shell: Shell) -> None:
    answer = shell("perf", "list", "--experiment", "nchw88", "--json")

    (found,) = json.loads(answer.out)["experiments"]
    assert found["name"] == "nchw88"
    assert found["row"] == "nchw88 优化"
    assert found["needs"]["cpu_features"] == ["avx2"]
    assert found["why_not"] == {}
    assert " ".join(found["commands"][0]) == (
        "load_and_run MODEL --cpu --enable-nchw88 --warmup-iter 1 --iter 10"
    )


def test_a_configuration_answers_for_each_experiment(shell: Shell) -> None:
    shell.sample("tiny-vgg.sample")
    shell.write("megtrim.yaml", CONFIG)
    names = ("baseline", "layout-online", "nchw44")
    options = [word for name in names for word in ("--experiment", name)]
    answer = shell("perf", "list", *options, "--json")

    found = {each["name"]: each["why_not"] for each in json.loads(answer.out)["experiments"]}
    assert found["baseline"] == {"m": None}
    unknown = "the flag --layout-transform is unknown to this engine's load_and_run"
    assert found["layout-online"] == {"m": unknown}
    assert found["nchw44"]["m"] is None or "needs aarch64 or arm" in found["nchw44"]["m"]
    assert "    here: can run\n" in shell("perf", "list", "--experiment", "baseline").out


def test_what_cannot_run_is_listed_on_demand(shell: Shell) -> None:
    shell.sample("tiny-vgg.sample")
    shell.write("megtrim.yaml", CONFIG)
    here = shell("perf", "list").out
    everything = shell("perf", "list", "--all").out
    hidden = [each.name for each in EXPERIMENTS if f"\n{each.name} " not in f"\n{here}"]

    assert "layout-online" in hidden
    assert "baseline" not in hidden
    assert here.endswith(f"\n{len(hidden)} more experiments cannot run here; --all shows why\n")
    assert all(f"\n{each.name} " in f"\n{everything}" for each in EXPERIMENTS)
    assert "--all" not in everything


def test_a_project_of_commands_has_the_baseline_alone(shell: Shell) -> None:
    """Nothing of a model, an iteration or a warm-up is said of it."""
    (shell.folder / "tool").mkdir()
    (shell.folder / "tool/CMakeLists.txt").write_text("project(tool C)\n", encoding="utf-8")
    lines = ("engine: {kind: cmake, source: tool, target: tool}", "scenarios: [{name: usual}]")
    shell.write("megtrim.yaml", "\n".join(("version: 1", "toolchain: {kind: host}", *lines, "")))
    answer = shell("perf", "list").expect(0)

    assert answer.out == (
        "baseline  each command as it is, from its start to its end\n"
        "    processes: 12, of a short command up to 120\n"
        "    here: can run\n"
        f"{len(EXPERIMENTS) - 1} more experiments cannot run here; --all shows why\n"
    )
    named = shell("perf", "list", "--experiment", "fast-run").expect(0).out
    assert named.endswith(f"    here: {OF_FLAGS}\n")


def test_a_model_that_cannot_be_read(shell: Shell) -> None:
    (shell.folder / "tiny-vgg.sample").write_bytes(b"not a model" * 20)
    shell.sample("tiny-vgg.sample.json")
    shell.write("megtrim.yaml", CONFIG.replace("file:", "strip_info: tiny-vgg.sample.json, file:"))
    answer = shell("perf", "list", "--experiment", "baseline").expect(0)
    assert "here: can run" in answer.out
    assert "the data type of m is not known: tiny-vgg.sample: " in answer.err


def test_an_experiment_or_a_configuration_that_is_not_there(shell: Shell) -> None:
    shell("perf", "list", "--experiment", "nchw45").expect(
        2, "there is no experiment 'nchw45'", "nchw44"
    )
    assert shell("perf", "list", "--config", "none.yaml").status == 2


SAMPLE = find_embedded_source()


def test_without_a_configuration_the_newest_program_is_meant() -> None:
    found = look_around(None, None)

    assert found.usual.dialect == LITE
    assert found.usual.architecture is None
    assert found.situations == {}


def test_a_configuration_says_what_each_model_computes_with(tmp_path: Path) -> None:
    text = (SAMPLE / "megtrim.yaml").read_text(encoding="utf-8")
    config = tmp_path / "megtrim.yaml"
    text = text.replace("source: .", f"source: {SAMPLE}").replace(
        "kind: auto, prefer: zig", "kind: host"
    )
    config.write_text(text.replace("models/", f"{SAMPLE}/models/"), encoding="utf-8")

    found = look_around(config, None)

    assert found.notes == ()
    assert found.usual.architecture == platform.machine()
    assert found.usual.dialect.knows("slow_down")
    assert found.situations["tiny-vgg"].data_type is DataType.FLOAT32
    assert found.situations["tiny-quant"].data_type is DataType.INT8


CONFIGURED = PerfConfig.model_validate(
    {"experiments": ["record-1"], "recipes": ["x86"], "trimming": True, "budget": {"time": "1 min"}}
)


@pytest.mark.parametrize(
    ("asked", "names", "trimming"),
    [
        (("nchw88",), ("baseline", "nchw88"), False),
        (("nchw88", "trimming"), ("baseline", "nchw88"), True),
        (("trimming",), (), True),
    ],
)
def test_options_come_before_the_configuration_which_decides_the_rest(
    asked: tuple[str, ...], names: tuple[str, ...], trimming: bool
) -> None:
    """Named experiments are all that is measured; rounds leave the rest of the budget."""
    found = ask(CONFIGURED, asked, None)

    assert (found.names, found.trimming) == (names, trimming)
    assert found.budget == CONFIGURED.budget
    assert ask(CONFIGURED, (), None) == CONFIGURED
    budget = ask(CONFIGURED, (), 12).contest_budget
    assert (budget.rounds, budget.limit_s) == (12, 60.0)


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(InputError, match="there is no experiment 'nchw'"):
        ask(CONFIGURED, ("trimming", "nchw"), None)


def test_a_history_shows_its_changes(shell: Shell, history: Path) -> None:
    answer = shell("perf", "history").expect(0)
    assert "1 change in 40 nights, 1 of them compared" in answer.out
    slower = "slower than main at 000000000013, ratio 1.100 (1.090 to 1.110)"
    assert f"    2026-01-21 at 000000000000: {slower}\n" in answer.out
    (series,) = json.loads(shell("perf", "history", "--json").out)["series"]
    assert int(series["changes"][0]["point"]["commit"], 16) == 20


def test_since_and_scenario_narrow_a_history(shell: Shell, history: Path) -> None:
    shown = shell("perf", "history", "--since", "2026-01-28", "--scenario", SCENARIO).out

    assert "13 runs, 1 series" in shown
    assert "0 changes in 13 nights, 0 of them compared" in shown
    assert "0 series" in shell("perf", "history", "--scenario", "other").out


def test_a_damaged_file_is_named(shell: Shell, history: Path) -> None:
    (history / RUNS[3].path).write_text("{\n", encoding="utf-8")

    answer = shell("perf", "history").expect(0)
    assert "39 runs" in answer.out
    assert f"left out: {RUNS[3].path}:2:" in answer.err


def test_runs_are_appended_once(shell: Shell) -> None:
    shell.write("run.json", dump(RUNS[0]))

    first, again = (shell("perf", "append", "run.json") for _ in range(2))

    assert (first.status, first.out) == (0, f"{RUNS[0].path} in perf-history\n")
    assert again == first
    assert (shell.folder / "perf-history" / RUNS[0].path).is_file()


def test_a_damaged_run_is_not_appended(shell: Shell) -> None:
    shell.write("good.json", dump(RUNS[0]))
    shell.write("bad.json", "{")

    assert shell("perf", "append", "good.json", "bad.json").status == 2
    assert not (shell.folder / "perf-history").exists()


def test_two_commits_are_compared(shell: Shell, history: Path) -> None:
    before = RUNS[10].commit.sha
    after = RUNS[30].commit.sha

    assert " to " in shell("perf", "compare", before, after).expect(0).out
    found = json.loads(shell("perf", "compare", before, after, "--json").out)
    (ratio,) = found["rows"][0]["ratios"]
    assert ratio["ratio"] == pytest.approx(1.1, abs=0.02)
    assert ratio["lower"] > 1


def test_files_folders_and_runs_are_sides_too(shell: Shell, history: Path) -> None:
    shell.write("run.json", dump(RUNS[39]))
    sides = ("run.json", "perf-history", RUNS[39].id)

    assert len({shell("perf", "compare", RUNS[0].id, side, "--json").out for side in sides}) == 1


@pytest.mark.parametrize("side", ["0" * 38, "abcdef1", "nowhere", "0"])
def test_a_side_that_is_none_or_many_is_refused(shell: Shell, history: Path, side: str) -> None:
    shell("perf", "compare", side, RUNS[0].id).expect(2, side)
