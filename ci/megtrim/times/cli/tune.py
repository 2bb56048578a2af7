"""``megtrim perf tune``: find the fastest experiment of a scenario, and keep its flags."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import click

from megtrim.core import stages
from megtrim.core.chain.graph import PLAIN, with_dependencies
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.echo import show, show_json
from megtrim.core.cli.options import common, device_option, examples, json_option
from megtrim.core.cli.session.setup import describe, open_session
from megtrim.core.config.config_id import split
from megtrim.core.config.document import render_yaml
from megtrim.core.config.load import load_config
from megtrim.core.config.scenarios import Scenario
from megtrim.core.config.units import parse_duration
from megtrim.core.timing.times import ratio_with_interval
from megtrim.engines.megengine.experiments import find_experiments
from megtrim.libs.util.errors import EXIT_PASS, InputError, worst_exit_code
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.strict_json import encode
from megtrim.times.cli.run import emulated_option, expect_real_devices, find_scenarios
from megtrim.times.experiments.listing import describe_step
from megtrim.times.measuring.contest_plan import look_at, own_flags
from megtrim.times.tuning_winner import (
    Heat,
    MadeFiles,
    Search,
    TunedScenario,
    add,
    expect_free,
    make_tuned,
    tune,
)


def _read_budget(_ctx: click.Context, _param: click.Parameter, text: str) -> float:
    try:
        return parse_duration(text)
    except InputError as error:
        raise click.BadParameter(error.message) from None


@examples(
    "megtrim perf tune resnet50/default",
    'megtrim perf tune resnet50/default --device pixel-6 --budget "30 min"',
    "megtrim perf tune resnet50/default --write --name fastest",
)
@click.command("tune")
@common
@device_option
@click.argument("wanted", metavar="MODEL/SCENARIO")
@click.option(
    "--budget",
    "budget_s",
    callback=_read_budget,
    default="1 hour",
    show_default=True,
    metavar="TIME",
    help="Begin no comparison after this time; that of the winner comes on top.",
)
@click.option("--write", is_flag=True, help="Add the winner to the configuration as a scenario.")
@click.option("--name", metavar="NAME", help="Of that scenario. [default: SCENARIO-tuned]")
@emulated_option
@json_option
def tune_flags(
    options: Options, wanted: str, budget_s: float, write: bool, name: str | None, emulated: bool
) -> int:
    """Find the fastest flags of a scenario on its device.

    Each experiment that can run there is compared with the baseline, as `perf run` compares it. The
    faster half goes on, with more pairs of processes, until one is left, which meets the baseline
    once more. What fails or computes something else is named and leaves.
    """
    session = open_session(options)
    chosen = choose_scenario(wanted, session)
    expect_real_devices([chosen], session, emulated=emulated)
    describe(session)
    _, codes = stages.run(with_dependencies({PLAIN}, session.request.tasks), session)
    if PLAIN not in session.results.done:
        return worst_exit_code(codes)
    name = name or f"{chosen.settings.name}-tuned"
    loaded = session.request.loaded
    if write:
        expect_free(loaded, chosen, name)
    search, files = tune(chosen, session, budget_s=budget_s)
    tuned = None
    if winner := search.winner:
        (experiment,) = find_experiments([winner])
        situation = look_at(chosen, session)
        own = own_flags(chosen, session)
        _, toolchain = split(str(options.config))
        tuned = make_tuned(experiment, chosen, situation, own, loaded, name, toolchain=toolchain)
    if options.as_json:
        facts = {"scenario": chosen.id, "winner": winner or None, **encode(search)}
        show_json(facts | {"yaml": dict(tuned.item) if tuned else None})
    else:
        show("\n".join(describe_search(chosen.id, search)))
        if tuned:
            lines = render_yaml([tuned.item]).splitlines()
            show("\n".join(("in megtrim.yaml:", *(f"  {line}" for line in lines))))
    if write and tuned:
        file, edited = add(loaded, tuned)
        keep_winner(options.config, (file, edited), tuned, files)
        again = session.request.invocation.again("trim")
        session.services.console.say(f"added to {file}: trace and verify it with {again}")
    return EXIT_PASS


def describe_search(scenario: str, search: Search) -> Iterator[str]:
    *before, last = search.heats
    yield f"{scenario}: {len({each.experiment for each in search.heats})} experiments"
    for rounds, heats in groupby(before, key=lambda each: each.rounds):
        yield f"  {rounds} pairs of processes at most"
        for heat in sorted(heats, key=lambda each: each.ratio.ratio if each.ratio else 1e9):
            yield f"    {heat.experiment}: {_describe_heat(heat)}"
    if search.skipped:
        yield f"  not measured, for the budget ended: {', '.join(search.skipped)}"
    if not search.winner:
        yield "no experiment is surely faster than the baseline"
    yield f"{'winner' if search.winner else 'fastest'}: {last.experiment}"
    (experiment,) = find_experiments([last.experiment])
    yield from (f"  step: {describe_step(step)}" for step in experiment.steps)
    yield f"  once more: {_describe_heat(last)}"


def _describe_heat(heat: Heat) -> str:
    if heat.ratio is None:
        return heat.reason
    shown = f"{ratio_with_interval(heat.ratio)} of the baseline's time"
    return f"{shown}, {heat.ratio.pairs} pairs; different: {heat.ratio.different}"


def choose_scenario(text: str, session: Session) -> Scenario:
    found = find_scenarios(text, session.request.config)
    if len(found) > 1:
        msg = f"{text} has several CPU classes: {', '.join(each.id for each in found)}"
        raise InputError(msg, hint="name one of these; each class may have other fastest flags")
    if found[0].settings.application is not None:
        msg = f"{text} runs an application, whose flags megtrim does not know"
        raise InputError(msg, hint="name a scenario of the engine's own program")
    return found[0]


def keep_winner(
    config: Path, edited: tuple[Path, bytes], tuned: TunedScenario, files: MadeFiles
) -> None:
    """Write the files, then the one that names them; a mistake leaves it as it was."""
    file, content = edited
    before = file.read_text(encoding="utf-8") if file.exists() else None
    for relative, data in zip((tuned.dumped_model, tuned.algo_cache), files, strict=True):
        if relative is not None and data is not None:
            path = config.absolute().parent / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    write_atomically(file, content.decode())
    try:
        models = load_config(config).config.models
        names = {model.name for model in models}
        names |= {scenario.name for model in models for scenario in model.scenarios}
        if tuned.item["name"] not in names:
            msg = f"{file}: the pattern that finds its siblings does not find it"
            raise InputError(msg, hint=f"choose another name with --name, or edit {config}")
    except InputError:
        if before is None:
            file.unlink()
        else:
            write_atomically(file, before)
        raise
