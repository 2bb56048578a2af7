"""Stage `size`: the stripped artifacts, measured and compared with their budgets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from megtrim.build_spec import Link, Variant
from megtrim.chain.filenames import BYTE_TABLES_FILE, SIZES_FILE
from megtrim.chain.graph import (
    LINKED,
    PLAIN,
    PROFILE,
    REDUCED,
    REGION,
    Task,
    trims_plain_build,
)
from megtrim.chain.session import Session, TrimRequest, binary, binary_digest
from megtrim.chain.store import StageFolder
from megtrim.elf.components import are_unnamed
from megtrim.elf.sections import ElfFacts, read_elf
from megtrim.size import byte_tables
from megtrim.size.baseline import dump_sizes, expect_same_kind, load_sizes, store_prices
from megtrim.size.breakdown import (
    ExistingParts,
    Measures,
    View,
    compare_tables,
    find_measure,
    list_measures,
    list_parts,
)
from megtrim.size.budgets import Baseline, Measured, check
from megtrim.size.byte_table import (
    ByteChange,
    ByteMap,
    ByteTable,
    list_largest,
    make_map,
    make_table,
)
from megtrim.size.growth.arrivals import NO_ARRIVALS, find_arrivals
from megtrim.size.growth.build_inputs import (
    name_build_inputs,
    read_build_inputs,
)
from megtrim.size.growth.inputs import InputChanges, compare_inputs, describe_causes, make_print
from megtrim.size.prices.price_list import PriceKind, PriceList, compare_prices, shorten
from megtrim.size.results import SizeResult
from megtrim.size.rows import ArtifactSizes, VariantSize
from megtrim.trim.builds.links import locate_named, locate_unstripped
from megtrim.util.errors import InputError
from megtrim.util.files import sha256_file
from megtrim.util.strict_json import dump
from megtrim.util.value import Value

_File = tuple[str, str]
_MOST_PRICES = 20
"""Of each kind, besides models and scenarios."""
_MOST_CHANGES = 40
"""Rows of changes that a report can show; the others are one row."""


def inputs(task: Task, session: Session) -> dict[str, str]:
    """The day counts only where a waiver can end."""
    config, builds = session.request.config, _builds(task, session)
    named = {
        f"{variant} {artifact}": binary_digest(build, artifact)
        for artifact in config.artifacts
        for variant, build in builds
    }
    *_, (_, shipped) = builds
    for artifact in config.artifacts:
        if named_copy := locate_named(shipped, artifact):
            named[f"symbols of {artifact}"] = shipped.files[named_copy]
    plain = session.results.done[PLAIN]
    if BYTE_TABLES_FILE in plain.files:
        named["bytes of plain"] = plain.files[BYTE_TABLES_FILE]
    named["made from"] = name_build_inputs(shipped, session)
    if session.request.options.quick:
        named["quick"] = str(session.request.options.quick)
    named["origin"] = dump(session.request.origin)
    if config.trim.prices:
        named["prices"] = "of models and scenarios"
    named["budgets"] = " ".join(budget.model_dump_json() for budget in config.budgets)
    if config.waivers:
        named["waivers"] = " ".join(waiver.model_dump_json() for waiver in config.waivers)
        named["today"] = session.request.today.isoformat()
    chosen = _baseline_file(session.request)
    if chosen is not None:
        path, shown = chosen
        named["baseline"] = sha256_file(path) if _is_there(path, session.request) else "not there"
        named["baseline file"] = shown
    return named


def result_type(_task: Task) -> type[SizeResult]:
    return SizeResult


def work(task: Task, session: Session, folder: Path) -> SizeResult:
    config, builds = session.request.config, _builds(task, session)
    facts = {
        (artifact, variant): read_elf(binary(build, artifact))
        for artifact in config.artifacts
        for variant, build in builds
    }
    sizes = {key: elf.size_bytes for key, elf in facts.items()}
    all_prices: tuple[PriceList, ...] = ()
    if config.trim.prices:
        from megtrim.size.prices.pricing import find_prices  # with NumPy and SciPy

        all_prices = find_prices(session)
    prices = tuple(shorten(each, _MOST_PRICES) for each in all_prices)
    parts, measured = _measure(builds, session, prices)
    plain = byte_tables.read_tables(session.results.done[PLAIN])
    made_from = read_build_inputs(builds[-1][1], session)
    text = dump_sizes(
        sizes,
        parts=parts,
        measured=measured,
        made_from=make_print(made_from),
        prices=store_prices(prices),
        quick=session.request.options.quick,
        origin=session.request.origin,
    )
    (folder / SIZES_FILE).write_text(text, encoding="utf-8")
    baseline = _baseline(session)
    compared = baseline or Baseline(source="", sizes={})
    traced = not session.request.options.committed
    changes = compare_inputs(compared.made_from, made_from, traced=traced)
    compare = _Comparison(
        facts=facts,
        parts=parts,
        baseline=compared,
        changes=changes,
        prices={each.artifact: each for each in all_prices},
    )
    shown = {each.artifact: each for each in prices}
    return SizeResult(
        artifacts=tuple(
            ArtifactSizes(
                name=name,
                sizes=tuple(compare.weigh((name, variant)) for variant, _ in builds),
                prices=shown.get(name),
                byte_map=_map_bytes(name, builds[-1][0], parts, plain),
            )
            for name in config.artifacts
        ),
        budgets=check(
            config.budgets,
            Measured(
                sizes=sizes,
                measured=measured,
                parts=parts,
                existing=_find_existing(builds, session, measured, parts, plain),
            ),
            baseline,
            config.waivers,
            session.request.today,
        ),
        baseline=compared.source,
        causes=changes.causes,
        notes=describe_causes(changes),
    )


def _map_bytes(
    artifact: str,
    variant: str,
    parts: Mapping[_File, ByteTable],
    plain: Mapping[str, ByteTable],
) -> ByteMap | None:
    table = parts.get((artifact, variant))
    if table is None or are_unnamed(table.components):
        return None
    return make_map(artifact, variant, table, plain.get(artifact))


def _measure(
    builds: list[tuple[str, StageFolder]], session: Session, prices: tuple[PriceList, ...]
) -> tuple[dict[_File, ByteTable], dict[_File, Measures]]:
    """Others than what ships are measured only if a budget is about that."""
    parts: dict[_File, ByteTable] = {}
    measured: dict[_File, Measures] = {}
    *_, (shipped, _) = builds
    asked = _list_asked(session)
    models = {
        each.artifact: {
            price.name: max(price.margin_bytes, 0) for price in each.of_kind(PriceKind.MODEL)
        }
        for each in prices
    }
    for variant, build in builds:
        for artifact in session.request.config.artifacts:
            key = (artifact, variant)
            if variant != shipped and key not in asked:
                continue
            named_copy = locate_named(build, artifact) if variant == shipped else ""
            named = build.file(named_copy) if named_copy else None
            try:
                found = byte_tables.break_down_file(binary(build, artifact), named, deflate=True)
                measured[key] = list_measures(found, models.get(artifact) if named_copy else None)
                if named_copy:
                    parts[key] = make_table(found.by_component(View.SYMBOL))
            except InputError as error:
                # A size that is within its budget does not depend on what its bytes are.
                console = session.services.console
                console.warn(f"what grew in {artifact} will not be known: {error.message}")
    return parts, measured


def _find_existing(
    builds: list[tuple[str, StageFolder]],
    session: Session,
    measured: dict[_File, Measures],
    parts: dict[_File, ByteTable],
    plain: Mapping[str, ByteTable],
) -> dict[str, ExistingParts]:
    """What is left out of a file may still be in the one that it was trimmed from."""
    found: dict[str, ExistingParts] = {}
    for budget in session.request.config.budgets:
        key = (budget.artifact, str(budget.variant))
        missing = budget.measure and not find_measure(
            budget.measure, 1, measured.get(key), parts.get(key)
        )
        if missing and (budget.section or budget.component):
            if budget.artifact not in found:
                found[budget.artifact] = _list_existing(
                    budget.artifact, builds, measured, plain.get(budget.artifact), session
                )
            if budget.component and not found[budget.artifact].components:
                msg = f"the budget {budget.id} is of nothing that {budget.artifact} has"
                why = "whether it ever had it is not known: its plain build has no symbols"
                session.services.console.warn(f"{msg}; {why}")
    return found


def _list_existing(
    artifact: str,
    builds: list[tuple[str, StageFolder]],
    measured: Mapping[_File, Measures],
    plain: ByteTable | None,
    session: Session,
) -> ExistingParts:
    """Components are known only if the plain program has symbols.

    The region build may well not have one that its regions took.
    """
    known = [measures for (name, _), measures in measured.items() if name == artifact]
    files = [
        (binary(build, artifact), "")
        for variant, build in builds
        if (artifact, variant) not in measured and _has(build, artifact)
    ]
    if plain is None and trims_plain_build(session.request.config):
        unfolded = session.results.done[LINKED].file(locate_unstripped(Link.UNFOLDED, artifact))
        files.append((unfolded, artifact))
    found = list_parts(None, plain)
    for measures in known:
        found |= list_parts(measures, None)
    for path, named in files:
        try:
            parts = byte_tables.break_down_file(path, None)
        except InputError:
            continue  # of a machine that megtrim cannot read: it shows no parts
        table = make_table(parts.by_component(View.SYMBOL)) if named else None
        found |= list_parts(list_measures(parts), table)
    return found


def _has(build: StageFolder, artifact: str) -> bool:
    return f"bin/{artifact}" in build.files


def _list_asked(session: Session) -> set[_File]:
    asked: set[_File] = set()
    for budget in session.request.config.budgets:
        if budget.measure:
            asked.add((budget.artifact, str(budget.variant)))
            if budget.max_size is not None and budget.max_size.share:
                asked.add((budget.artifact, str(Variant.PLAIN)))
    return asked


class _Comparison(Value):
    facts: Mapping[_File, ElfFacts]
    parts: Mapping[_File, ByteTable]
    baseline: Baseline
    changes: InputChanges
    prices: Mapping[str, PriceList]

    def weigh(self, key: _File) -> VariantSize:
        """What came in is of the one that ships."""
        artifact, variant = key
        elf, table, before = self.facts[key], self.parts.get(key), self.baseline.parts.get(key)
        components: tuple[ByteChange, ...] = ()
        symbols: tuple[ByteChange, ...] = ()
        if before and table:
            components = compare_tables(before, table, View.COMPONENT)
            symbols = compare_tables(before, table, View.SYMBOL)
        growth_bytes = self.baseline.growth(*key, elf.size_bytes)
        prices = self.prices.get(artifact)
        ships = variant == Variant.REDUCED
        former = self.baseline.prices.get(artifact, {})
        return VariantSize(
            variant=variant,
            size_bytes=elf.size_bytes,
            share=elf.size_bytes / self.facts[artifact, str(Variant.PLAIN)].size_bytes,
            growth_bytes=growth_bytes,
            sections=tuple((str(group), size_bytes) for group, size_bytes in elf.groups),
            components=list_largest(components, _MOST_CHANGES),
            symbols=list_largest(symbols, _MOST_CHANGES),
            arrivals=find_arrivals(self.changes, growth_bytes, symbols, prices)
            if ships
            else NO_ARRIVALS,
            price_changes=compare_prices(former, prices) if ships and prices else (),
        )


def _builds(task: Task, session: Session) -> list[tuple[str, StageFolder]]:
    """Return plain first, what ships last."""
    every = (
        (Variant.PLAIN, PLAIN),
        (Variant.PROFILE, PROFILE),
        (Variant.REGION, REGION),
        (Variant.REDUCED, REDUCED),
    )
    return [
        (str(variant), session.results.done[build])
        for variant, build in every
        if build in task.needs
    ]


def expect_usable_baseline(request: TrimRequest) -> Baseline | None:
    """Return the baseline before anything is built. Raises InputError."""
    chosen = _baseline_file(request)
    if chosen is not None and chosen[0].exists():
        return _load_baseline(chosen, request)
    return None


def _load_baseline(chosen: tuple[Path, str], request: TrimRequest) -> Baseline:
    path, shown = chosen
    found, origin = load_sizes(path, shown=shown), request.origin
    config = origin.config if origin.commit else ""
    return expect_same_kind(found, quick=request.options.quick, shown=shown, config=config)


def _baseline(session: Session) -> Baseline | None:
    chosen = _baseline_file(session.request)
    if chosen is None:
        return None
    path, shown = chosen
    if not _is_there(path, session.request):
        session.services.console.warn(f"there is no baseline {shown}, so growth is not measured")
        return Baseline(source=f"none: there is no {shown}", sizes={})
    return _load_baseline(chosen, session.request)


def _baseline_file(request: TrimRequest) -> tuple[Path, str] | None:
    """The command line's wins. The configuration's is that of the full trim: a quick trim is not
    compared with it.
    """
    if request.options.baseline is not None:
        return request.options.baseline, str(request.options.baseline)
    configured = None if request.options.quick else request.config.baseline
    return None if configured is None else (request.path(configured), str(configured))


def _is_there(path: Path, request: TrimRequest) -> bool:
    """A step before this one may have found none; a team names one."""
    return request.options.baseline is None or path.exists()
