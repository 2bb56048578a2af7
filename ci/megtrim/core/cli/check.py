"""``megtrim check``: what is wrong with a configuration and all that it names, without a build."""

from collections.abc import Callable, Iterator
from pathlib import Path

from megtrim.core.checks.invocation import Options
from megtrim.core.cli.clock import read_today
from megtrim.core.cli.echo import open_console, show_summary
from megtrim.core.cli.environment import open_processes, read_invocation
from megtrim.core.cli.session.made_inputs import make_inputs
from megtrim.core.cli.session.preflight import (
    expect_known_folders,
    expect_known_options,
    expect_runnable_models,
    expect_usable_files,
)
from megtrim.core.cli.session.setup import open_applications, open_engine
from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.parts import list_notes
from megtrim.core.project import Project
from megtrim.core.size.budgets import ending
from megtrim.core.trim import committed_keepset
from megtrim.libs.util.errors import EXIT_PASS, InputError
from megtrim.libs.util.wording import count
from megtrim.places.compile.projects.checkout import Checkout


def check(config: Path, engine: Path | None) -> int:
    console = open_console()
    loaded = make_inputs(load_config(config, engine_source=engine))
    console.note("reading the source")
    processes = open_processes()
    opened = open_engine(loaded, processes)
    applications = open_applications(loaded, processes)
    warnings = [*loaded.warnings, *ending(loaded.config.waivers, read_today())]
    wrong = list(_find_mistakes(loaded, opened, applications, warnings))
    again = read_invocation(Options(config=config, engine=engine))
    for each in wrong:
        each.complete(again.place)
    for warning in warnings:
        console.warn(warning)
    if wrong:
        hints = dict.fromkeys(each.hint for each in wrong if each.hint)
        raise InputError("\n".join(each.message for each in wrong), hint="; ".join(hints))
    scenarios = len(list(all_scenarios(loaded.config)))
    models = len(loaded.config.models)
    of_models = [count(models, "model")] if models else []
    counts = " and ".join([*of_models, count(scenarios, "scenario")])
    if not committed_keepset.digest_committed(loaded):
        msg = (
            f"{config}: {counts} can be trimmed, but the check of a pull request would fail, "
            f"because there is no {loaded.config.keep_set} yet"
        )
        hint = f"make it with {again.again('trim')}, and commit it"
        raise InputError(msg, hint=hint)
    show_summary(f"{config}: fine, {counts}")
    for line in list_notes(loaded):
        console.say(line)
    return EXIT_PASS


def _find_mistakes(
    loaded: LoadedConfig, engine: Project, applications: dict[str, Checkout], warnings: list[str]
) -> Iterator[InputError]:
    checks: tuple[Callable[[], object], ...] = (
        lambda: expect_usable_files(loaded),
        lambda: committed_keepset.expect_readable(loaded, accept=False),
        lambda: expect_known_options(loaded, engine),
        lambda: expect_known_folders(loaded, (engine.checkout, *applications.values())),
    )
    found = [*_try(*checks)]
    yield from found
    if found:
        return  # a file that is wrong can be compared with nothing
    yield from _try(lambda: warnings.extend(expect_runnable_models(loaded, engine)))
    yield from _find_lapsed(loaded)
    if committed_keepset.digest_committed(loaded):
        yield from _try(lambda: committed_keepset.expect_fitting(loaded, engine))


def _find_lapsed(loaded: LoadedConfig) -> Iterator[InputError]:
    today = read_today()
    for number, waiver in enumerate(loaded.config.waivers):
        if waiver.expires < today:
            where = loaded.where("waivers", number)
            msg = (
                f"{where}: the waiver of {waiver.owner} for {waiver.budget} expired on "
                f"{waiver.expires}: the check of a pull request that needs it would fail"
            )
            yield InputError(msg, hint=f"have {waiver.owner} renew it, or remove it")


def _try(*checks: Callable[[], object]) -> Iterator[InputError]:
    for check_one in checks:
        try:
            check_one()
        except InputError as error:
            yield error
