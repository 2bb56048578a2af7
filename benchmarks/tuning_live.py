"""How near a race comes to the fastest flags of a real scenario, and in how many runs.

    python benchmarks/tuning_live.py --config CONFIG --record MODEL/SCENARIO --to times.json
    python benchmarks/tuning_live.py --replay times.json

Recording is an exhaustive search: all contestants that start run in all rounds, on the scenario's
device. A replay holds races over the recorded times, each with the rounds in an order of its own,
and compares their winners by the medians of all recorded rounds. A busy machine gives other times
than a quiet one; the spread is printed.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import click
import numpy as np

from megtrim.cli.perf.tune import choose_scenario
from megtrim.cli.session.setup import open_session
from megtrim.devices import Lease
from megtrim.devices.retry import run_with_retries
from megtrim.perf.samples import Mark, Sample
from megtrim.perf.schedule import Turn, plan_turns
from megtrim.perf.time_stage import TimeStage
from megtrim.perf.tuning.candidates import RECIPES
from megtrim.perf.tuning.fitting import FITTING
from megtrim.perf.tuning.racing import STAGES, WITHIN, RaceResult, race
from megtrim.pipeline.tuning.field import make_field
from megtrim.pipeline.tuning.field_runs import open_runs
from megtrim.plan.graph import PLAIN, tasks, with_dependencies
from megtrim.stages import runner
from megtrim.verdict.invocation import Options

Times = dict[str, list[float | None]]
"""Of each contestant, by round; None: a sample that does not count."""


@click.command()
@click.option("--config", type=click.Path(path_type=Path), default=Path("megtrim.yaml"))
@click.option("--out", type=click.Path(path_type=Path), default=Path("out"), help="Results.")
@click.option("--record", "scenario", metavar="MODEL/SCENARIO", help="Run all contestants.")
@click.option("--rounds", default=20, show_default=True, help="That are recorded.")
@click.option("--to", "target", type=click.Path(path_type=Path), default=Path("times.json"))
@click.option("--replay", type=click.Path(path_type=Path), help="Recorded times.")
@click.option("--races", default=200, show_default=True)
def main(
    config: Path,
    out: Path,
    scenario: str | None,
    rounds: int,
    target: Path,
    replay: Path | None,
    races: int,
) -> None:
    """Record an exhaustive search, or hold races over one."""
    if replay is not None:
        hold_races(json.loads(replay.read_text("utf-8")), races)
    elif scenario is not None:
        target.write_text(json.dumps(record(config, out, scenario, rounds)) + "\n", "utf-8")
    else:
        msg = "give --record or --replay"
        raise click.UsageError(msg)


def record(config: Path, out: Path, scenario: str, rounds: int) -> dict[str, object]:
    """Run all contestants in all rounds."""
    session = open_session(Options(config=config, out=out, engine=None, jobs=None, quiet=False))
    chosen = choose_scenario(scenario, session)
    runner.run(with_dependencies({PLAIN}, tasks(session.request.config)), session)
    field = make_field(chosen, session)
    say = session.services.console.say

    def attempt(lease: Lease) -> dict[str, object]:
        with open_runs(field, lease, say=say) as runs:
            names = runs.start()
            times: Times = {name: [None] * rounds for name in names}
            for turn in plan_turns(
                names, rounds, cpus=runs.cpus, width=runs.width, seed=field.seed
            ):
                taken = runs.take(turn)
                if isinstance(taken, Sample) and taken.counts:
                    time_ms = taken.time_ms(TimeStage.INFERENCE)
                    times[turn.contestant][turn.round_number] = time_ms
            return {"scenario": chosen.id, "fitting": runs.fitting, "times_ms": times}

    return run_with_retries(session.services.device(chosen), attempt, say=say)


def hold_races(document: dict[str, object], races: int) -> None:
    """Print what races over recorded times find."""
    times = document["times_ms"]
    assert isinstance(times, dict)
    medians = {name: median(each for each in row if each) for name, row in times.items()}
    fastest = min(medians, key=lambda name: medians[name])
    results = [hold_one(times, seed) for seed in range(races)]
    losses = [medians[each.winner] / medians[fastest] - 1 for each in results]
    shares = [each.runs / (len(times) * STAGES[-1]) for each in results]
    spreads = [float(np.std(np.log([each for each in row if each]))) for row in times.values()]
    near = float(np.mean([each <= WITHIN for each in losses]))
    click.echo(
        f"{document['scenario']}: {len(times)} contestants, "
        f"spread of processes {median(spreads):.1%} (median of contestants)\n"
        f"fastest {fastest}, {medians[fastest] / medians['baseline']:.3f} of the baseline\n"
        f"{races} races: within {WITHIN:.0%} in {near:.1%}, "
        f"worst loss {max(losses):.1%}; runs {np.mean(shares):.1%} on average, "
        f"{max(shares):.1%} at most, of all in {STAGES[-1]} rounds"
    )
    for name in sorted({*RECIPES, FITTING, str(document["fitting"])} & set(times)):
        ratios = [medians[each.winner] / medians[name] for each in results]
        click.echo(f"winner against {name}: {median(ratios):.3f}, at most {max(ratios):.3f}")


def hold_one(times: Times, seed: int) -> RaceResult:
    """Race over the recorded rounds in an order by chance, again and again."""
    generator = np.random.default_rng(seed)
    recorded = len(next(iter(times.values())))
    passes = -(-STAGES[-1] // recorded)
    order = [int(each) for _ in range(passes) for each in generator.permutation(recorded)]

    def take(turn: Turn) -> Sample:
        time_ms = times[turn.contestant][order[turn.round_number]]
        return Sample(
            contestant=turn.contestant,
            round_number=turn.round_number,
            position=turn.position,
            iterations_ms=() if time_ms is None else (time_ms,),
            marks=(Mark.DAMAGED_LOG,) if time_ms is None else (),
        )

    return race(sorted(times), take, cpus=(0,), seed=seed)


if __name__ == "__main__":
    main()
