"""What a link that ships leaves out, by the functions that a keep set names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from megtrim.build_spec import Link, LinkSpec, StubForm
from megtrim.chain.filenames import KEEP_SET_FILE
from megtrim.chain.graph import FUNCTIONS, LINKED
from megtrim.chain.session import Session
from megtrim.elf.layout import WITH_BUILD_ID
from megtrim.elf.symbol_table import FunctionTable
from megtrim.functions import link_map, linker_script
from megtrim.functions.calls import Disassembly
from megtrim.functions.keep_patterns import KeepPattern, keep_always
from megtrim.functions.link_map import LinkMap
from megtrim.regions.keepset import KeepSet, read_keep_set
from megtrim.trim.builds import links as linking
from megtrim.trim.builds import size_options
from megtrim.util.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class RelinkedProgram:
    """A program that is linked again."""

    target: str
    before: FunctionTable
    """Of its unfolded link."""
    kept: frozenset[str]
    dropped: tuple[str, ...]
    code: Disassembly
    """Of its unfolded link: who calls whom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UntrimmedProgram:
    """A program before a keep set says what it needs; one is good for many keep sets."""

    target: str
    identity: str
    """The link that lists of its functions are of."""
    unfolded: linking.UnfoldedLink
    origins: LinkMap
    patterns: tuple[KeepPattern, ...]
    """What stays whatever ran."""

    def trim(self, keep: KeepSet) -> RelinkedProgram:
        """Return the program with what a keep set needs. Raises InputError if that is nothing."""
        records = [each for each in keep.scenarios if each.link_sha256 == self.identity]
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
        """Return the functions that are left out if these ones are needed, sorted."""
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


def find_programs(session: Session) -> list[RelinkedProgram]:
    """Return every program that is linked again, with what this trim's keep set needs of it."""
    keep = read_keep_set(session.results.done[FUNCTIONS].file(KEEP_SET_FILE))
    return [read_program(target, session).trim(keep) for target in identities(session)]


def identities(session: Session) -> dict[str, str]:
    """Return the link identity of every program that is linked again, by its name."""
    return linking.identities(session.results)


def read_program(target: str, session: Session) -> UntrimmedProgram:
    """Read a program's unfolded link."""
    listed = linking.locate_unstripped(Link.UNFOLDED, f"{target}.map")
    return UntrimmedProgram(
        target=target,
        identity=identities(session)[target],
        unfolded=linking.read_unfolded(target, session.results),
        origins=link_map.read_map(session.results.done[LINKED].file(listed)),
        patterns=tuple(_iter_keep_patterns(session)),
    )


def _iter_keep_patterns(session: Session) -> Iterator[KeepPattern]:
    """Yield the patterns of what stays whatever ran: the engine's, and the team's own.

    Of several programs one may well not have what another has: that is no mistake.
    """
    loaded = session.request.loaded
    alone = len(identities(session)) == 1
    for text in session.services.engine.kept:
        yield KeepPattern(text=text)
    for at, text in enumerate(loaded.config.trim.keep):
        where = f"{loaded.path}:{loaded.line('trim', 'keep', at)}" if alone else ""
        yield KeepPattern(text=text, where=where)


def specify_link(program: RelinkedProgram, session: Session) -> LinkSpec:
    """Return the link of a program that ships."""
    numbered = session.request.config.trim.crash_ids
    count = len(program.dropped)
    script = linker_script.named_script if numbered else linker_script.script
    return LinkSpec(
        target=program.target,
        label=Link.SHIPPED,
        flags=linking.shipped_flags(session),
        sources=linker_script.numbered_sources(count) if numbered else linker_script.SOURCES,
        script=script(program.dropped),
        emptied=program.dropped,
        form=StubForm.NUMBERED if numbered else StubForm.SHARED,
        unwind_tables=size_options.keeps_unwind_tables(program.target, session),
    )


def specify_whole_link(target: str) -> LinkSpec:
    """Return the link of a file of which nothing is left out."""
    return LinkSpec(target=target, label=Link.SHIPPED, flags=(WITH_BUILD_ID,))
