"""What is printed of a race: its path, why each left, and the winner's worth."""

from __future__ import annotations

import dataclasses
import json

from megtrim.cli.perf.tune_text import describe_result, list_facts
from megtrim.perf.answer import Answer
from megtrim.perf.comparison import TimeComparison
from megtrim.perf.experiments.table import find_experiments
from megtrim.perf.tuning.racing import RaceEnd, RaceResult, RaceStage, Standing
from megtrim.pipeline.tuning.field_runs import NotStarted
from megtrim.pipeline.tuning.flag_race import LastHeat, TuneResult
from megtrim.pipeline.tuning.tuned_scenario import TunedScenario


def stand(name: str, ratio: float, reason: str = "") -> Standing:
    return Standing(contestant=name, ratio=ratio, lower=ratio - 0.1, reason=reason)


def make_result(winner: str, algo_cache: bytes | None = None) -> TuneResult:
    """Return a race of ten in which eight left, one of them because it crashed."""
    gone = float("nan")
    left = (*(stand(f"c{number}", 1.2 + number) for number in range(7)), stand("c7", gone, "crash"))
    stage = RaceStage(
        rounds=3, leader=winner, left=left, remaining=(stand(winner, 1.0), stand("c8", 1.05))
    )
    seen = TimeComparison(
        pairs=16,
        ratio=0.62,
        lower=0.6,
        upper=0.64,
        difference_ms=-3.8,
        different=True,
        exceeds=Answer.YES,
    )
    return TuneResult(
        winner=find_experiments([winner])[0],
        race=RaceResult(winner=winner, stages=(stage,), end=RaceEnd.CLOSE, runs=30),
        entered=11,
        not_started=(NotStarted(name="nchw44", reason="output 0: differs"),),
        fitting="c8",
        heats=(
            LastHeat(against="baseline", seen=seen),
            LastHeat(against="recipe-x86", seen=None),
        ),
        last_runs=48,
        dumped_model=None,
        algo_cache=algo_cache,
    )


TUNED = TunedScenario(
    sibling=("models", 0, "scenarios", 0),
    item={"name": "fast", "args": ["--cpu"]},
    dumped_model=None,
    algo_cache=None,
)


def test_the_path_and_the_winner() -> None:
    """Six who left are named, the rest is counted; a reason stands in place of a ratio."""
    lines = describe_result("net/default@any", make_result("nchw88"), TUNED).splitlines()
    end = "none of those left can be faster by more than the share that counts"
    assert lines == [
        "net/default@any: 11 contestants",
        "  did not start  nchw44: output 0: differs",
        "  after 3 rounds  nchw88 leads, 8 left, 2 remain",
        *(
            f"    c{number}: {1.2 + number:.3f} of the leader's time, "
            f"surely above {1.1 + number:.3f}"
            for number in range(6)
        ),
        "    and 2 slower ones",
        f"  ended: {end}; 30 processes, 8% of 400 for all in 40 rounds",
        "--fitting chose: c8",
        "winner: nchw88",
        "  step: run the model with --enable-nchw88; measured",
        "  against baseline: 0.620 of its time (0.600 to 0.640), 16 pairs; different: True",
        "  against recipe-x86: too few processes counted",
        "in megtrim.yaml:",
        "  - name: fast",
        "    args: [--cpu]",
    ]


def test_without_faster_flags_there_is_nothing_to_write() -> None:
    text = describe_result("net/default@any", make_result("baseline"), TUNED)
    assert text.endswith("no flags are faster than none")


def test_facts_are_json_without_gaps() -> None:
    """A ratio that is not known is null, not a number that JSON does not have."""
    facts = list_facts("net/default@any", make_result("nchw88"), TUNED)
    read = json.loads(json.dumps(facts, allow_nan=False))
    crashed = read["stages"][0]["left"][7]
    assert crashed == {"name": "c7", "ratio": None, "lower": None, "reason": "crash"}
    assert read["last_heat"]["baseline"]["upper"] == 0.64
    assert read["last_heat"]["recipe-x86"] is None


def test_without_a_comparison_there_is_no_winner() -> None:
    """A leader alone is no reason to change a configuration."""
    found = make_result("record-1")
    unseen = dataclasses.replace(found, heats=(LastHeat(against="baseline", seen=None),))

    shown = describe_result("m/s@any", unseen, TUNED)
    assert "leader: record-1\n" in shown
    assert "winner" not in shown
    assert "in megtrim.yaml" not in shown
    assert list_facts("m/s@any", unseen, TUNED)["winner"] is None
