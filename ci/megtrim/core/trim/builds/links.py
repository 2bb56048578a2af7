"""What the stages `functions` and `reduce` share: the base build, linked in other ways."""

import fnmatch
import shutil
from collections.abc import Iterator
from pathlib import Path

from megtrim.core.build_spec import UNSTRIPPED, BuildSpec, Link, LinkSpec, StubForm, Variant
from megtrim.core.chain.filenames import BLOCKS_FILE, DROPPED_FILE, KEEP_SET_FILE
from megtrim.core.chain.graph import (
    FUNCTIONS,
    HEADER,
    LINKED,
    base_task,
    defers_functions,
    functions_task,
    splits_functions,
    trims_plain_build,
)
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session, TaskResults, binary
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.config.value_types import OF_APPLICATIONS
from megtrim.core.functions import link_map, linker_script, rest
from megtrim.core.functions.blocks import join, read_blocks
from megtrim.core.functions.calls import Disassembly, parse_code
from megtrim.core.functions.kept_functions import KeepPattern, keep_always
from megtrim.core.functions.link_map import LinkMap
from megtrim.core.functions.observables import Observables, read_observables
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.trim.builds import applications, size_options, variants
from megtrim.core.trim.results import UnfoldedLinksResult
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
from megtrim.places.compile.projects.link.relink import LINKS

KEEP_SET = "keep set"

BASE = "base"


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


class UntrimmedProgram(Value):
    target: str
    identity: str
    unfolded: UnfoldedLink
    origins: LinkMap
    patterns: tuple[KeepPattern, ...]

    def trim(self, keep: KeepSet) -> RelinkedProgram:
        """Raises InputError if the keep set needs nothing of it."""
        records = [scenario for scenario in keep.scenarios if scenario.link_sha256 == self.identity]
        ran = frozenset(name for record in records for name in record.functions)
        if not ran:
            msg = (
                f"{self.target}: no scenario lists functions of this link, "
                "so nothing of it would stay"
            )
            raise InputError(msg, hint="record them", command=("trim",))
        return RelinkedProgram(
            target=self.target,
            before=self.unfolded.table,
            kept=ran,
            dropped=self.find_dropped(ran),
            code=self.unfolded.code,
        )

    def find_dropped(self, ran: frozenset[str]) -> tuple[str, ...]:
        always = keep_always(
            self.patterns,
            ran=ran,
            unseen=self.unfolded.unseen,
            code=self.unfolded.code,
            origins=self.origins,
        )
        return linker_script.droppable(
            self.unfolded.table, {*ran, *always}, self.unfolded.observables
        )


def make_base_spec(session: Session) -> BuildSpec:
    if trims_plain_build(session.request.config):
        return variants.make_spec(session, Variant.PLAIN, {})
    return variants.make_spec(session, Variant.REDUCED, variants.header_files(session.results))


def base_inputs(session: Session) -> dict[str, str]:
    named = variants.inputs(session, make_base_spec(session))
    return (
        named
        if trims_plain_build(session.request.config)
        else named | variants.header_inputs(session.results.done[HEADER])
    )


def shipped_inputs(session: Session) -> dict[str, str]:
    config = session.request.config
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
        named |= _blocks_inputs(session)
    if config.trim.crash_ids:
        named["crash ids"] = "each stub"
    return named


def _blocks_inputs(session: Session) -> dict[str, str]:
    return {
        f"blocks {scenario.id}": folder.files[BLOCKS_FILE]
        for scenario, folder in _iter_records(session)
    }


def _iter_records(session: Session) -> Iterator[tuple[Scenario, StageFolder]]:
    """Of a committed keep set there are none: its functions stay whole."""
    for scenario in all_scenarios(session.request.config):
        folder = session.results.done.get(functions_task(scenario))
        if folder is not None and BLOCKS_FILE in folder.files:
            yield scenario, folder


def read_joined_blocks(target: str, session: Session) -> dict[str, tuple[int, ...]]:
    """Return the blocks that any scenario ran, of the functions of a program that may be cut."""
    identity = identities(session.results)[target]
    lists = [read_blocks(folder.file(BLOCKS_FILE)) for _, folder in _iter_records(session)]
    return join(each.blocks for each in lists if each.link_sha256 == identity)


def exports_input(session: Session) -> dict[str, str]:
    asked = session.request.config.trim.exports
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
    base = session.results.done[base_task(session.request.config)]
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


def copy_users(label: Link, session: Session, folder: Path) -> None:
    """Put next to each shared object of these links the programs of scenarios that load it."""
    base = session.results.done[base_task(session.request.config)]
    for library in applications.linked_again(session):
        for name in applications.users(library, session):
            copy = folder / locate_unstripped(label, name)
            with guard_write(copy):
                shutil.copy2(binary(base, name), copy)


def find_programs(session: Session) -> list[RelinkedProgram]:
    keep = read_keep_set(session.results.done[FUNCTIONS].file(KEEP_SET_FILE))
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
    return UntrimmedProgram(
        target=target,
        identity=identities(session.results)[target],
        unfolded=read_unfolded(target, session.results),
        origins=link_map.read_map(session.results.done[LINKED].file(listed)),
        patterns=tuple(patterns),
    )


def _count_written(value: object) -> int:
    """What the field reached follows what is written, and an older build alone may have had it."""
    if value is None:
        return 0
    return len(value) if isinstance(value, list) else 1


def specify_link(program: RelinkedProgram, session: Session) -> LinkSpec:
    sources: tuple[tuple[str, str], ...] = linker_script.SOURCES
    script = linker_script.script(program.dropped)
    form = StubForm.SHARED
    if session.request.config.trim.crash_ids:
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
        emptied=program.dropped,
        form=form,
        unwind_tables=size_options.keeps_unwind_tables(program.target, session),
    )


def _blocks_of(
    program: RelinkedProgram, session: Session
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    if not splits_functions(session.request.config):
        return ()
    found = read_joined_blocks(program.target, session)
    return tuple((name, numbers) for name, numbers in found.items() if name in program.kept)


def specify_deferring_link(program: RelinkedProgram, session: Session) -> LinkSpec:
    shared = bool(applications.users(program.target, session))
    by_lld = session.services.toolchain.kind in size_options.WITH_LLD
    folder = session.results.done[LINKED]
    size_bytes = folder.file(locate_stripped(Link.UNFOLDED, program.target)).stat().st_size
    unfolded = folder.file(locate_unstripped(Link.UNFOLDED, program.target))
    names = read_dynamic_names(unfolded)
    elsewhere = names.imported | (names.exported if shared else frozenset())
    own = {each.name for each in ElfLayout(read_linked(unfolded)).symbols()}
    flags = (*shipped_flags(session), *rest.flags(by_lld=by_lld, shared=shared))
    return LinkSpec(
        target=program.target,
        label=Link.SHIPPED,
        flags=flags,
        hidden=find_hidden(program.target, session),
        sources=rest.sources(size_bytes),
        deferred=program.dropped,
        blocks=_blocks_of(program, session),
        near=tuple(sorted(own - elsewhere)),
        layout=rest.layout(by_lld=by_lld, shared=shared),
        unwind_tables=size_options.keeps_unwind_tables(program.target, session),
    )
