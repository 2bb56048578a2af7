"""What the stages `functions` and `reduce` share: the base build, linked in other ways."""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.build.engines.link.relink import LINKS
from megtrim.build_spec import UNSTRIPPED, BuildSpec, Link, Variant
from megtrim.chain.filenames import DROPPED_FILE
from megtrim.chain.graph import LINKED, trims_plain_build
from megtrim.chain.session import Session, TaskResults
from megtrim.chain.store import StageFolder
from megtrim.elf.layout import WITH_BUILD_ID
from megtrim.elf.symbol_table import FunctionTable, parse_table, read_linked
from megtrim.functions.calls import Disassembly, parse_code
from megtrim.functions.observables import Observables, read_observables
from megtrim.trim.builds import programs, size_options, variants
from megtrim.trim.results import UnfoldedLinksResult

KEEP_SET = "keep set"
"""What the inputs of the link that ships call the file that lists its functions."""
BASE = "base"
"""What they call the build whose objects it links."""


def make_base_spec(session: Session) -> BuildSpec:
    """Return the build whose objects are linked again."""
    if trims_plain_build(session.request.config):
        return variants.make_spec(session, Variant.PLAIN, {})
    return variants.make_spec(session, Variant.REDUCED, variants.header_files(session.results))


def base_inputs(session: Session) -> dict[str, str]:
    """Name what that build depends on."""
    named = variants.inputs(session, make_base_spec(session))
    return (
        named
        if trims_plain_build(session.request.config)
        else named | variants.header_inputs(session.results)
    )


def shipped_inputs(session: Session) -> dict[str, str]:
    """Name what the link that ships depends on and that is known before functions are recorded."""
    return base_inputs(session) | {
        "kept whatever ran": "\n".join(
            (*session.services.engine.kept, *session.request.config.trim.keep)
        ),
        "flags": " ".join(shipped_flags(session)),
        "without unwind tables": " ".join(
            target
            for target in programs.linked_again(session.request)
            if not size_options.keeps_unwind_tables(target, session)
        ),
        **({"crash ids": "each stub"} if session.request.config.trim.crash_ids else {}),
    }


def shipped_flags(session: Session) -> tuple[str, ...]:
    """Return the flags of the links that ship, beyond those of the base build.

    A build id among them: the plain build, from which such a link may start, has none.
    """
    return (*size_options.relink_flags(session), WITH_BUILD_ID)


def read_dropped(reduced: StageFolder, target: str) -> tuple[str, ...] | None:
    """Return the functions that were left out of a program; None if none of it was trimmed."""
    listed = DROPPED_FILE.format(target=target)
    if listed not in reduced.files:
        return None
    return tuple(reduced.file(listed).read_text(encoding="utf-8").split())


def locate_unstripped(label: str, target: str) -> str:
    """Return where a link with symbols lies in a stage's folder."""
    return f"{LINKS}/{label}/{target}"


def observables(target: str) -> str:
    """Return where a stage's folder states what can be observed of a target's unfolded link."""
    return locate_unstripped(Link.UNFOLDED, f"{target}.observables")


def locate_stripped(label: Link, target: str) -> str:
    """Return where the stripped copy of a link lies in a stage's folder."""
    return f"{LINKS}/{label}/stripped/{target}"


def locate_named(folder: StageFolder, name: str) -> str:
    """Return where a stage's folder has an artifact with its symbols; empty if it has none.

    As it was linked again, or as it was built.
    """
    places = (locate_unstripped(Link.SHIPPED, name), f"{UNSTRIPPED}/{name}")
    return next((each for each in places if each in folder.files), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfoldedLink:
    """What a program's unfolded link holds, in which each function has bytes of its own."""

    table: FunctionTable
    code: Disassembly
    observables: Observables

    @property
    def unseen(self) -> frozenset[str]:
        """Functions that may have run, and that some recorder does not tell of."""
        return frozenset(each.name for each in self.table.functions) - self.observables.names()


def read_unfolded(target: str, results: TaskResults) -> UnfoldedLink:
    """Read a program's unfolded link."""
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
    """Return the link identity of each program, by bytes and names of its unfolded link.

    Equal ones hold equal functions: a list is of use for no other link.
    """
    return dict(results.done[LINKED].result_as(UnfoldedLinksResult).links)
