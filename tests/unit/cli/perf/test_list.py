"""``megtrim perf list`` with a configuration and without one."""

import json
import platform
from pathlib import Path

import pytest

from megtrim.build.engines.sample import find_embedded_source
from megtrim.cli.perf.list import look_around
from megtrim.experiments.experiment import DataType
from megtrim.experiments.table import EXPERIMENTS
from megtrim.load_and_run.dialects import LITE
from unit.cli.support import Shell

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
    answer = shell("perf", "list", "--experiment", name)

    assert f"\n    processes: {processes}\n" in answer.out


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
    (shell.folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    names = ("baseline", "layout-online", "nchw44")
    options = [word for name in names for word in ("--experiment", name)]
    answer = shell("perf", "list", *options, "--json")

    found = {each["name"]: each["why_not"] for each in json.loads(answer.out)["experiments"]}
    assert found["baseline"] == {"m": None}
    unknown = "the flag --layout-transform is unknown to this engine's load_and_run"
    assert found["layout-online"] == {"m": unknown}
    assert found["nchw44"]["m"] is None or "needs aarch64 or arm" in found["nchw44"]["m"]
    assert "    here: can run\n" in shell("perf", "list", "--experiment", "baseline").out


def test_a_model_that_cannot_be_read(shell: Shell) -> None:
    (shell.folder / "tiny-vgg.sample").write_bytes(b"not a model" * 20)
    shell.sample("tiny-vgg.sample.json")
    text = CONFIG.replace("file:", "strip_info: tiny-vgg.sample.json, file:")
    (shell.folder / "megtrim.yaml").write_text(text, encoding="utf-8")
    answer = shell("perf", "list", "--experiment", "baseline").expect(0)
    assert "here: can run" in answer.out
    assert "the data type of m is not known: tiny-vgg.sample: " in answer.err


def test_an_unknown_experiment(shell: Shell) -> None:
    shell("perf", "list", "--experiment", "nchw45").expect(
        2, "there is no experiment 'nchw45'", "nchw44"
    )


def test_a_configuration_that_is_not_there(shell: Shell) -> None:
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
    text = text.replace("source: .", f"source: {SAMPLE}").replace("kind: auto", "kind: host")
    config.write_text(text.replace("models/", f"{SAMPLE}/models/"), encoding="utf-8")

    found = look_around(config, None)

    assert found.notes == ()
    assert found.usual.architecture == platform.machine()
    assert found.usual.dialect.knows("slow_down")
    assert found.situations["tiny-vgg"].data_type is DataType.FLOAT32
    assert found.situations["tiny-quant"].data_type is DataType.INT8
