"""What the stages `functions` and `reduce` share: the base build, linked in other ways."""

import fnmatch
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import (
    UNSTRIPPED,
    BuildSpec,
    Link,
    LinkSpec,
    StubForm,
    Switch,
    Variant,
)
from megtrim.core.chain.filenames import DROPPED_FILE, KEEP_SET_FILE
from megtrim.core.chain.graph import (
    FUNCTIONS,
    HEADER,
    LINKED,
    base_task,
    defers_functions,
    splits_functions,
    trims_plain_build,
)
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session, TaskResults, binary
from megtrim.core.config.model import switched_off
from megtrim.core.config.value_types import OF_APPLICATIONS
from megtrim.core.functions import guards, link_map, linker_script, refusals, rest
from megtrim.core.functions.blocks import CutPlan, Graph, find_graphs, plan_cuts
from megtrim.core.functions.calls import Disassembly, parse_code
from megtrim.core.functions.guards import ErrorRule, Guard
from megtrim.core.functions.kept_functions import KeepPattern, keep_always, matching
from megtrim.core.functions.link_map import LinkMap
from megtrim.core.functions.observables import Observables, read_observables
from megtrim.core.functions.refusals import Refusal, RefusalRule
from megtrim.core.keep.keepset import KeepSet, ScenarioRecord
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.trim.builds import applications, size_options, variants
from megtrim.core.trim.export_warnings import count_exported
from megtrim.core.trim.results import ExportCount, UnfoldedLinksResult
from megtrim.libs.elf.block_map import parse_block_map
from megtrim.libs.elf.layout import WITH_BUILD_ID, ElfLayout
from megtrim.libs.elf.symbol_names import brief
from megtrim.libs.elf.symbol_table import (
    FunctionTable,
    parse_table,
    read_dynamic_names,
    read_linked,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import guard_write
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects.link.relink import LINKS, OBJECTS, WHOLE

KEEP_SET = "keep set"

BASE = "base"

CUT_FORM = "2"
"""How functions are cut, and which stay whole."""


class UnfoldedLink(Value):
    table: FunctionTable
    code: Disassembly
    observables: Observables

    @property
    def unseen(self) -> frozenset[str]:
        return self.table.names - self.observables.names


class RelinkedProgram(Value):
    target: str
    before: FunctionTable
    kept: frozenset[str]
    dropped: tuple[str, ...]
    code: Disassembly
    cuts: CutPlan
    holders: tuple[str, ...]
    """Names of the objects of which the functions that are cut come."""
    refusals: tuple[Refusal, ...] = ()

    @property
    def deferred(self) -> rest.Deferred:
        return rest.Deferred(whole=frozenset(self.dropped), cut=frozenset(self.cuts.blocks))

    def count_changed_bytes(self) -> int:
        sizes = {each.name: each.size_bytes for each in self.before.functions}
        return sum(sizes.get(name, 0) for name in self.cuts.changed)


class UntrimmedProgram(Value):
    target: str
    identity: str
    unfolded: UnfoldedLink
    origins: LinkMap
    patterns: tuple[KeepPattern, ...]
    graphs: Mapping[str, Graph] | None
    """Of functions that can be cut, by name; None: none is cut at this level."""
    refusals: tuple[Refusal, ...] = ()
    """Functions that are left out in any case, because a call of one is to be an error."""

    def trim(self, keep: KeepSet) -> RelinkedProgram:
        """Raises InputError if the keep set needs nothing of it."""
        records = [scenario for scenario in keep.scenarios if scenario.link_sha256 == self.identity]
        ran = frozenset(name for record in records for name in record.functions)
        if not ran:
            msg = (
                f"{self.target}: no scenario lists functions of this link, "
                "so none of them would be kept"
            )
            raise InputError(msg, hint="record them", command=("trim",))
        refusals.expect_not_run(self.refusals, ran, source=self.target)
        cuts = self._plan_cuts(records, ran)
        return RelinkedProgram(
            target=self.target,
            before=self.unfolded.table,
            kept=ran,
            dropped=self.find_dropped(ran),
            code=self.unfolded.code,
            cuts=cuts,
            holders=self._find_holders(cuts.blocks),
            refusals=self.refusals,
        )

    def _plan_cuts(self, records: Iterable[ScenarioRecord], ran: frozenset[str]) -> CutPlan:
        """What is kept although it did not run finds the functions that it calls whole."""
        if self.graphs is None:
            return CutPlan(blocks={}, changed=())
        listed = ((record.functions, record.blocks) for record in records)
        texts = (pattern.text for pattern in self.patterns)
        whole = {*matching(texts, self.unfolded.table, self.origins)}
        whole |= self.unfolded.code.called_by(self._find_always(ran))
        return plan_cuts(listed, self.graphs, whole)

    def _find_holders(self, names: Iterable[str]) -> tuple[str, ...]:
        addresses = {each.name: each.address for each in self.unfolded.table.functions}
        files = {self.origins.of(addresses[name]) for name in names}
        return tuple(sorted({link_map.name_object(file) for file in files}))

    def find_dropped(self, ran: frozenset[str]) -> tuple[str, ...]:
        kept = {*ran, *self._find_always(ran)}
        found = linker_script.droppable(self.unfolded.table, kept, self.unfolded.observables)
        return tuple(sorted({*found, *self._refused}))

    @property
    def _refused(self) -> frozenset[str]:
        return frozenset(each.name for each in self.refusals)

    def _find_always(self, ran: frozenset[str]) -> tuple[str, ...]:
        return keep_always(
            self.patterns,
            ran=ran | self._refused,
            unseen=self.unfolded.unseen,
            code=self.unfolded.code,
            origins=self.origins,
        )


def make_base_spec(session: Session) -> BuildSpec:
    if trims_plain_build(session.config):
        return variants.make_spec(session, Variant.PLAIN, {})
    return variants.make_spec(session, Variant.REDUCED, variants.header_files(session.results))


def base_inputs(session: Session) -> dict[str, str]:
    named = variants.inputs(session, make_base_spec(session))
    return (
        named
        if trims_plain_build(session.config)
        else named | variants.header_inputs(session.done[HEADER])
    )


def shipped_inputs(session: Session) -> dict[str, str]:
    config = session.config
    kept = (*session.services.engine.kept, *config.trim.keep)
    without_tables = [
        target
        for target in applications.linked_again(session)
        if not size_options.keeps_unwind_tables(target, session)
    ]
    named = {
        **base_inputs(session),
        "kept whatever ran": "\n".join(kept),
        "flags": " ".join(shipped_flags(session)),
        "without unwind tables": " ".join(without_tables),
        **exports_input(session),
    }
    if defers_functions(config):
        named["deferred"] = rest.IDENTITY
    if splits_functions(config):
        named["cut"] = CUT_FORM
    if config.trim.crash_ids:
        named["crash ids"] = "each stub"
    if config.trim.on_missing == "error":
        named["guards"] = guards.IDENTITY
        named["errors"] = "\n".join(each.model_dump_json() for each in config.trim.errors)
        rules = (replace(each, where="") for each in _list_refusal_rules(session))
        named["refusals"] = "\n".join(map(repr, rules))
    return named


def exports_input(session: Session) -> dict[str, str]:
    asked = session.config.trim.exports
    return {"exports": " ".join(asked)} if asked else {}


def shipped_flags(session: Session) -> tuple[str, ...]:
    """A build id among them: the plain build, from which such a link may start, has none."""
    return (*size_options.relink_flags(session), WITH_BUILD_ID)


def read_dropped(reduced: StageFolder, target: str) -> tuple[str, ...] | None:
    """None if nothing of the program was trimmed."""
    listed = DROPPED_FILE.format(target=target)
    if listed not in reduced.files:
        return None
    return tuple(reduced.file(listed).read_text(encoding="utf-8").split())


def locate_unstripped(label: str, target: str) -> str:
    return f"{LINKS}/{label}/{target}"


def observables(target: str) -> str:
    return locate_unstripped(Link.UNFOLDED, f"{target}.observables")


def locate_stripped(label: Link, target: str) -> str:
    return f"{LINKS}/{label}/stripped/{target}"


def locate_named(folder: StageFolder, name: str) -> str:
    """As it was linked again, or as it was built; empty if the folder has neither."""
    places = (locate_unstripped(Link.SHIPPED, name), f"{UNSTRIPPED}/{name}")
    return next((place for place in places if place in folder.files), "")


def read_unfolded(target: str, results: TaskResults) -> UnfoldedLink:
    folder = results.done[LINKED]
    program = folder.file(locate_unstripped(Link.UNFOLDED, target))
    data = read_linked(program)
    table = parse_table(data, source=str(program))
    return UnfoldedLink(
        table=table,
        code=parse_code(data, table, source=target),
        observables=read_observables(folder.file(observables(target))),
    )


def identities(results: TaskResults) -> dict[str, str]:
    return dict(results.done[LINKED].result_as(UnfoldedLinksResult).links)


def find_hidden(target: str, session: Session) -> tuple[str, ...]:
    """Return the exports that ``trim.exports`` takes away from a shared object, sorted.

    Raises InputError for a pattern without a match, and for names that an application imports.
    """
    loaded = session.request.loaded
    base = session.done[base_task(session.config)]
    asked = loaded.config.trim.exports
    users = applications.users(target, session)
    if not asked or not users:
        return ()
    exported = read_dynamic_names(binary(base, target)).exported
    imported = {name: read_dynamic_names(binary(base, name)).imported & exported for name in users}
    kept: set[str] = set()
    for at, text in enumerate(asked):
        found = fnmatch.filter(exported, text)
        if text == OF_APPLICATIONS:
            found = [name for names in imported.values() for name in names]
        if not found:
            where = loaded.describe("trim", "exports", at)
            msg = f"{where}: {target} exports nothing like {text!r}"
            hint = "an application that loads it by dlopen imports nothing: list what it looks up"
            raise InputError(msg, hint=hint)
        kept.update(found)
    for name, needed in imported.items():
        if lacking := sorted(needed - kept):
            where = loaded.describe("trim", "exports")
            msg = f"{where}: {name} imports {brief(lacking[0])}, which {target} would not export"
            raise InputError(msg, hint=f"add it, or {OF_APPLICATIONS}")
    return tuple(sorted(exported - kept))


def count_exports(program: RelinkedProgram, session: Session) -> ExportCount | None:
    """Return None for a program, and for a library of which ``trim.exports`` chooses exports."""
    users = applications.users(program.target, session)
    if not users or session.config.trim.exports:
        return None
    base = session.done[base_task(session.config)]
    imported = {each for name in users for each in read_dynamic_names(binary(base, name)).imported}
    return count_exported(program.before, program.dropped, imported)


def copy_users(label: Link, session: Session, folder: Path) -> None:
    """Put next to each shared object of these links the programs of scenarios that load it."""
    base = session.done[base_task(session.config)]
    for library in applications.linked_again(session):
        for name in applications.users(library, session):
            copy = folder / locate_unstripped(label, name)
            with guard_write(copy):
                shutil.copy2(binary(base, name), copy)


def find_programs(session: Session) -> list[RelinkedProgram]:
    keep = read_keep_set(session.done[FUNCTIONS].file(KEEP_SET_FILE))
    return [read_program(target, session).trim(keep) for target in identities(session.results)]


def read_program(target: str, session: Session) -> UntrimmedProgram:
    loaded = session.request.loaded
    # Of several programs one may well not have what another has: that is no mistake.
    alone = len(identities(session.results)) == 1
    written = _count_written(loaded.document.value(("trim", "keep"))) if alone else 0
    patterns = [KeepPattern(text=text) for text in session.services.engine.kept]
    for at, text in enumerate(loaded.config.trim.keep):
        where = f"{loaded.path}:{loaded.line('trim', 'keep', at)}" if at < written else ""
        patterns.append(KeepPattern(text=text, where=where))
    listed = locate_unstripped(Link.UNFOLDED, f"{target}.map")
    unfolded = read_unfolded(target, session.results)
    graphs = None
    if splits_functions(session.config):
        linked = session.done[LINKED].file(locate_unstripped(Link.UNFOLDED, target))
        mapped = parse_block_map(read_linked(linked), source=str(linked))
        graphs = find_graphs(mapped, unfolded.table)
    return UntrimmedProgram(
        target=target,
        identity=identities(session.results)[target],
        unfolded=unfolded,
        origins=link_map.read_map(session.done[LINKED].file(listed)),
        patterns=tuple(patterns),
        graphs=graphs,
        refusals=_find_refusals(target, unfolded, session),
    )


def _find_refusals(target: str, unfolded: UnfoldedLink, session: Session) -> tuple[Refusal, ...]:
    if not guards_exports(target, session):
        return ()
    rules = _list_refusal_rules(session)
    groups = unfolded.observables.groups
    return refusals.choose(unfolded.table, rules, groups, source=target)


def _list_refusal_rules(session: Session) -> tuple[RefusalRule, ...]:
    """The first one counts, so a configuration can say more of a function than an engine does.

    An engine with exceptions throws, and its own interface can return an error.
    """
    loaded = session.request.loaded
    alone = len(identities(session.results)) == 1
    rules = []
    for at, each in enumerate(loaded.config.trim.refusals):
        rule = RefusalRule(
            function=each.function,
            message=each.format or each.message or 0,
            formats=each.format is not None,
            where=loaded.describe("trim", "refusals", at),
            needed=alone,
        )
        rules.append(rule)
    if trims_plain_build(loaded.config):
        return tuple(rules)
    rules += [RefusalRule(function=each) for each in refusals.OF_HEADER]
    if Switch.EXCEPTIONS in switched_off(loaded.config.trim):
        rules += (*session.services.engine.refusals, *refusals.OF_CXX_LIBRARY)
    return tuple(rules)


def _count_written(value: object) -> int:
    """What the field reached follows what is written, and an older build alone may have had it."""
    if value is None:
        return 0
    return len(value) if isinstance(value, list) else 1


def specify_link(program: RelinkedProgram, session: Session) -> LinkSpec:
    sources: tuple[tuple[str, str], ...] = ()
    script = ""
    form = StubForm.SHARED
    if session.config.trim.crash_ids:
        sources = linker_script.numbered_sources(len(program.dropped))
        script = linker_script.named_script(program.dropped)
        form = StubForm.NUMBERED
    return LinkSpec(
        target=program.target,
        label=Link.SHIPPED,
        flags=shipped_flags(session),
        hidden=find_hidden(program.target, session),
        sources=sources,
        script=script,
        left_out=() if form is StubForm.NUMBERED else group_names(program.dropped, program.before),
        emptied=program.dropped,
        form=form,
        unwind_tables=size_options.keeps_unwind_tables(program.target, session),
    )


def group_names(names: Iterable[str], table: FunctionTable) -> tuple[tuple[str, ...], ...]:
    """Return the names of each function: it may have several."""
    address_of = {each.name: each.address for each in table.functions}
    groups: dict[int | str, list[str]] = {}
    for name in names:
        groups.setdefault(address_of.get(name, name), []).append(name)
    return tuple(map(tuple, groups.values()))


def guards_exports(target: str, session: Session) -> bool:
    """Whether a miss is an error: a program has no exports that could return it."""
    on_missing = session.config.trim.on_missing
    return on_missing == "error" and bool(applications.users(target, session))


def find_guards(program: RelinkedProgram, session: Session) -> tuple[Guard, ...]:
    """Raises InputError for exports of which the configuration does not say what they return."""
    loaded = session.request.loaded
    alone = len(identities(session.results)) == 1
    rules = []
    for at, each in enumerate(loaded.config.trim.errors):
        where = loaded.describe("trim", "errors", at) if alone else ""
        rule = ErrorRule(exports=each.exports, value=each.returns, handles=each.handle, where=where)
        rules.append(rule)
    left_out = frozenset(program.dropped)

    def may_miss(name: str) -> bool:
        return program.code.may_reach(name, left_out)

    return guards.choose(program.before, rules, may_miss, source=program.target)


def specify_guarded_link(
    program: RelinkedProgram, found: tuple[Guard, ...], session: Session
) -> LinkSpec:
    by_lld = session.services.toolchain.kind in size_options.WITH_LLD
    plain = specify_link(program, session)
    return guards.specify_link(plain, found, program.before, program.refusals, by_lld=by_lld)


def _read_objects(target: str, session: Session) -> tuple[str, ...]:
    if not splits_functions(session.config):
        return ()
    name = locate_unstripped(Link.UNFOLDED, f"{target}{OBJECTS}")
    return tuple(session.done[LINKED].file(name).read_text(encoding="utf-8").split())


def read_whole(target: str, folder: Path) -> tuple[str, ...]:
    """Return the units of a linked file that could not be cut, each with the reason."""
    listed = folder / locate_unstripped(Link.SHIPPED, f"{target}{WHOLE}")
    return tuple(listed.read_text(encoding="utf-8").splitlines()) if listed.is_file() else ()


def specify_deferring_link(program: RelinkedProgram, session: Session) -> LinkSpec:
    shared = bool(applications.users(program.target, session))
    by_lld = session.services.toolchain.kind in size_options.WITH_LLD
    folder = session.done[LINKED]
    size_bytes = folder.file(locate_stripped(Link.UNFOLDED, program.target)).stat().st_size
    unfolded = folder.file(locate_unstripped(Link.UNFOLDED, program.target))
    names = read_dynamic_names(unfolded)
    elsewhere = names.imported | (names.exported if shared else frozenset())
    whole = ElfLayout(read_linked(unfolded))
    own = {each.name for each in whole.symbols()}
    flags = (*shipped_flags(session), *rest.flags(by_lld=by_lld, shared=shared))
    return LinkSpec(
        target=program.target,
        label=Link.SHIPPED,
        flags=flags,
        hidden=find_hidden(program.target, session),
        sources=rest.sources(size_bytes),
        deferred=program.dropped,
        blocks=tuple(program.cuts.blocks.items()),
        objects=_read_objects(program.target, session),
        holders=program.holders,
        near=tuple(sorted(own - elsewhere)),
        layout=rest.layout(whole.machine, by_lld=by_lld, shared=shared),
        unwind_tables=size_options.keeps_unwind_tables(program.target, session),
    )
