"""What an engine whose code is marked with regions does for the core; an engine may have no marks.

Only code that regions alone reach asks for them: what makes, reads or explains a keep set that
holds regions.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.region import Region
from megtrim.core.keep.trace import Trace
from megtrim.core.parts import find_parts, load


class RegionTraces(Protocol):
    """What programs leave of their regions; reading it needs no tree of the engine."""

    @property
    def variable(self) -> str:
        """Of the environment: it names the file that a run leaves."""

    def parse(self, data: bytes, *, source: str) -> Trace:
        """Raises InputError naming ``source:line``."""

    def check(self, data: bytes | None, *, said: str, source: str) -> Trace:
        """Parse what a run left that said this on its standard error. Raises TraceFailure."""

    def find_trap(self, name: str) -> Region | None:
        """Return the region that the function with this linkage name traps for."""

    def find_unknown_graph(self, said: str) -> str:
        """Return the hash of a model that a run warned of, as not being in the header; or none."""


class RegionNames(Protocol):
    """What regions are called in the engine's source, and where they are."""

    @property
    def tags(self) -> tuple[str, ...]: ...

    def meaning(self, region: Region) -> str:
        """Empty where its own name says all that is known."""

    def places(self, region: Region) -> tuple[tuple[str, int], ...]:
        """Return files, relative to the engine's root, and lines."""


class RegionMarks(Protocol):
    @property
    def traces(self) -> RegionTraces: ...

    def find_held(self, program: bytes, *, name: str) -> tuple[Region, ...]:
        """Return the regions of the profile build's program. Raises ProductFailure for none."""

    def find_marked(self, names: Iterable[str]) -> Mapping[str, Region]:
        """Return the regions that these linkage names mark in a program of the profile build."""

    def header_facts(self, layout: str) -> dict[str, str]:
        """What the header depends on besides the keep set and settings."""

    def render_header(
        self, keep: KeepSet, *, layout: str, crash_ids: bool, errors: bool = False
    ) -> dict[str, str]:
        """Return texts of generated files by name. Raises InputError for another engine's keep set.

        ``crash_ids``: each region that is left out has a trap of its own. ``errors``: it calls a
        function, and so does each trap of the engine, so that a library can return errors.
        """

    def read_names(self) -> RegionNames:
        """Read all sources that may mark regions."""


def find_traces() -> RegionTraces:
    found: RegionTraces = load(find_parts().traces, "traces of regions")
    return found


def find_trap_reader() -> Callable[[str], Region | None]:
    """Return what tells the region that a function traps for, by its linkage name.

    Without a part that knows regions, no function is such a trap.
    """
    return find_traces().find_trap if find_parts().traces else _read_no_trap


def _read_no_trap(_name: str) -> Region | None:
    return None
