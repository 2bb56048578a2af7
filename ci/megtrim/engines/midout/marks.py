"""midout for the core: the marks of an engine that includes its header as MegEngine does."""

import re
from collections.abc import Callable, Iterable

from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.region import Region
from megtrim.core.keep.trace import Trace
from megtrim.engines.midout.header import (
    NOTHING_INSERTED,
    Inserted,
    Layout,
    Scopes,
    render,
)
from megtrim.engines.midout.names import NameTable
from megtrim.engines.midout.spelling import find_trap
from megtrim.engines.midout.trace import (
    check_trace,
    find_marked,
    parse_announced_count,
    parse_trace,
    regions_in_binary,
)
from megtrim.libs.util.errors import ProductFailure

_UNKNOWN_GRAPH = re.compile(
    r"Graph \(with hash ([0-9]{1,20})\) is not among the graphs fed to midout", re.ASCII
)


class MidoutTraces:
    variable = "MIDOUT_OUTPUT"

    def parse(self, data: bytes, *, source: str) -> Trace:
        return parse_trace(data, source=source)

    def check(self, data: bytes | None, *, said: str, source: str) -> Trace:
        return check_trace(data, announced=parse_announced_count(said), source=source)

    def find_trap(self, name: str) -> Region | None:
        return find_trap(name)

    def find_unknown_graph(self, said: str) -> str:
        found = _UNKNOWN_GRAPH.search(said)
        return found[1] if found else ""


TRACES = MidoutTraces()


class Midout:
    traces = TRACES

    def __init__(
        self,
        *,
        modes: Callable[[], tuple[tuple[str, int], ...]],
        scopes: Callable[[], Scopes],
        texts: Callable[[], Iterable[tuple[str, str]]],
        inserted: Inserted = NOTHING_INSERTED,
    ) -> None:
        """Each reads the engine's tree when it is asked.

        ``modes``: name and value of all elementwise modes, for the header must name each one;
        ``scopes``: the parts of a keep set that can have files of their own, by the sources;
        ``texts``: relative path and text of the sources that may mark regions.
        ``inserted``: the operators that regions put into a graph.
        """
        self._modes = modes
        self._scopes = scopes
        self._texts = texts
        self._inserted = inserted

    def find_held(self, program: bytes, *, name: str) -> tuple[Region, ...]:
        regions = regions_in_binary(program)
        if not regions:
            msg = f"the profile build of {name} contains no midout regions"
            raise ProductFailure(msg, hint="is it linked statically against the engine?")
        return regions

    def find_marked(self, names: Iterable[str]) -> dict[str, Region]:
        return find_marked(names)

    def header_facts(self, layout: str) -> dict[str, str]:
        return {
            "elementwise modes": str(self._modes()),
            "files of their own": str(self._scopes_in(layout)),
        }

    def render_header(
        self, keep: KeepSet, *, layout: str, crash_ids: bool, errors: bool = False
    ) -> dict[str, str]:
        rendered = render(
            keep,
            layout=Layout(layout),
            elemwise_modes=self._modes(),
            scopes=self._scopes_in(layout),
            crash_ids=crash_ids,
            errors=errors,
            inserted=self._inserted,
        )
        return dict(rendered.files)

    def read_names(self) -> NameTable:
        return NameTable(self._texts())

    def _scopes_in(self, layout: str) -> Scopes:
        return self._scopes() if layout == Layout.SCOPED else Scopes()
