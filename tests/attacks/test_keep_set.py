"""Attempts on the committed keep set: what is missing there is missing in the program."""

import os
import re
import struct
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from attacks.arena import OTHER, REGION, SCENARIO, Arena
from attacks.tampering import flip
from megtrim.engines.sample_models import parse_sample_model
from support.megtrim_cli import SAMPLE
from unit.sample_engine.engine_scripts import sample_writer, write_models

pytestmark = [pytest.mark.chain]
Weights = NDArray[np.float32]


def rewrite(arena: Arena, pattern: str, new: str) -> None:
    arena.keep.edit(lambda text: re.sub(pattern, new, text, flags=re.MULTILINE))


REFUSED = {
    "no_region_at_all": (r'^ "region .*\n', ""),
    "conflict_markers": (
        r'^( "region sample_conv.*\n)( "region sample_.*\n)',
        "<<<<<<< HEAD\n\\1=======\n\\2>>>>>>> feature\n",
    ),
    "a_scenario_that_stands_twice": (
        rf'^( "scenario {SCENARIO}".*)("threads": )\d+(.*\n)',
        "\\g<0>\\g<1>\\g<2>7\\g<3>",
    ),
    "another_generation_of_header": ('"generation": 20220507', '"generation": 20190219'),
}
RED = {"an_operator_is_absent": (r'^ "operator Pooling".*\n', "")}
ATTEMPTS = REFUSED | RED


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_attempt(arena: Arena, attempt: str) -> None:
    arena.start("honest")
    rewrite(arena, *ATTEMPTS[attempt])

    expect = arena.expect_refused if attempt in REFUSED else arena.expect_red
    expect("--committed")


def test_a_region_is_absent(arena: Arena) -> None:
    arena.start("trapping")
    arena.expect_red("--committed")
    (found,) = (each for each in arena.verdict()["scenarios"] if each["id"] == SCENARIO)

    assert (found["status"], found["missing_regions"]) == ("trap", [REGION])


def test_an_empty_file(arena: Arena) -> None:
    arena.start("honest")
    file = arena.keep.file(SCENARIO)
    file.write_bytes(b"")
    arena.expect_refused("--committed")

    assert arena.trim().rc != 0
    assert file.read_bytes() == b""


def test_a_model_that_no_one_traced(arena: Arena) -> None:
    arena.start("honest")
    config = arena.project.read()
    scenario = {"name": "default", "inputs": {"data": "engine/models/tiny-vgg.data.npy"}}
    model = {"name": "tiny-vgg", "file": "engine/models/tiny-vgg.sample"}
    config["models"].append(model | {"scenarios": [scenario]})
    arena.project.write(config)
    assert (SAMPLE / "models/tiny-vgg.sample").is_file()

    arena.expect_red("--committed")


def test_a_model_that_changed(arena: Arena) -> None:
    arena.start("honest")
    flip(arena.folder / "engine/models/tiny-mobile.sample")

    arena.expect_refused("--committed", codes=(1, 2))


def retrain(arena: Arena, change: Callable[[Weights], Weights]) -> None:
    writer = write_models.tiny_mobile()
    for at, each in enumerate(writer._operators):
        if each.weights:
            weights = change(np.frombuffer(each.weights, "<f4")).astype("<f4").tobytes()
            writer._operators[at] = replace(each, weights=weights)
    writer.write(arena.folder / "engine/models/tiny-mobile.sample")


def test_weights_that_the_trimmed_build_computes_otherwise(arena: Arena) -> None:
    arena.start("bad")
    arena.make_good()
    committed = arena.keep.texts()
    retrain(arena, lambda weights: weights[::-1])
    ended = arena.trim("--committed")

    assert (ended.rc, arena.gate()) == (0, 0), ended.stderr
    assert "its model was traced with other weights" in str(arena.verdict()["warnings"])
    assert arena.keep.texts() == committed

    arena.make_bad()
    arena.expect_red("--committed")


@pytest.mark.parametrize("number", [0.0, np.nan])
def test_weights_by_which_every_output_is_the_same(arena: Arena, number: float) -> None:
    arena.start("honest")
    retrain(arena, lambda weights: np.full_like(weights, number))

    arena.expect_red("--committed")


def change_graph(arena: Arena) -> None:
    """Let the first model take the largest of a window's numbers, in place of their mean."""
    retrain(arena, lambda weights: weights)
    file = arena.folder / "engine/models/tiny-mobile.sample"
    body = file.read_bytes()[20:]
    assert body.count(b"\7AVERAGE") == 1
    body = body.replace(b"\7AVERAGE", b"\3MAX")
    file.write_bytes(b"SAMPLENN" + struct.pack("<IQ", 1, sample_writer.fnv1a(body)) + body)


def test_another_graph_of_the_same_operators(arena: Arena) -> None:
    arena.start("honest")
    change_graph(arena)

    arena.expect_red("--committed")
    assert "the graph of the model changed" in str(arena.verdict()["scenarios"])


def test_another_graph_that_the_file_names(arena: Arena) -> None:
    arena.start("honest")
    before = arena.keep.read().scenarios[0].graph_sha256
    change_graph(arena)
    file = arena.folder / "engine/models/tiny-mobile.sample"
    now = parse_sample_model(file.read_bytes(), source="model").graph_sha256
    assert before != now
    rewrite(arena, rf'"graph_sha256": "{before}"', f'"graph_sha256": "{now}"')

    arena.expect_red("--committed")
    assert {each["status"] for each in arena.verdict()["scenarios"]} == {"pass", "trap"}


def test_users_of_a_region_are_exchanged(arena: Arena) -> None:
    arena.start("honest")
    rewrite(arena, rf'^( "region .*\[)"{SCENARIO}"\]', f'\\1"{OTHER}"]')
    arena.expect_refused("--committed")

    arena.start("honest")
    one, other = (arena.keep.file(each) for each in (SCENARIO, OTHER))
    texts = [file.read_text(encoding="utf-8") for file in (one, other)]
    for file, text in zip((other, one), texts, strict=True):
        file.write_text(text, encoding="utf-8")
    arena.expect_refused("--committed")


def test_a_stale_file_behind_a_fresh_trace(arena: Arena) -> None:
    arena.start("trapping")
    committed = arena.keep.texts()
    ended = arena.trim()

    assert arena.keep.texts() == committed
    assert (ended.rc, arena.gate()) == (1, 1)
    assert arena.stage("stage verdict").rc == 1


def test_a_trace_that_shrank(arena: Arena) -> None:
    arena.start("honest")
    file = arena.keep.file(SCENARIO)
    text = file.read_text(encoding="utf-8")
    line = f' "region aaa_gone<7>": ["{SCENARIO}"],\n'
    file.write_text(text.replace("{\n", "{\n" + line, 1), encoding="utf-8")

    assert (arena.trim().rc, arena.gate()) == (1, 1)
    assert arena.trim("--accept").rc == 0
    assert file.read_text(encoding="utf-8") == text


def test_a_function_is_absent(arena: Arena) -> None:
    arena.start("by function")
    text = "".join(arena.keep.texts().values())
    names = re.findall(r'^ "function (\S*ooling\S*)":', text, flags=re.MULTILINE)
    rewrite(arena, rf'^ "function (?:{"|".join(map(re.escape, names))})".*\n', "")

    arena.expect_red("--committed")


def test_functions_of_another_link(arena: Arena) -> None:
    arena.start("by function")
    rewrite(arena, r'"link_sha256": "[0-9a-f]*"', f'"link_sha256": "{"0" * 64}"')

    arena.expect_refused("--committed", codes=(1, 2))


def test_a_pipe_in_its_place(arena: Arena) -> None:
    arena.start("honest")
    arena.keep.file(SCENARIO).unlink()
    os.mkfifo(arena.keep.file(SCENARIO))

    arena.expect_refused("--committed")
    assert arena.trim().rc == 2


def test_a_link_to_another_projects_file(arena: Arena) -> None:
    arena.start("honest")
    other = arena.folder / "other.json"
    arena.keep.file(OTHER).rename(other)
    for scenario in (SCENARIO, OTHER):
        arena.keep.file(scenario).unlink(missing_ok=True)
        arena.keep.file(scenario).symlink_to(other)

    arena.expect_refused("--committed", codes=(1, 2))
