"""What the verb refuses, and how it keeps a winner."""

from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from click.testing import CliRunner

from megtrim.cli.perf.tune import describe_search, keep_winner, tune_flags
from megtrim.experiments.contest import PerformanceStatus
from megtrim.perf.tuning import TunedScenario
from megtrim.util.errors import InputError
from unit.perf.test_tuning import CONFIG, search, write_config

CACHE = PurePosixPath("megtrim/tuned/net-fast.algo.cache")
TUNED = TunedScenario(
    sibling=("models", 0, "scenarios", 0),
    item={"name": "fast"},
    dumped_model=None,
    algo_cache=CACHE,
)


NOTHING = (None, None)


def test_a_search_is_described() -> None:
    failed = PerformanceStatus.FAILED
    ratios = {"nchw88": 0.5, "record-1": 0.8, "fast-run-cache": failed}
    found = describe_search("net/default@any", replace(search(ratios), skipped=("recipe-x86",)))

    assert [*found] == [
        "net/default@any: 3 experiments",
        "  12 pairs of processes at most",
        "    nchw88: 0.500 (0.495 to 0.505) of the baseline's time, 12 pairs; different: yes",
        "    record-1: 0.800 (0.792 to 0.808) of the baseline's time, 12 pairs; different: yes",
        "    fast-run-cache: x",
        "  not measured, for the budget ended: recipe-x86",
        "winner: nchw88",
        "  step: run the model with --enable-nchw88; measured",
        "  once more: 0.500 (0.495 to 0.505) of the baseline's time, 40 pairs; different: yes",
    ]
    slower = [*describe_search("net/default@any", search({"nchw88": 1.5}))]
    assert slower[3:5] == ["no experiment is surely faster than the baseline", "fastest: nchw88"]


@pytest.mark.parametrize("text", ["soon", "9 moons", "-1 min"])
def test_a_budget_is_a_duration(text: str) -> None:
    done = CliRunner().invoke(tune_flags, ["net/default", "--budget", text])
    assert done.exit_code == 2
    assert "a duration such as" in done.output


def test_a_cache_is_there_before_the_file_that_names_it(tmp_path: Path) -> None:
    write_config(tmp_path)
    file = tmp_path / "megtrim.yaml"
    edited = f"{CONFIG}      - {{name: fast, fast_run: true, algo_cache: {CACHE}}}\n"
    keep_winner(file, (file, edited.encode()), TUNED, (None, b"found"))
    assert file.read_text("utf-8") == edited
    assert (tmp_path / CACHE).read_bytes() == b"found"


def test_one_of_several_toolchains_keeps_its_winner(tmp_path: Path) -> None:
    write_config(tmp_path)
    several = "toolchains: [{name: phone, kind: zig}, {name: desk, kind: host}]\nmodels:"
    before = CONFIG.replace("models:", several)
    file = tmp_path / "megtrim.yaml"
    file.write_text(before, encoding="utf-8")
    edited = f"{before}      - {{name: fast, args: [--cpu], toolchains: [desk]}}\n"
    tuned = replace(TUNED, algo_cache=None)
    chosen = tmp_path / "megtrim.yaml#desk"
    keep_winner(chosen, (file, edited.encode()), tuned, NOTHING)
    assert file.read_text("utf-8") == edited


def test_a_file_that_would_not_be_valid_stays_as_it_was(tmp_path: Path) -> None:
    write_config(tmp_path)
    file = tmp_path / "megtrim.yaml"
    wrong = f"{CONFIG}      - {{name: fast, arg: [--cpu]}}\n"
    with pytest.raises(InputError, match="arg"):
        keep_winner(file, (file, wrong.encode()), TUNED, NOTHING)
    assert file.read_text("utf-8") == CONFIG


def test_a_file_that_nothing_finds_does_not_stay(tmp_path: Path) -> None:
    write_config(tmp_path)
    lost = tmp_path / "fast.yaml"
    with pytest.raises(InputError, match="the pattern that finds its siblings"):
        keep_winner(tmp_path / "megtrim.yaml", (lost, b"name: fast\n"), TUNED, NOTHING)
    assert not lost.exists()
