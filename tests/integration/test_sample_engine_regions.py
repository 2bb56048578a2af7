from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from integration.sample_builds import build, run
from megtrim.core.keep.region import Region
from megtrim.engines.load_and_run.dump import parse_dump
from megtrim.engines.midout.trace import (
    parse_announced_count,
    parse_trace,
    regions_in_binary,
)
from megtrim.libs.util.process import CompletedCommand
from unit.sample_engine.coverage_scenarios import SCENARIOS, blocked, convolutions
from unit.sample_engine.engine_scripts import ENGINE, ModelWriter, Noise

pytestmark = pytest.mark.chain


@pytest.fixture(scope="module")
def profile_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ENGINE, tmp_path_factory.mktemp("profile"), MGE_WITH_MIDOUT_PROFILE="ON")


@dataclass(frozen=True, slots=True)
class _Bench:
    program: Path
    folder: Path

    def run(
        self, model: ModelWriter, arguments: tuple[str, ...], shape: tuple[int, ...]
    ) -> CompletedCommand:
        """Run a model; ``{cache}``, ``{dump}`` and ``{data}`` stand for paths."""
        np.save(self.folder / "data.npy", Noise(5).uniform(*shape))
        (self.folder / "model.sample").write_bytes(model.model())
        places = {"cache": "cache.txt", "dump": "", "data": "data.npy"}
        paths = {key: str(self.folder / name) for key, name in places.items()}
        filled = [argument.format(**paths) for argument in arguments]
        trace = {"MIDOUT_OUTPUT": str(self.folder / "trace")}
        return run(str(self.program), str(self.folder / "model.sample"), *filled, env=trace)

    def outputs(
        self, model: ModelWriter, *arguments: str, shape: tuple[int, ...]
    ) -> list[NDArray[Any]]:
        once = ("--iter", "1", "--warmup-iter", "0")
        fed = ("--input", "data:{data}", "--bin_out_dump", "{dump}")
        for old in self.folder.glob("run0-var*"):
            old.unlink()
        ended = self.run(model, (*arguments, *once, *fed), shape)
        assert ended.ok, ended.stderr
        files = sorted(self.folder.glob("run0-var*"), key=lambda path: int(path.name[8:]))
        dumps = [parse_dump(path.read_bytes(), name=path.name, source="dump") for path in files]
        return [np.frombuffer(dump.data, "<f4").reshape(dump.shape) for dump in dumps]


@pytest.fixture
def bench(profile_build: Path, tmp_path: Path) -> _Bench:
    return _Bench(profile_build, tmp_path)


def test_every_region_is_executed_by_somerun(bench: _Bench) -> None:
    """No region is there to make a number: together, the runs need all that the binary holds."""
    held = frozenset(regions_in_binary(bench.program.read_bytes()))
    seen: set[Region] = set()
    for scenario in SCENARIOS:
        ended = bench.run(scenario.model(), scenario.arguments, scenario.input_shape)
        assert ended.ok, f"{scenario.name}: {ended.stderr}"
        trace = parse_trace((bench.folder / "trace").read_bytes(), source="trace")
        assert parse_announced_count(ended.stderr) == len({*trace.regions})
        seen.update(trace.regions)
    assert sorted(map(str, held - seen)) == []
    assert sorted(map(str, seen - held)) == []
    assert 150 <= len(held) <= 400


def test_a_convolution_is_what_its_definition_says(bench: _Bench) -> None:
    model = ModelWriter()
    noise = Noise(11)
    weights = noise.uniform(4, 3, 3, 3)
    biases = noise.uniform(4)
    image = model.input("data", (1, 3, 9, 9))
    kernel = model.weight(weights)
    bias = model.weight(biases)
    model.output(model.conv(image, kernel, bias, stride=2, pad=1, activation="RELU"))

    padded = np.pad(Noise(5).uniform(1, 3, 9, 9)[0], ((0, 0), (1, 1), (1, 1)))
    expected = np.zeros((4, 5, 5), np.float64)
    for out in range(4):
        for y in range(5):
            for x in range(5):
                window = padded[:, 2 * y : 2 * y + 3, 2 * x : 2 * x + 3]
                expected[out, y, x] = max(0.0, float(np.sum(window * weights[out])) + biases[out])

    (actual,) = bench.outputs(model, shape=(1, 3, 9, 9))
    np.testing.assert_allclose(actual[0], expected, atol=1e-5)


def test_all_convolution_algorithms_compute_the_same(bench: _Bench) -> None:
    shape = (1, 3, 16, 16)
    first = bench.outputs(convolutions(), shape=shape)
    cache = bench.folder / "cache.txt"
    recorded = ("--fast-run-algo-policy", "{cache}")
    bench.outputs(convolutions(), "--full-run", *recorded, shape=shape)
    heading, *lines = cache.read_text(encoding="utf-8").splitlines()
    keys = [line.split(" -> ")[0] for line in lines]
    for algorithm in ("NAIVE", "IM2COL_4X8", "IM2COL_8X8"):
        forced = "".join(f"{key} -> {algorithm}\n" for key in keys)
        cache.write_text(f"{heading}\n{forced}", encoding="utf-8")
        again = bench.outputs(convolutions(), *recorded, shape=shape)
        for left, right in zip(first, again, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-3)


def test_the_blocked_layout_computes_the_same(bench: _Bench) -> None:
    plain, reordered = (
        bench.outputs(blocked(), *flags, shape=(1, 4, 16, 16))
        for flags in ((), ("--enable-nchw44",))
    )
    for left, right in zip(plain, reordered, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("flags", ["--multithread 3", "--record-comp-seq", "--weight-preprocess"])
def test_how_it_runs_does_not_change_a_bit(bench: _Bench, flags: str) -> None:
    shape = (1, 3, 16, 16)
    usual = bench.outputs(convolutions(), shape=shape)
    other = bench.outputs(convolutions(), *flags.split(), shape=shape)
    assert [value.tobytes() for value in usual] == [value.tobytes() for value in other]


def test_a_damaged_model_is_refused_in_words_and_leaves_no_trace(bench: _Bench) -> None:
    damaged = bytearray((ENGINE / "models/tiny-vgg.sample").read_bytes())
    damaged[1000] ^= 1
    path = bench.folder / "damaged.sample"
    path.write_bytes(damaged)
    trace = bench.folder / "trace"
    ended = run(str(bench.program), str(path), env={"MIDOUT_OUTPUT": str(trace)})
    assert ended.rc == 134
    assert ended.stderr.splitlines()[-1] == f"ERROR: read model failed: {path} is damaged"
    assert not trace.exists()


def test_an_unknown_flag_is_refused_like_by_the_real_engine(bench: _Bench) -> None:
    ended = run(str(bench.program), "model", "--winograd-transform")
    assert (ended.rc, ended.stderr) == (
        1,
        "ERROR: unknown command line flag 'winograd-transform'\n",
    )
