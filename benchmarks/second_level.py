"""Sizes and latency of functions as well as regions, over the documented recipe's.

    python benchmarks/second_level.py
    python benchmarks/second_level.py --config examples/megengine-linux-arm64.yaml --engine ENGINE

megtrim builds three sides in one folder of results: the recipe (regions alone, nothing beyond),
what the configuration asks for by functions, and ``--quick``. Each must give the plain build's
outputs. What is timed is the engine's own program, and figures are ratios to the recipe's; how
latency is taken is told in latency.py. Another run with the same --out builds nothing again, but
times again. Minutes for the sample engine; for MegEngine hours at first, on two cores.
"""

import json
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click
from latency import ROUNDS, SECONDS, Compared, Run, compare
from sides import Sides, forget, run

from megtrim.core import stages
from megtrim.core.chain.filenames import CACHE_FILE, DROPPED_FILE
from megtrim.core.chain.graph import PLAIN, REDUCED, verify_task
from megtrim.core.chain.session import Session, TaskResults, binary
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.own_program import find_program, name_model_file
from megtrim.core.proof.results import VerifyResult
from megtrim.core.trim.runs.scenario_runs import cache_of
from megtrim.libs.programs.application_arguments import Places
from megtrim.libs.util.errors import ProductFailure
from megtrim.places.devices.device import Lease, RunDirectory

SAMPLE = Path(__file__).resolve().parents[1] / "examples/sample-engine/megtrim.yaml"
LARGEST_ANDROID = 0.33
LARGEST = 0.35
"""Of the recipe's bytes."""
LARGEST_QUICK = 0.6
SLOWEST = 1.03
SLOWEST_RELINK_S = 15
SLOWEST_QUICK_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    artifact: str
    largest: float | None
    """What is to be reached by functions, of the recipe's bytes; None for a sample engine."""
    plain_bytes: int
    recipe_bytes: int
    functions_bytes: int
    quick_bytes: int
    outputs: int
    """Outputs of all scenarios and sides, each equal to the plain build's."""
    relink_s: float
    quick_s: float
    devices: Mapping[str, str]
    """Scenario and the kind of the device that it was timed on."""
    latency: Mapping[str, Compared]
    """By scenario: by functions after, the recipe before."""

    def table(self) -> str:
        largest = f"at most {self.largest}" if self.largest else ""
        rows = (
            ("plain", self.plain_bytes, ""),
            ("recipe: regions", self.recipe_bytes, ""),
            ("regions and functions", self.functions_bytes, largest),
            ("--quick: functions alone", self.quick_bytes, largest and f"at most {LARGEST_QUICK}"),
        )
        sizes = (
            f"{name:26}{size:>14,}{size / self.recipe_bytes:>8.3f}  {target}".rstrip()
            for name, size, target in rows
        )
        lines = [f"{self.artifact}, stripped: bytes, and of the recipe's", *sizes]
        lines.append(f"{self.outputs} outputs, each equal to the plain build's")
        change = "relink after a change of functions alone"
        lines.append(f"{change}: {self.relink_s:.1f} s (at most {SLOWEST_RELINK_S})")
        quick = "--quick after the plain build: run, link, verify"
        lines.append(f"{quick}: {self.quick_s:.1f} s (at most {SLOWEST_QUICK_S})")
        for scenario, compared in self.latency.items():
            lines.append(f"latency of {scenario} on {self.devices[scenario]}, at most {SLOWEST}:")
            lines.append(str(compared))
        return "\n".join(lines)


def equal_outputs(session: Session) -> int:
    """Return how many outputs were compared; all are the same as the plain build's, or it ends."""
    count = 0
    for scenario in all_scenarios(session.config):
        outcome = session.done[verify_task(scenario)].result_as(VerifyResult).outcome
        if not outcome.outputs or not all(each.equal for each in outcome.outputs):
            msg = f"{scenario.id} is not proven: {outcome.text}"
            raise ProductFailure(msg)
        count += len(outcome.outputs)
    return count


def relink_s(session: Session, artifact: str) -> float:
    """Keep one function more than those that ran, and return what building that takes."""
    folder = session.done[REDUCED]
    dropped = folder.file(DROPPED_FILE.format(target=artifact)).read_text(encoding="utf-8")
    config = session.config
    keep = (*config.trim.keep, dropped.split()[0])
    trim = config.trim.model_copy(update={"keep": keep})
    loaded = replace(session.request.loaded, config=config.model_copy(update={"trim": trim}))
    done = {id_: folder for id_, folder in session.done.items() if id_ != REDUCED}
    other = replace(
        session, request=replace(session.request, loaded=loaded), results=TaskResults(done=done)
    )
    forget(other, set(done))
    start = time.perf_counter()
    if stages.obtain(REDUCED, other) is None:
        raise other.results.failed[REDUCED]
    return time.perf_counter() - start


def timed(
    scenario: Scenario, recipe: Session, functions: Session, *, seconds: float, rounds: int
) -> Compared:
    target = recipe.request.loaded.config.engine.target
    programs = [binary(side.results.done[REDUCED], target) for side in (recipe, functions, recipe)]
    with recipe.services.device(scenario).reserve() as lease, ExitStack() as stack:
        runs = [_runner(scenario, recipe, program, lease, stack) for program in programs]
        before, after, again = runs
        return compare(before, after, again, seconds=seconds, rounds=rounds)


def _runner(
    scenario: Scenario, session: Session, program: Path, lease: Lease, stack: ExitStack
) -> Run:
    settings = scenario.settings
    directory: RunDirectory = stack.enter_context(lease.open())
    model = name_model_file()
    files = {program.name: program, model: session.request.path(scenario.own_model.file)}
    inputs = {name: session.request.path(path) for name, path in sorted(settings.inputs.items())}
    names = {name: f"input{i}{path.suffix}" for i, (name, path) in enumerate(inputs.items())}
    files |= {names[name]: path for name, path in inputs.items()}
    if cache := cache_of(scenario, session):
        files[CACHE_FILE] = cache
    for name, path in files.items():
        directory.put(path, name)

    def once(iterations: int) -> None:
        places = Places(
            outputs="",
            threads=settings.threads,
            model=model,
            inputs=names,
            algo_cache=CACHE_FILE if cache else None,
        )
        # Of a flag that is given twice the last one counts.
        words = (*settings.args, "--iter", str(iterations))
        own = find_program()
        argv = own.compose(program.name, words, places, search=False, dumps=False)
        ended = directory.run(argv, timeout_s=settings.timeout_s)
        if ended.rc != 0:
            msg = f"{scenario.id}: {program} ended with {ended.rc}: {ended.stderr[-2000:]}"
            raise ProductFailure(msg)

    return once


def measure(sides: Sides, *, seconds: float, rounds: int) -> Figures:
    quick = sides.quick()
    if stages.obtain(PLAIN, quick) is None:
        raise quick.results.failed[PLAIN]
    forget(quick, {PLAIN})
    start = time.perf_counter()
    run(quick)
    quick_s = time.perf_counter() - start
    recipe = sides.recipe()
    functions = sides.functions()
    run(recipe)
    run(functions)
    artifact = recipe.request.loaded.config.engine.target
    scenarios = [
        each
        for each in all_scenarios(recipe.request.loaded.config)
        if each.settings.application is None
    ]
    sizes = [
        binary(done, artifact).stat().st_size
        for done in (
            recipe.results.done[PLAIN],
            *(side.results.done[REDUCED] for side in (recipe, functions, quick)),
        )
    ]
    return Figures(
        artifact=artifact,
        largest=_largest(recipe),
        plain_bytes=sizes[0],
        recipe_bytes=sizes[1],
        functions_bytes=sizes[2],
        quick_bytes=sizes[3],
        outputs=sum(equal_outputs(side) for side in (recipe, functions, quick)),
        relink_s=relink_s(functions, artifact),
        quick_s=quick_s,
        devices={each.id: recipe.services.device(each).kind for each in scenarios},
        latency={
            each.id: timed(each, recipe, functions, seconds=seconds, rounds=rounds)
            for each in scenarios
        },
    )


def _largest(session: Session) -> float | None:
    if session.config.engine.kind == "sample":
        return None
    return LARGEST_ANDROID if session.services.toolchain.api else LARGEST


@click.command()
@click.option("--config", type=click.Path(path_type=Path), default=SAMPLE)
@click.option("--engine", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Else a folder that is removed.")
@click.option("--jobs", "-j", type=int)
@click.option("--seconds", default=SECONDS, show_default=True, help="That a long run takes more.")
@click.option("--rounds", default=ROUNDS, show_default=True)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write figures there.")
def main(
    config: Path,
    engine: Path | None,
    out: Path | None,
    jobs: int | None,
    seconds: float,
    rounds: int,
    json_file: Path | None,
) -> None:
    """Measure, print, and write as JSON what is asked for."""
    with tempfile.TemporaryDirectory() as scratch:
        sides = Sides(config, out or Path(scratch), engine, jobs)
        figures = measure(sides, seconds=seconds, rounds=rounds)
    click.echo(figures.table())
    if json_file is not None:
        json_file.write_text(json.dumps(asdict(figures), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
