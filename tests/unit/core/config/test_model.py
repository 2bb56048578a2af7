from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.build_spec import Switch, Variant
from megtrim.core.config.limits import Budget
from megtrim.core.config.model import Config, switched_off
from megtrim.core.config.performance import PerfConfig
from megtrim.core.config.problems import ConfigError
from megtrim.core.config.units import GrowthLimit
from megtrim.core.timing.catalogue import list_experiments
from megtrim.core.timing.spec import ContestBudget, Criterion
from megtrim.libs.programs.parity import Tolerance
from unit.core.config.support import ENGINE, MODEL, SMALL, load


def test_a_small_configuration_means_the_recipe(tmp_path: Path) -> None:
    scenario = {"name": "s", "classes": ("any",), "tolerance": 0.0, "relative_tolerance": 0.0}

    assert load(tmp_path, SMALL).config.model_dump(exclude_defaults=True) == {
        "version": 1,
        "engine": {"kind": "sample"},
        "devices": ({"name": "auto", "class_": "any"},),
        "models": ({"name": "m", "file": Path("m.mge"), "scenarios": (scenario,)},),
        "artifacts": ("load_and_run",),
    }


FULL = """\
version: 1
engine:
  kind: sample
  source: engine
  target: runner
  cmake: {MGE_WITH_TEST: false, JOBS: 3, EXTRA: "1.0"}
toolchain: {kind: zig, jobs: 2}
trim:
  layout: upstream
  minimum_size: false
  means: {unwind_tables: true, small_code: Os, lto: full, fold: none}
classes:
  - {name: a53, qemu_cpu: cortex-a53}
  - {name: a76, qemu_cpu: "cortex-a76,sve=off"}
devices:
  - {name: q, kind: qemu, class: a53, sysroot: /usr/aarch64-linux-gnu}
  - {name: l, kind: local, class: a76, runner: true}
models:
  - name: m
    file: m.mge
    strip_info: m.mge
    scenarios:
      - name: s
        args: [--cpu, --iter, 2, "0.10"]
        inputs: {"h2d[0]": m.mge}
        classes: [a76]
        threads: 4
        fast_run: true
        algo_cache: m.mge
        timeout: 2 minutes
keep_set: keep.json
verify: {tolerance: 0.5, max_age: 3 days}
artifacts: [runner, lib.so]
budgets:
  - {artifact: lib.so, variant: profile, max: 2.5 MiB, growth: 0}
waivers:
  - {budget: lib.so/profile, bytes: 64 KiB, reason: new model, owner: me, expires: 2099-12-31}
baseline: sizes.json
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    config = load(tmp_path, FULL).config
    scenario = config.models[0].scenarios[0]

    assert config.engine.cmake == {"MGE_WITH_TEST": False, "JOBS": 3, "EXTRA": "1.0"}
    assert (config.engine.source, config.engine.target) == (Path("engine"), "runner")
    assert (config.toolchain.kind, config.toolchain.jobs) == ("zig", 2)
    assert (config.trim.layout, config.trim.minimum_size) == ("upstream", False)
    assert config.trim.means.model_dump(exclude_none=True) == {
        "unwind_tables": True,
        "small_code": "Os",
        "lto": "full",
        "fold": "none",
    }
    assert config.classes[1].qemu_cpu == "cortex-a76,sve=off"
    assert [each.class_ for each in config.devices] == ["a53", "a76"]
    assert [each.runner for each in config.devices] == [False, True]
    assert config.devices[0].sysroot == Path("/usr/aarch64-linux-gnu")
    assert config.models[0].strip_info == (Path("m.mge"),)
    assert scenario.args == ("--cpu", "--iter", "2", "0.10")
    assert scenario.inputs == {"h2d[0]": Path("m.mge")}
    assert (scenario.classes, scenario.threads, scenario.fast_run) == (("a76",), 4, True)
    assert (scenario.algo_cache, scenario.timeout_s) == (Path("m.mge"), 120.0)
    assert (config.verify.tolerance, config.verify.max_age_s) == (0.5, 259_200.0)
    assert config.artifacts == ("runner", "lib.so")
    assert config.budgets[0].max_size == GrowthLimit(size_bytes=2_621_440)
    assert config.budgets[0].growth == GrowthLimit()
    assert (config.budgets[0].variant, config.waivers[0].extra_bytes) == (Variant.PROFILE, 65_536)
    assert config.waivers[0].expires == date(2099, 12, 31)
    assert (config.keep_set, config.baseline) == (Path("keep.json"), Path("sizes.json"))


@pytest.mark.parametrize(
    ("verify", "scenario", "expected"),
    [
        ("{}", "", Tolerance()),
        (
            "{tolerance: 1e-5, relative_tolerance: 2E-3}",
            "",
            Tolerance(absolute=1e-5, relative=0.002),
        ),
        ("{tolerance: 1}", "tolerance: 0.5", Tolerance(absolute=0.5)),
        ("{tolerance: 1}", "tolerance: 0", Tolerance()),
        ("{tolerance: 1}", "relative_tolerance: '1e-3'", Tolerance(absolute=1.0, relative=0.001)),
        ("{relative_tolerance: 0.5}", "relative_tolerance: 0.0", Tolerance()),
    ],
)
def test_a_scenario_may_have_tolerances_of_its_own(
    tmp_path: Path, verify: str, scenario: str, expected: Tolerance
) -> None:
    own = f"        {scenario}\n" if scenario else ""
    (model,) = load(tmp_path, f"{SMALL}{own}verify: {verify}\n").config.models

    assert model.scenarios[0].allowed == expected


@pytest.mark.parametrize("written", ["region", "reduced"])
def test_the_build_to_start_from_has_an_older_name(tmp_path: Path, written: str) -> None:
    trim = f"trim: {{level: function, base: {written}}}\n"

    assert load(tmp_path, f"{SMALL}{trim}").config.trim.base == "region"


def test_what_was_left_out_follows_what_was_written(tmp_path: Path) -> None:
    engine = "version: 1\nengine: {kind: sample, target: runner}\n"
    config = load(tmp_path, f"{engine}classes: [{{name: old}}, {{name: new}}]\n{MODEL}").config

    assert config.models[0].scenarios[0].classes == ("old", "new")
    devices = [(each.name, each.class_) for each in config.devices]
    assert devices == [("auto-old", "old"), ("auto-new", "new")]
    assert config.artifacts == ("runner",)


RTTI, LOGGING, EXCEPTIONS, FLATBUFFERS = Switch


def switched(trim: str, cmake: str = "{}") -> str:
    return f"version: 1\nengine: {{kind: sample, cmake: {cmake}}}\ntrim:\n{trim}{MODEL}"


@pytest.mark.parametrize(
    ("trim", "off"),
    [
        ("  level: region\n", (RTTI, LOGGING, EXCEPTIONS)), ("  minimum_size: false\n", ()),
        ("  minimum_size: false\n  switches: {logging: false}\n", (LOGGING,)),
        (
            "  minimum_size: false\n  switches: {exceptions: false, rtti: false}\n",
            (RTTI, EXCEPTIONS),
        ),
        ("  minimum_size: false\n  switches: {rtti: true, logging: false}\n", (LOGGING,)),
        ("  switches: {flatbuffers: false}\n", (RTTI, LOGGING, EXCEPTIONS, FLATBUFFERS)),
        ("  switches: {flatbuffers: true, rtti: false}\n", (RTTI, LOGGING, EXCEPTIONS)),
        ("  switches:\n", (RTTI, LOGGING, EXCEPTIONS)),
    ],
)  # fmt: skip
def test_what_is_off(tmp_path: Path, trim: str, off: tuple[Switch, ...]) -> None:
    assert switched_off(load(tmp_path, switched(trim)).config.trim) == off


def test_options_of_cmake_are_not_set_twice_and_left_alone(tmp_path: Path) -> None:
    """It overrides all others: the switch would have no effect."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, switched("  switches: {flatbuffers: false}\n", "{MGE_ENABLE_RTTI: false}"))

    assert str(caught.value).endswith(
        "megtrim.yaml:2: engine.cmake.MGE_ENABLE_RTTI: found MGE_ENABLE_RTTI together with "
        "trim.switches, expected only the keys of trim"
    )
    config = load(tmp_path, switched("  level: region\n", "{MGE_ENABLE_RTTI: false}")).config

    assert config.engine.cmake == {"MGE_ENABLE_RTTI": False}


APPLICATIONS = """\
applications:
  - {name: classify, source: app}
  - {name: served, source: app, library: shared, lto: full}
  - {name: intree}
"""
OWN = """\
models:
  - name: m
    file: m.mge
    scenarios:
      - {name: s, application: classify, args: [--model, "{model}"]}
"""
BOTH = OWN + "      - {name: t}\n"


def load_applications(folder: Path, text: str) -> Config:
    (folder / "app").mkdir(exist_ok=True)
    (folder / "app/CMakeLists.txt").write_text("project(x)\n", encoding="utf-8")
    return load(folder, ENGINE + text).config


def test_what_is_left_out_is_the_recipe(tmp_path: Path) -> None:
    config = load_applications(tmp_path, APPLICATIONS + MODEL)
    found = config.applications

    plain = {"source": Path("app"), "library": "static", "cmake": {}, "lto": "none"}
    assert [each.model_dump() for each in found] == [
        {"name": "classify", **plain},
        {**plain, "name": "served", "library": "shared", "lto": "full"},
        {**plain, "name": "intree", "source": None},
    ]
    assert config.application("served") == found[1]
    assert config.application("load_and_run") is config.application(None) is None
    assert [each.is_shared for each in found] == [False, True, False]


@pytest.mark.parametrize(
    ("models", "measured"),
    [
        (MODEL, ("load_and_run", "classify", "served", "intree")),
        (BOTH, ("load_and_run", "classify", "served", "intree")),
        (OWN, ("classify", "served", "intree")),
    ],
)
def test_what_runs_is_measured(tmp_path: Path, models: str, measured: tuple[str, ...]) -> None:
    assert load_applications(tmp_path, APPLICATIONS + models).artifacts == measured


def test_a_run_and_a_budget_may_be_an_applications(tmp_path: Path) -> None:
    text = APPLICATIONS + BOTH + "budgets:\n  - {artifact: classify, max: 1 MiB}\n"
    found = load_applications(tmp_path, text)
    one, two = found.models[0].scenarios

    assert (one.application, one.command) == ("classify", ("classify", "--model", "{model}"))
    assert (two.application, two.command) == (None, ("--cpu",))
    assert str(found.budgets[0].max_size) == "1048576 B"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, "load_and_run"),
        ({"variant": "plain"}, "load_and_run/plain"),
        ({"size": "loaded"}, "load_and_run loaded"),
        ({"section": ".text", "variant": "plain"}, "load_and_run/plain section .text"),
        ({"component": "kernels/x86"}, "load_and_run component kernels/x86"),
        ({"model": "resnet50"}, "load_and_run model resnet50"),
    ],
)
def test_the_name_of_a_budget(keys: dict[str, str], expected: str) -> None:
    assert Budget.model_validate({"artifact": "load_and_run", "max": 1, **keys}).id == expected


def test_without_the_key_everything_is_measured(tmp_path: Path) -> None:
    perf = load(tmp_path, SMALL).config.perf

    assert perf.names == tuple(each.name for each in list_experiments())
    assert perf.criterion == Criterion(threshold=0.01, floor_ms=0.0, other_load=0.5)
    assert perf.contest_budget == ContestBudget(rounds=40, limit_s=None)
    assert not perf.trimming
    assert perf.inconclusive == "fail"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"experiments": ["record-1", "fast-run"]}, ("baseline", "fast-run", "record-1")),
        ({"recipes": ["arm"]}, ("baseline", "recipe-arm")),
        ({"experiments": ["nchw88"], "recipes": ["x86"]}, ("baseline", "nchw88", "recipe-x86")),
        ({"experiments": []}, ()),
        ({"experiments": ["baseline"]}, ("baseline",)),
    ],
)
def test_all_are_compared_with_the_baseline(asked: dict[str, Any], names: tuple[str, ...]) -> None:
    assert PerfConfig.model_validate(asked).names == names


def test_every_key_of_perf_is_read(tmp_path: Path) -> None:
    text = (
        "perf: {experiments: [nchw88], scenarios: [m/s], classes: [any], trimming: true, "
        "budget: {rounds: 24, time: 10 min}, threshold: 2.5%, floor: 50 us, other_load: 25%, "
        "history: {branch: perf/history}, inconclusive: warn}\n"
    )
    perf = load(tmp_path, SMALL + text).config.perf

    assert perf.criterion == Criterion(threshold=0.025, floor_ms=0.05, other_load=0.25)
    assert perf.contest_budget == ContestBudget(rounds=24, limit_s=600.0)
    assert perf.history.branch == "perf/history"
    assert perf.history.folder is None
    assert (perf.scenarios, perf.classes, perf.inconclusive) == (("m/s",), ("any",), "warn")
