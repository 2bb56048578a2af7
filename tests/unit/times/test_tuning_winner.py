from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import Answer, StageTime
from megtrim.engines.megengine.experiments import find_experiments
from megtrim.engines.megengine.load_and_run.arguments import Flag
from megtrim.engines.megengine.load_and_run.dialects import LITE, SDK
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.times.experiments.commands import Situation
from megtrim.times.tuning_winner import (
    Heat,
    Search,
    TunedScenario,
    add,
    expect_free,
    find_fastest,
    list_candidates,
    make_tuned,
)
from unit.core.verdict.performance_examples import ratio as make_ratio

TIME = StageTime(
    stage=TimeStage.INFERENCE, median_ms=1, lower_ms=1, upper_ms=1, processes=9, spread=0
)


def heat(name: str, rounds: int, status: PerformanceStatus, **more: Any) -> Heat:
    where: Any = {"scenario": "m/s", "cpu_class": "any", "experiment": name}
    return Heat(**where, rounds=rounds, status=status, **more)


def hold(ratios: Mapping[str, object], name: str, rounds: int | None) -> Heat:
    found = ratios[name]
    rounds = rounds or 40
    if isinstance(found, PerformanceStatus):
        return heat(name, rounds, found, reason="x")
    assert isinstance(found, float)
    different = Answer.YES if abs(found - 1) > 0.02 else Answer.INCONCLUSIVE
    ratio = make_ratio(found, different=different, exceeds=Answer.INCONCLUSIVE)
    ratio = replace(ratio, lower=found * 0.99, upper=found * 1.01, pairs=rounds)
    return heat(name, rounds, PerformanceStatus.INCONCLUSIVE, times=(TIME,), ratios=(ratio,))


def search(ratios: Mapping[str, object], contests: int = 99) -> Search:
    count = iter(range(contests))
    return find_fastest(
        [*ratios],
        lambda name, rounds: hold(ratios, name, rounds),
        goes_on=lambda: next(count, None) is not None,
    )


@pytest.mark.parametrize(
    ("ratios", "winner", "held"),
    [
        (
            {"a": 0.9, "b": 0.7, "c": 1.2, "d": 0.8, "e": 0.6},
            "e",
            ["a12", "b12", "c12", "d12", "e12", "e16", "b16", "d16", "e24", "b24", "e40"],
        ),
        ({"a": 0.9, "b": 0.8}, "b", ["a12", "b12", "b40"]),
        ({"a": 0.9}, "a", ["a12", "a40"]),
        ({"a": 0.99, "b": 1.3}, "", ["a12", "b12", "a40"]),
        ({"a": 1.1, "b": 1.2}, "", ["a12", "b12", "a40"]),
        ({"a": PerformanceStatus.WRONG_OUTPUTS, "b": 0.9}, "b", ["a12", "b12", "b40"]),
    ],
)
def test_the_faster_go_on(ratios: Mapping[str, object], winner: str, held: list[str]) -> None:
    found = search(ratios)

    assert [f"{each.experiment}{each.rounds}" for each in found.heats] == held
    assert (found.winner, found.skipped) == (winner, ())
    # A budget ends a search.
    short = search({"a": 0.9, "b": 0.8, "c": 0.7}, contests=2)
    assert (short.skipped, short.winner) == (("c",), "b")


@pytest.mark.parametrize(
    ("ratios", "contests", "error", "message"),
    [
        ({"a": 0.9}, 0, InputError, "the budget ended before any comparison"),
        ({"a": PerformanceStatus.FAILED}, 9, ProductFailure, "no winner: a: x"),
        ({"a": PerformanceStatus.INFRASTRUCTURE}, 9, InfrastructureFailure, "no winner: a: x"),
        (
            {"a": PerformanceStatus.INFRASTRUCTURE, "b": PerformanceStatus.WRONG_OUTPUTS},
            9,
            ProductFailure,
            "no winner: b: x",
        ),
    ],
)
def test_no_winner_is_made_up(
    ratios: Mapping[str, object], contests: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        search(ratios, contests)


def test_who_takes_part() -> None:
    """What can run; not what searches in each process, nor what shortens a warm-up alone."""
    names = [each.name for each in list_candidates(Situation(dialect=LITE, architecture="x86_64"))]

    assert {"fast-run-cache", "nchw88", "layout-dumped", "recipe-x86", "record-1"} <= {*names}
    assert not {"baseline", "fast-run", "full-run", "layout-online", "nchw44"} & {*names}
    assert not any(name.startswith("fake-first") for name in names)
    old = list_candidates(Situation(dialect=SDK, architecture="aarch64"))
    assert "nchw44" in [each.name for each in old]


OWN = (Flag("cpu", None), Flag("iter", "3"), Flag("const_shape", None))
CONFIG = """\
version: 1
engine: {kind: sample}
models:
  - name: net
    file: net.mge
    scenarios:
      # as we ship it
      - {name: default, args: [--cpu, --iter, 3], inputs: {data: in.npy}}
"""


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedConfig:
    return write_config(tmp_path)


def write_config(folder: Path) -> LoadedConfig:
    for name in ("net.mge", "in.npy"):
        (folder / name).write_bytes(b"")
    (folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    return load_config(folder / "megtrim.yaml")


def get_scenario(loaded: LoadedConfig) -> Scenario:
    (scenario,) = all_scenarios(loaded.config)
    return scenario


def make(loaded: LoadedConfig, winner: str, toolchain: str = "") -> TunedScenario:
    (found,) = find_experiments([winner])
    situation = Situation(dialect=LITE, architecture="x86_64")
    return make_tuned(
        found, get_scenario(loaded), situation, OWN, loaded, "fast", toolchain=toolchain
    )


ARGS = ["--const-shape", "--iter", "3"]
INPUTS = {"inputs": {"data": "in.npy"}}
PLAIN = {"name": "fast", "args": ["--cpu", *ARGS]}
TUNED = "megtrim/tuned"
CACHE = {"fast_run": True, "algo_cache": f"{TUNED}/net-fast.algo.cache"}
RECIPE = {**PLAIN, "args": ["--cpu", "--weight-preprocess", *ARGS], **CACHE, **INPUTS}


@pytest.mark.parametrize(
    ("winner", "toolchain", "expected"),
    [
        ("nchw88", "", {"name": "fast", "args": ["--cpu", "--enable-nchw88", *ARGS], **INPUTS}),
        # The search is not repeated: what it found is kept next to the configuration.
        (
            "fast-run-cache",
            "",
            {**PLAIN, **CACHE, **INPUTS},
        ),
        # What another toolchain compiles has other flags, and files of its own.
        (
            "fast-run-cache",
            "phone",
            {**PLAIN, **CACHE, "algo_cache": f"{TUNED}/phone/net-fast.algo.cache", **INPUTS}
            | {"toolchains": ["phone"]},
        ),
        # A dumped model is a model of its own, without the operator JSON of another file.
        (
            "layout-dumped",
            "desk",
            {
                "name": "net-fast",
                "file": f"{TUNED}/desk/net-fast.mge",
                "scenarios": [{**PLAIN, **INPUTS, "toolchains": ["desk"]}],
            },
        ),
        # fake-first changes the first warm-up alone, and a scenario's outputs are dumped.
        (
            "recipe-x86",
            "",
            {"name": "net-fast", "file": f"{TUNED}/net-fast.mge", "scenarios": [RECIPE]},
        ),
    ],
)
def test_flags_become_a_scenario(
    loaded: LoadedConfig, winner: str, toolchain: str, expected: dict[str, object]
) -> None:
    tuned = make(loaded, winner, toolchain)

    assert dict(tuned.item) == expected
    file, raw = add(loaded, tuned)
    models = yaml.safe_load(raw)["models"]
    grown = models if "file" in expected else models[0]["scenarios"]
    assert (file.name, [each["name"] for each in grown][1:]) == ("megtrim.yaml", [expected["name"]])
    assert grown[1] == expected


def test_a_name_that_is_taken_is_refused_first(loaded: LoadedConfig) -> None:
    expect_free(loaded, get_scenario(loaded), "fast")
    with pytest.raises(InputError, match="has a scenario default already"):
        expect_free(loaded, get_scenario(loaded), "default")
    flow = CONFIG.replace("    scenarios:\n", "    scenarios: [{name: default}]\n", 1)
    loaded.path.write_text(flow[: flow.index("      # as we")], encoding="utf-8")
    with pytest.raises(InputError, match="not a list with one dash a line"):
        expect_free(loaded, get_scenario(loaded), "fast")


def test_where_scenarios_are_files_the_winner_is_one(loaded: LoadedConfig) -> None:
    before, _, scenario = CONFIG.partition("    scenarios:\n")
    items = loaded.folder / "net"
    items.mkdir()
    lines = (line.strip().removeprefix("- ") for line in scenario.splitlines())
    (items / "default.yaml").write_text("\n".join(lines), encoding="utf-8")
    loaded.path.write_text(f"{before}    scenarios: net/*.yaml\n", encoding="utf-8")
    apart = load_config(loaded.path)

    file, content = add(apart, make(apart, "nchw88"))

    assert file == items / "fast.yaml"
    assert yaml.safe_load(content)["name"] == "fast"
    assert yaml.safe_load(content)["inputs"] == {"data": "in.npy"}
    file.touch()
    with pytest.raises(InputError, match=r"fast\.yaml exists already"):
        expect_free(apart, get_scenario(apart), "fast")


def test_nothing_is_added_to_what_is_shared(loaded: LoadedConfig) -> None:
    folder = loaded.folder / "linux"
    folder.mkdir()
    (model,) = yaml.safe_load(CONFIG)["models"]
    (loaded.folder / "net.yaml").write_text(yaml.safe_dump(model), encoding="utf-8")
    main = loaded.path.read_text(encoding="utf-8").partition("models:")[0]
    (folder / "megtrim.yaml").write_text(f"{main}models: ../net*.yaml\n", encoding="utf-8")

    shared = load_config(folder / "megtrim.yaml")
    with pytest.raises(InputError, match=r"net\.yaml: other configurations may use this file"):
        expect_free(shared, get_scenario(shared), "fast")
