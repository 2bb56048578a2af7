"""Stage `reduce`: the engine built again with only what the keep set names.

Where functions are trimmed as well, what ships is the base build linked again.
"""

import shutil
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import REST_SUFFIX, Link, LinkSpec, StubForm, Variant
from megtrim.core.chain.filenames import DROPPED_FILE, KEEP_SET_FILE
from megtrim.core.chain.graph import (
    FUNCTIONS,
    NAMED,
    REDUCED,
    Task,
    base_task,
    defers_functions,
    trims_functions,
    trims_plain_build,
)
from megtrim.core.chain.result_store import StageFolder, content_of
from megtrim.core.chain.session import Session, TrimRequest, binary
from megtrim.core.functions import cutter, guards, linker_script, refusals, rest
from megtrim.core.functions.guards import Guard
from megtrim.core.size.byte_tables import leave_symbols
from megtrim.core.trim.builds import links as linking
from megtrim.core.trim.builds import size_options, variants
from megtrim.core.trim.builds.links import RelinkedProgram
from megtrim.core.trim.results import (
    BuildResult,
    FunctionCount,
    ReduceResult,
    SymbolizingLinkResult,
)
from megtrim.libs.elf.layout import WITH_BUILD_ID
from megtrim.libs.elf.symbol_table import Function, find_whole, read_registrations, read_table


def inputs(task: Task, session: Session) -> dict[str, str]:
    if _is_link(task, session.request):
        links = linking.identities(session.results)
        base = session.done[base_task(session.config)]
        return linking.shipped_inputs(session) | {
            linking.KEEP_SET: session.done[FUNCTIONS].files[KEEP_SET_FILE],
            linking.BASE: content_of(base),
            **{f"link {name}": sha256 for name, sha256 in links.items()},
        }
    return variants.region_inputs(session)


def result_type(task: Task) -> type[ReduceResult | SymbolizingLinkResult]:
    return SymbolizingLinkResult if task.id == NAMED else ReduceResult


def work(task: Task, session: Session, folder: Path) -> ReduceResult | SymbolizingLinkResult:
    if task.id == NAMED:
        return _name(session, folder)
    if _is_link(task, session.request):
        return _link(session, folder)
    wanted = variants.make_spec(session, Variant.REDUCED, variants.header_files(session.results))
    built = variants.work(session, wanted, folder)
    if task.id == REDUCED:
        leave_symbols(folder, wanted, built.artifacts, session)
    return ReduceResult(build=built, functions={}, crash_ids=session.config.trim.crash_ids)


def _is_link(task: Task, request: TrimRequest) -> bool:
    return task.id in (REDUCED, NAMED) and trims_functions(request.config)


def _link(session: Session, folder: Path) -> ReduceResult:
    programs = linking.find_programs(session)
    base = session.done[base_task(session.config)]
    built = (
        base.result.build
        if isinstance(base.result, BuildResult)
        else base.result_as(ReduceResult).build
    )
    whole: list[str] = []
    if trims_plain_build(session.config):
        # The plain build has no build ids: what ships of it as it is, is linked with one.
        whole = sorted({*built.artifacts} - {each.target for each in programs})
    guards_of = {
        each.target: linking.find_guards(each, session)
        for each in programs
        if linking.guards_exports(each.target, session)
    }
    specs = (
        *(_specify(each, guards_of.get(each.target), session) for each in programs),
        *(LinkSpec(target=each, label=Link.SHIPPED, flags=(WITH_BUILD_ID,)) for each in whole),
    )
    variants.link(session, linking.make_base_spec(session), specs, folder)
    for program in programs:
        _prove(program, guards_of.get(program.target), session, folder)
        _list(program, folder)
    for program in programs:
        if defers_functions(session.config):
            _cut(program.target, folder)
        elif program.target in guards_of:
            _guard(program, guards_of[program.target], folder)
    linked = [*(each.target for each in programs), *whole]
    return ReduceResult(
        build=replace(built, artifacts=_collect(base, built.artifacts, linked, folder)),
        functions={
            each.target: FunctionCount(
                held=len(each.before.functions),
                dropped=len(each.before.names.intersection(each.dropped)),
                guarded=len(guards_of.get(each.target, ())),
                cut=_count_cut(each, folder),
                changed=each.cuts.changed,
                changed_bytes=each.count_changed_bytes(),
                uncut=linking.read_whole(each.target, folder),
                exports=linking.count_exports(each, session),
            )
            for each in programs
        },
        crash_ids=session.config.trim.crash_ids,
    )


def _count_cut(program: RelinkedProgram, folder: Path) -> int:
    """Count the functions of which the linked file has parts: some are left whole by a link."""
    if not program.cuts.blocks:
        return 0
    linked = folder / linking.locate_unstripped(Link.SHIPPED, program.target)
    parts = {find_whole(name) for name in read_table(linked).names if find_whole(name) != name}
    return len(parts & program.cuts.blocks.keys())


def _specify(
    program: RelinkedProgram, found: tuple[Guard, ...] | None, session: Session
) -> LinkSpec:
    """``found``: the guards of its exports; None: what was left out traps."""
    if defers_functions(session.config):
        return linking.specify_deferring_link(program, session)
    if found is None:
        return linking.specify_link(program, session)
    return linking.specify_guarded_link(program, found, session)


def _name(session: Session, folder: Path) -> SymbolizingLinkResult:
    programs = linking.find_programs(session)
    # By the build id, a test's process is seen to load it.
    flags = (
        *size_options.relink_flags(session),
        *size_options.unfolded_flags(session),
        WITH_BUILD_ID,
    )
    specs = []
    for program in programs:
        spec = replace(
            linking.specify_link(program, session),
            label=Link.NAMED,
            unfolded=True,
            flags=flags,
            sources=linker_script.named_sources(len(program.dropped)),
            script=linker_script.named_script(program.dropped),
            left_out=(),
            form=StubForm.REPORTING,
            strip=False,
        )
        specs.append(spec)
    variants.link(session, linking.make_base_spec(session), tuple(specs), folder)
    linking.copy_users(Link.NAMED, session, folder)
    for program in programs:
        _list(program, folder)
    return SymbolizingLinkResult()


def _list(program: RelinkedProgram, folder: Path) -> None:
    names = "".join(f"{name}\n" for name in program.dropped)
    (folder / DROPPED_FILE.format(target=program.target)).write_text(names, encoding="utf-8")


def _collect(
    base: StageFolder, names: Iterable[str], linked: Collection[str], folder: Path
) -> dict[str, int]:
    (folder / "bin").mkdir()
    sizes = {}
    for name in names:
        shipped = folder / linking.locate_stripped(Link.SHIPPED, name)
        built = shipped if name in linked else binary(base, name)
        shutil.copy2(built, folder / "bin" / name)
        deferred = shipped.with_name(f"{name}{REST_SUFFIX}")
        if name in linked and deferred.exists():
            shutil.move(deferred, folder / "bin" / deferred.name)
        sizes[name] = built.stat().st_size
    return sizes


def _prove(
    program: RelinkedProgram, found: tuple[Guard, ...] | None, session: Session, folder: Path
) -> None:
    linker_script.expect_known(program.before, program.kept, source=program.target)
    shipped = folder / linking.locate_unstripped(Link.SHIPPED, program.target)
    after = read_table(shipped)
    if defers_functions(session.config):
        place = rest.find_place(shipped.read_bytes(), source=program.target)
        rest.prove(program.before, after, program.deferred, place, source=program.target)
        return
    base = session.done[base_task(session.config)]
    kept = program.kept
    registrations = None
    if size_options.inlines_at_link(session):
        # What is inlined while it is linked has no name any more.
        kept = frozenset()
        registrations = read_registrations(binary(base, program.target))
    added: tuple[str, ...] = ()
    emptied: dict[int, Function] = {}
    if found is not None:
        guards.expect_safe(program.before, after, found, source=program.target)
        added = (guards.MISSING,)
        data = shipped.read_bytes()
        emptied = guards.find_emptied(data, after, program.dropped, source=program.target)
        refusals.expect_replaced(after, program.refusals, emptied, source=program.target)
    linker_script.prove(
        program.before,
        after,
        kept=kept,
        dropped=program.dropped,
        code=program.code,
        registrations=registrations,
        numbered=session.config.trim.crash_ids,
        added=added,
        emptied=emptied,
        source=program.target,
    )


def _guard(program: RelinkedProgram, found: tuple[Guard, ...], folder: Path) -> None:
    """Lead callers to the guards."""
    named = folder / linking.locate_unstripped(Link.SHIPPED, program.target)
    stripped = folder / linking.locate_stripped(Link.SHIPPED, program.target)
    table = read_table(named)
    for path in (named, stripped):
        data = path.read_bytes()
        made = guards.patch(
            data, table, found, program.dropped, program.refusals, source=program.target
        )
        path.write_bytes(made)


def _cut(name: str, folder: Path) -> None:
    named = folder / linking.locate_unstripped(Link.SHIPPED, name)
    stripped = folder / linking.locate_stripped(Link.SHIPPED, name)
    table = read_table(named)
    named.write_bytes(cutter.cut(named.read_bytes(), name, table, source=name).first)
    parts = cutter.cut(stripped.read_bytes(), name, table, source=name)
    stripped.write_bytes(parts.first)
    stripped.with_name(f"{name}{REST_SUFFIX}").write_bytes(parts.rest)
