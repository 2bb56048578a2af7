"""The keep set that the team commits: read, written, and compared with what was traced now."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import keep_task, traces_regions, trims_functions, verb_of
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session, TrimRequest
from megtrim.core.checks.check import Check
from megtrim.core.checks.invocation import suggest_for_keep_set, suggest_for_other_link
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.config.load import LoadedConfig
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.keep.keepset import (
    KeepSet,
    ScenarioRecord,
    add_first_times,
    differing,
    find_gaps,
    find_lost_functions,
    find_lost_regions,
    has_other_weights,
    of_another_link,
    some,
)
from megtrim.core.keep.keepset_files import (
    HINT,
    dump_folder,
    find_files,
    read_folder,
    read_keep_set,
)
from megtrim.core.keep.trace import TraceFailure, TraceProblem
from megtrim.core.project import Project
from megtrim.core.trim.runs.scenario_runs import bind
from megtrim.libs.elf.symbol_names import brief
from megtrim.libs.util.errors import ACCEPT, EXIT_PASS, InputError, ProductFailure
from megtrim.libs.util.files import guard_write, sha256_file, write_atomically
from megtrim.libs.util.wording import count

_TRIM = ("trim",)


def read_committed(loaded: LoadedConfig, engine: Project) -> KeepSet:
    """Raises InputError where there is none, one of another generation of the header, or one
    without regions where they are trimmed.
    """
    shown = loaded.config.keep_set
    path = loaded.resolve(shown)
    if not find_files(path, shown=str(shown)):
        msg = f"{shown}: there is no keep set, but --committed needs one"
        raise InputError(msg, hint="make it, and commit it", command=ACCEPT)
    keep = read_folder(path, shown=str(shown))
    generation = engine.identity().generation
    if keep.generation != generation:
        msg = (
            f"{shown}: found header generation {keep.generation}, "
            f"expected the engine's: {generation}"
        )
        raise InputError(msg, hint="the engine changed: trace it again", command=ACCEPT)
    # Without regions no header of their marks is generated, and neither ccache nor Ninja would
    # notice the next one: no header changed, one was added.
    if keep.regions() and loaded.config.trim.keeps_kernels:
        msg = f"{shown}: regions are listed in it, but level: operator keeps them all"
        raise InputError(msg, hint="write it again", command=ACCEPT)
    if not keep.regions() and traces_regions(loaded.config):
        msg = f"{shown}: no region is needed by any scenario, but regions are trimmed"
        raise InputError(msg, hint=HINT, command=ACCEPT)
    return keep


def list_retrained(session: Session) -> tuple[str, ...]:
    loaded = session.request.loaded
    if not session.request.options.committed:
        return ()
    keep = read_committed(loaded, session.services.engine)
    traced = {record.id: record for record in keep.scenarios}
    return tuple(
        f"{each.id}: its model was traced with other weights, in the same graph"
        for each in all_scenarios(loaded.config)
        if each.id in traced and has_other_weights(traced[each.id], bind(each, loaded, None))
    )


def expect_fitting(loaded: LoadedConfig, engine: Project) -> None:
    """Refuse what a pull request would be red for, whatever its code does."""
    shown = str(loaded.config.keep_set)
    keep = read_committed(loaded, engine)
    traced = {record.id: record for record in keep.scenarios}
    wrong = list(_find_unfit(loaded, traced))
    if trims_functions(loaded.config) and not keep.functions():
        wrong.append(("no function is listed in it, but functions are trimmed", _TRIM))
    if wrong:
        lines = (
            f"the check of a pull request would fail, because {shown}: {line}" for line, _ in wrong
        )
        again = ACCEPT if any(command == ACCEPT for _, command in wrong) else _TRIM
        raise InputError("\n".join(lines), hint="trace, and commit the keep set", command=again)


def _find_unfit(
    loaded: LoadedConfig, traced: Mapping[str, ScenarioRecord]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what does not fit, and the command that traces it: only a change must be accepted."""
    for scenario in all_scenarios(loaded.config):
        record = traced.get(scenario.id)
        settings = scenario.settings
        if record is None:
            yield f"{scenario.id} is not in it", _TRIM
            continue
        cache = loaded.resolve(settings.algo_cache) if settings.algo_cache else None
        now = bind(scenario, loaded, cache)
        if scenario.searches:
            now = replace(now, algo_cache_sha256=record.algo_cache_sha256)
        if changed := differing(record, now):
            yield f"{scenario.id} is not what was traced: {changed}", ACCEPT


def expect_readable(loaded: LoadedConfig, *, accept: bool) -> None:
    """``accept``: it is written again, so it need not be readable."""
    path = loaded.resolve(loaded.config.keep_set)
    shown = str(loaded.config.keep_set)
    if find_files(path, shown=shown) and not accept:
        read_folder(path, shown=shown)


def digest_committed(loaded: LoadedConfig) -> str:
    """Empty if there are none."""
    path = loaded.resolve(loaded.config.keep_set)
    lines = [f"{sha256_file(path / name)}  {name}\n" for name in find_files(path)]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else ""


def write_committed(path: Path, keep: KeepSet) -> None:
    texts = dump_folder(keep)
    for name, text in texts.items():
        write_atomically(path / name, text)
    for name in find_files(path):
        if name not in texts:
            _remove(path / name)


def _remove(file: Path) -> None:
    with guard_write(file):
        file.unlink()
        with suppress(OSError):  # the folder of a model that has other scenarios
            file.parent.rmdir()


def settle(session: Session, folder: StageFolder) -> int:
    """Compare with the committed keep set; return the exit status.

    It is written where there is none yet or where a person accepts the new one; what it has for the
    first time is added to the committed one: by verbs that record, and by no other. Raises
    TraceFailure where a trace shrank; a committed file that is missing something is a check of the
    verdict.
    """
    request = session.request
    if request.options.committed or request.options.quick:
        return EXIT_PASS
    now = read_keep_set(folder.file(KEEP_SET_FILE))
    path = session.request.path(session.config.keep_set)
    writes = request.options.records or request.options.accept
    if not writes and not find_files(path):
        session.console.say(f"  {path}: there is no keep set yet; `megtrim trim` writes it")
        return EXIT_PASS
    if session.request.options.accept or not find_files(path):
        previous = None
        with suppress(InputError):
            previous = read_folder(path)
        counts = _counts(now, previous)
        write_committed(path, now)
        session.console.say(
            f"  wrote {path}: {counts}: commit it; it lists the code to keep, and for whom"
        )
        return EXIT_PASS
    before = read_folder(path, shown=str(session.config.keep_set))
    _expect_not_shrunken(before, now)
    more = add_first_times(before, now)
    check = keep_set_check(more, now, session.request)
    if check.status is not CheckStatus.PASS:
        check = keep_set_check(before, now, session.request)
        session.console.warn(f"{path}: {check.detail}\n  {check.hint}")
    elif more != before and not writes:
        session.console.warn(f"{path} lacks new entries: `megtrim trim` adds them")
    elif more != before:
        write_committed(path, more)
        session.console.say(f"  updated {path}: {_counts(more, before)}: commit it")
    elif before != now:
        session.console.warn(f"{path} is not what was traced now: {_counts(now, before)}")
    return ProductFailure.exit_code if check.status is CheckStatus.FAIL else EXIT_PASS


def keep_set_checks(session: Session) -> Iterator[Check]:
    folder = session.done.get(keep_task(session.config))
    if folder is None or session.request.options.committed or session.request.options.quick:
        return
    path = session.config.keep_set
    if not find_files(session.request.path(path), shown=str(path)):
        return  # none was written yet, and what only asks writes none
    before = read_folder(session.request.path(path), shown=str(path))
    now = read_keep_set(folder.file(KEEP_SET_FILE))
    yield keep_set_check(add_first_times(before, now), now, session.request)


def keep_set_check(before: KeepSet, now: KeepSet, request: TrimRequest) -> Check:
    """Whether the committed keep set holds all that was traced now: a build from it may trap.

    What a search for algorithms found is timing and another each time: its scenarios are left out.
    """
    config = request.config
    searched = {scenario.id for scenario in all_scenarios(config) if scenario.searches}
    others = tuple(scenario for scenario in now.scenarios if scenario.id not in searched)
    now = replace(now, scenarios=others)
    lines = find_gaps(before, now)
    links = of_another_link(before, now)
    # An automatic toolchain builds for another machine elsewhere: its list is not comparable here.
    by_link = CheckStatus.INCONCLUSIVE if config.toolchain.kind == "auto" else CheckStatus.FAIL
    status = CheckStatus.PASS
    text = "the keep set contains everything that was traced now"
    if links:
        status = by_link
        text = f"the keep set lists functions of another link: {links[0]}"
    if lines:
        status = CheckStatus.FAIL
        text = f"the keep set is stale: {lines[0]}"
    check = Check(
        id=f"{CheckKind.KEEP_SET}:{config.keep_set}",
        kind=CheckKind.KEEP_SET,
        subject=str(config.keep_set),
        status=status,
        text=text,
        file=request.loaded.path.name,
        line=request.loaded.line("keep_set"),
    )
    if status is CheckStatus.PASS:
        return check
    hint = suggest_for_keep_set(request.invocation)
    if status is CheckStatus.INCONCLUSIVE:
        hint = suggest_for_other_link(request.invocation)
    return replace(
        check,
        detail="\n".join([text, *lines[1:], *links[1:]]),
        hint=hint,
        reproduce=request.invocation.again(verb_of(keep_task(config))),
    )


def _expect_not_shrunken(before: KeepSet, now: KeepSet) -> None:
    lost_regions = find_lost_regions(before, now)
    lost_functions = find_lost_functions(before, now)
    lost = [
        *_losses((name, [str(region) for region in regions]) for name, regions in lost_regions),
        *_losses((name, [brief(each) for each in functions]) for name, functions in lost_functions),
    ]
    if lost:
        # The verdict shows the first line.
        first, *others = lost
        raise TraceFailure(
            TraceProblem.SHRUNKEN,
            "\n".join([f"a trace shrank against the committed keep set: {first}", *others]),
            hint="if that is intended, accept it, and commit the keep set",
            command=ACCEPT,
        )


def _counts(now: KeepSet, before: KeepSet | None) -> str:
    numbers = {
        noun: (len(listed(now)), len(listed(before)) if before else 0)
        for noun, listed in (("region", KeepSet.regions), ("function", KeepSet.functions))
    }
    kept = {noun: each for noun, each in numbers.items() if any(each)}
    if not kept:
        kept = {"operator": (_count_operators(now), _count_operators(before))}
    said = ", ".join(count(new, noun) for noun, (new, _) in kept.items())
    changed = before is not None and any(new != old for new, old in kept.values())
    were = ", ".join(str(old) for _, old in kept.values())
    return f"{said} (were {were})" if changed else said


def _count_operators(keep: KeepSet | None) -> int:
    return len(keep.operators.operators) if keep and keep.operators else 0


def _losses(lost: Iterable[tuple[str, Sequence[str]]]) -> Iterator[str]:
    for scenario_id, names in lost:
        yield f"{scenario_id} no longer runs {some(names)}"
