"""Stage `size`: the stripped artifacts, measured and compared with their budgets."""

from collections.abc import Collection, Mapping
from pathlib import Path

from megtrim.core.build_spec import REST_SUFFIX, Link, Variant
from megtrim.core.chain.filenames import BYTE_TABLES_FILE, FINAL_FOLDER, PASS_FOLDER, SIZES_FILE
from megtrim.core.chain.graph import (
    LINKED,
    PLAIN,
    REDUCED,
    SIZE,
    Task,
    task_name,
    trims_plain_build,
)
from megtrim.core.chain.made_of import MadeOf
from megtrim.core.chain.result_store import StageFolder, content_of
from megtrim.core.chain.session import Session, TrimRequest, binary, binary_digest
from megtrim.core.config.problems import listing
from megtrim.core.config.units import Measure
from megtrim.core.size import byte_tables
from megtrim.core.size.aar import plan_aar, weigh_aar
from megtrim.core.size.baseline import dump_sizes, expect_same_kind, load_sizes
from megtrim.core.size.breakdown import (
    Measures,
    compare_tables,
    count_deflated,
    list_measures,
    list_parts,
)
from megtrim.core.size.budgets import Baseline, check
from megtrim.core.size.byte_table import ByteTable, LabelChange, list_largest, make_map, make_table
from megtrim.core.size.counted import MEMORY_KEY, WORK_KEY, Use
from megtrim.core.size.growth.arrivals import NO_ARRIVALS, find_arrivals
from megtrim.core.size.growth.build_inputs import name_build_inputs, read_build_inputs
from megtrim.core.size.growth.causes import (
    InputChanges,
    compare_inputs,
    describe_causes,
    make_print,
)
from megtrim.core.size.passes import keep_pass, list_passes
from megtrim.core.size.prices import PriceList, compare_prices, shorten
from megtrim.core.size.results import NO_BASELINE, SizeResult
from megtrim.core.size.rows import FORMS, ArtifactSizes, VariantSize
from megtrim.core.size.use import NOT_RUN, list_rows
from megtrim.core.size.views import View
from megtrim.core.trim.builds.links import locate_named, locate_unstripped
from megtrim.libs.elf.components import are_unnamed
from megtrim.libs.elf.sections import ElfFacts, read_elf
from megtrim.libs.elf.symbol_table import read_linked
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.strict_json import dump

_File = tuple[str, str]
_MOST_PRICES = 20
"""Of each kind, besides models and scenarios."""
_MOST_CHANGES = 40
_SHIPPED = str(Variant.REDUCED)


def inputs(task: Task, session: Session) -> dict[str, str]:
    config = session.config
    builds = _builds(task, session)
    named = {
        f"{variant} {artifact}": binary_digest(build, artifact)
        for artifact in config.artifacts
        for variant, build in builds.items()
    }
    shipped = session.done[REDUCED]
    for artifact in config.artifacts:
        if named_copy := locate_named(shipped, artifact):
            named[f"symbols of {artifact}"] = shipped.files[named_copy]
    plain = session.done[PLAIN]
    if BYTE_TABLES_FILE in plain.files:
        named["bytes of plain"] = plain.files[BYTE_TABLES_FILE]
    named["made from"] = name_build_inputs(shipped, session)
    if session.request.options.quick:
        named["quick"] = str(session.request.options.quick)
    named["origin"] = dump(session.request.origin)
    if aar := plan_aar(session, shipped):
        named["AAR"] = f"{session.services.engine.identity().digest} {dump(aar)}"
    if config.trim.prices:
        named["prices"] = "of models and scenarios"
    done = session.done
    lost = _list_lost(task, session)
    for each in task.wants:
        named[each] = (
            content_of(done[each]) if each in done else f"none {lost.get(each, '')}".rstrip()
        )
    named["work"] = config.work.model_dump_json() if config.work else ""
    named["memory"] = config.memory.model_dump_json() if config.memory else ""
    named["budgets"] = " ".join(budget.model_dump_json() for budget in config.budgets)
    if config.waivers:
        named["waivers"] = " ".join(waiver.model_dump_json() for waiver in config.waivers)
        named["today"] = session.request.today.isoformat()
    chosen = _choose_baseline(session)
    if chosen is not None:
        path, shown = chosen
        named["baseline"] = sha256_file(path) if _is_there(path, session.request) else "not there"
        named["baseline file"] = shown
    return named


def work(task: Task, session: Session, folder: Path) -> SizeResult:
    config = session.config
    builds = _builds(task, session)
    facts = {
        (artifact, variant): read_elf(binary(build, artifact))
        for artifact in config.artifacts
        for variant, build in builds.items()
    }
    all_prices: tuple[PriceList, ...] = ()
    if config.trim.prices:
        from megtrim.core.size.pricing import find_prices  # with NumPy and SciPy

        all_prices = find_prices(session)
    prices = {each.artifact: shorten(each, _MOST_PRICES) for each in all_prices}
    parts, measured = _measure(builds, session, prices)
    plain = byte_tables.read_tables(session.done[PLAIN])
    made_from = read_build_inputs(session.done[REDUCED], session)
    done = session.done
    lost = _list_lost(task, session)
    uses = {
        task_name(each): done[each].result_as(Use)
        if each in done
        else Use(reasons=dict.fromkeys((WORK_KEY, MEMORY_KEY), lost.get(each, NOT_RUN)))
        for each in task.wants
    }
    now = Baseline(
        sizes={key: elf.size_bytes for key, elf in facts.items()},
        parts=parts,
        measured=measured,
        made_from=make_print(made_from),
        quick=session.request.options.quick,
        origin=session.request.origin,
        uses=uses,
    )
    (folder / SIZES_FILE).write_text(dump_sizes(now), encoding="utf-8")
    baseline = _baseline(session)
    before = baseline or Baseline(sizes={})
    traced = not session.request.options.committed
    changes = compare_inputs(before.made_from, made_from, traced=traced)
    every_price = {each.artifact: each for each in all_prices}
    artifacts = []
    for name in config.artifacts:
        price = every_price.get(name)
        table = parts.get((name, _SHIPPED))
        sizes = (
            _weigh((name, variant), facts[name, variant], now, before, changes, price)
            for variant in builds
        )
        byte_map = None
        if table is not None and not are_unnamed(table.components):
            byte_map = make_map(name, _SHIPPED, table, plain.get(name))
        artifacts.append(
            ArtifactSizes(name=name, sizes=tuple(sizes), prices=prices.get(name), byte_map=byte_map)
        )
    existing = _find_existing(builds, session, now, plain)
    today = session.request.today
    size_rows = check(config.budgets, now, baseline, config.waivers, today, existing)
    lost_tasks = tuple(map(task_name, lost))
    use_rows = list_rows(uses, before.uses, config, before.source, lost_tasks)
    return SizeResult(
        artifacts=tuple(artifacts),
        budgets=(*size_rows, *use_rows),
        baseline=before.source,
        causes=changes.causes,
        notes=describe_causes(changes),
    )


def _list_lost(task: Task, session: Session) -> dict[str, str]:
    """Return why the machine did not measure what scenarios use, by task."""
    failed = session.results.failed
    return {
        each: failure.title
        for each in task.wants
        if isinstance(failure := failed.get(each), InfrastructureFailure)
    }


def _measure(
    builds: Mapping[str, StageFolder], session: Session, prices: Mapping[str, PriceList]
) -> tuple[dict[_File, ByteTable], dict[_File, Measures]]:
    parts: dict[_File, ByteTable] = {}
    measured: dict[_File, Measures] = {}
    asked = _list_asked(session)
    aars = weigh_aar(session, session.done[REDUCED])
    for variant, build in builds.items():
        for artifact in session.config.artifacts:
            key = (artifact, variant)
            if variant != _SHIPPED and key not in asked:
                continue
            named = locate_named(build, artifact) if variant == _SHIPPED else ""
            copy = build.file(named) if named else None
            try:
                found = byte_tables.break_down_file(binary(build, artifact), copy, deflate=True)
                measures = list_measures(found, prices.get(artifact) if named else None)
                measured[key] = measures
                if variant == _SHIPPED and artifact in aars:
                    measures[str(Measure.AAR)] = aars[artifact]
                if f"bin/{artifact}{REST_SUFFIX}" in build.files:
                    rest = read_linked(binary(build, f"{artifact}{REST_SUFFIX}"))
                    measures[str(Measure.REST)] = len(rest)
                    deflated_bytes = count_deflated(rest, ((0, len(rest)),))
                    measures[str(Measure.DOWNLOAD)] = measures[Measure.DEFLATED] + deflated_bytes
                if copy is not None:
                    measures[str(Measure.UNSTRIPPED)] = copy.stat().st_size
                    parts[key] = make_table(found.by_component(View.SYMBOL))
            except InputError as error:
                # A size that is within its budget does not depend on what its bytes are.
                console = session.console
                console.warn(f"the growth of {artifact} will not be explained: {error.message}")
    return parts, measured


def _find_existing(
    builds: Mapping[str, StageFolder],
    session: Session,
    now: Baseline,
    plain: Mapping[str, ByteTable],
) -> dict[str, frozenset[str]]:
    """Return what the builds have of each artifact that is without a part that a budget is of."""
    existing: dict[str, frozenset[str]] = {}
    for budget in session.config.budgets:
        artifact = budget.artifact
        if not (budget.section or budget.component):
            continue
        if now.find(artifact, str(budget.variant), budget.measure):
            continue
        if artifact not in existing:
            existing[artifact] = _list_existing(artifact, builds, now, plain.get(artifact), session)
        known = any(each.startswith(Measure.COMPONENT) for each in existing[artifact])
        if budget.component and not known:
            msg = f"the budget {budget.id} limits something that {artifact} does not have"
            why = "whether it ever had it is not known: its plain build has no symbols"
            session.console.warn(f"{msg}; {why}")
    return existing


def _list_existing(
    artifact: str,
    builds: Mapping[str, StageFolder],
    now: Baseline,
    plain: ByteTable | None,
    session: Session,
) -> frozenset[str]:
    """Components are the plain program's: the region build may not have all of them."""
    existing = list_parts(None, plain)
    files = []
    for variant, build in builds.items():
        if measures := now.measured.get((artifact, variant)):
            existing |= list_parts(measures, None)
        elif f"bin/{artifact}" in build.files:
            files.append((binary(build, artifact), False))
    if plain is None and trims_plain_build(session.config):
        linked = session.done[LINKED]
        files.append((linked.file(locate_unstripped(Link.UNFOLDED, artifact)), True))
    for path, named in files:
        try:
            found = byte_tables.break_down_file(path, None)
        except InputError:
            continue  # of a machine that megtrim cannot read: it shows no parts
        table = make_table(found.by_component(View.SYMBOL)) if named else None
        existing |= list_parts(list_measures(found), table)
    return existing


def _list_asked(session: Session) -> set[_File]:
    asked: set[_File] = set()
    for budget in session.config.budgets:
        if budget.measure:
            asked.add((budget.artifact, str(budget.variant)))
            if budget.max_size is not None and budget.max_size.share:
                asked.add((budget.artifact, str(Variant.PLAIN)))
    return asked


def _weigh(
    key: _File,
    elf: ElfFacts,
    now: Baseline,
    before: Baseline,
    changes: InputChanges,
    prices: PriceList | None,
) -> VariantSize:
    former = before.parts.get(key)
    table = now.parts.get(key)
    components: tuple[LabelChange, ...] = ()
    symbols: tuple[LabelChange, ...] = ()
    if former and table:
        components = compare_tables(former, table, View.COMPONENT)
        symbols = compare_tables(former, table, View.SYMBOL)
    growth_bytes = elf.size_bytes - before.sizes[key] if key in before.sizes else None
    ships = key[1] == Variant.REDUCED
    arrivals = find_arrivals(changes, growth_bytes, symbols, prices) if ships else NO_ARRIVALS
    models = before.measured.get(key, {})
    measured = now.measured.get(key, {})
    artifact, variant = key
    return VariantSize(
        variant=variant,
        size_bytes=elf.size_bytes,
        share=elf.size_bytes / now.sizes[artifact, str(Variant.PLAIN)],
        growth_bytes=growth_bytes,
        sections=tuple((str(group), size_bytes) for group, size_bytes in elf.groups),
        forms={str(form): measured[form] for form in FORMS if form in measured},
        components=list_largest(components, _MOST_CHANGES),
        symbols=list_largest(symbols, _MOST_CHANGES),
        arrivals=arrivals,
        price_changes=compare_prices(models, prices) if ships and prices else (),
    )


def _builds(task: Task, session: Session) -> dict[str, StageFolder]:
    """Return those that are measured, by variant; what ships is among them."""
    return {task_name(build): session.done[build] for build in task.needs}


def expect_usable_baseline(request: TrimRequest) -> Baseline | None:
    """Return the baseline before anything is built. Raises InputError."""
    chosen = _baseline_file(request)
    found = None
    if chosen is not None:
        _expect_of_another_run(chosen, request)
    if chosen is not None and _is_there(chosen[0], request):
        found = _load_baseline(chosen, request)
    if request.options.require_baseline:
        shown = "" if chosen is None else chosen[1]
        _expect_baseline(found, request.config.artifacts, shown)
    return found


def _expect_of_another_run(chosen: tuple[Path, str], request: TrimRequest) -> None:
    """Refuse what every trim writes, also one that failed: the next one would equal it."""
    path, shown = chosen
    final = request.options.results / FINAL_FOLDER
    if path.resolve().is_relative_to(final.resolve()):
        msg = f"{shown} comes from the last trim into {final.parent}, whether it passed or not"
        hint = "copy the sizes.json of a run that passed to another place, and name that"
        raise InputError(msg, hint=hint)


def _expect_baseline(found: Baseline | None, artifacts: Collection[str], shown: str) -> None:
    why = ""
    if not shown:
        why = "none is named"
    elif found is None:
        why = f"there is no {shown}"
    elif not found.sizes:
        why = f"{shown} has no sizes: {found.source}"
    elif not any((artifact, str(Variant.REDUCED)) in found.sizes for artifact in artifacts):
        has = listing(sorted(f"{artifact}/{variant}" for artifact, variant in found.sizes))
        why = f"{shown} has sizes of {has}, of no trimmed artifact of this configuration"
    if why:
        msg = f"--require-baseline: growth cannot be measured, because {why}"
        hint = "bring the sizes.json of a run that passed, or leave --require-baseline out"
        raise InputError(msg, hint=hint)


def _load_baseline(chosen: tuple[Path, str], request: TrimRequest) -> Baseline:
    path, shown = chosen
    config = request.origin.config if request.origin.commit else ""
    found = load_sizes(path, shown=shown)
    return expect_same_kind(found, quick=request.options.quick, shown=shown, config=config)


def _baseline(session: Session) -> Baseline | None:
    chosen = _choose_baseline(session)
    if chosen is None:
        return None
    path, shown = chosen
    if not _is_there(path, session.request):
        session.console.warn(f"there is no baseline {shown}, so growth is not measured")
        return Baseline(source=f"{NO_BASELINE}there is no {shown}", sizes={})
    return _load_baseline(chosen, session.request)


def _choose_baseline(session: Session) -> tuple[Path, str] | None:
    """Without another one, it is the last pass here that was made from something else.

    So a trim that is repeated is compared with the same as before, and is up to date.
    """
    request = session.request
    if (chosen := _baseline_file(request)) is not None or not request.remembers:
        return chosen
    root = session.services.store.root
    quick = request.options.quick
    made_from = make_print(read_build_inputs(session.done[REDUCED], session))
    for path, passed in list_passes(root, request.origin, quick=quick):
        if passed.made_from != made_from:
            at = f", at {passed.origin.commit[:12]}" if passed.origin.commit else ""
            changed = " with uncommitted changes" if passed.origin.changed else ""
            return path, f"the last pass on this machine{at}{changed}"
    return None


def remember_pass(session: Session, made_of: MadeOf | None) -> None:
    """Keep the sizes of a trim that passed. ``made_of``: None: it is not known."""
    sizes = session.done[SIZE].file(SIZES_FILE)
    store = session.services.store
    try:
        store.claim(PASS_FOLDER)
    except InputError as error:
        session.console.warn(f"{error.message}: no pass is kept")
        return
    keep_pass(store.root, sizes, made_of)


def _baseline_file(request: TrimRequest) -> tuple[Path, str] | None:
    """The command line's wins. The configuration's is that of the full trim alone."""
    if request.options.baseline is not None:
        return request.options.baseline, str(request.options.baseline)
    configured = None if request.options.quick else request.config.baseline
    return None if configured is None else (request.path(configured), str(configured))


def _is_there(path: Path, request: TrimRequest) -> bool:
    return request.options.baseline is None or _exists(path)


def _exists(path: Path) -> bool:
    """Count a link that leads nowhere, too: someone meant a file, and reading it says what is."""
    return path.exists() or path.is_symlink()
