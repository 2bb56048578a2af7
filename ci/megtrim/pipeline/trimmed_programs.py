"""The trimmed programs of a folder of results, as crashes are looked up in them."""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.build_spec import Link
from megtrim.crashes.program import TrimmedProgram, read_unfolded
from megtrim.elf.symbol_table import FunctionTable, read_linked, read_table
from megtrim.errors import InputError
from megtrim.functions.calls import Disassembly
from megtrim.functions.linker_script import STUB, is_stub
from megtrim.midout.header import LEFT_OUT
from megtrim.midout.keepset import KeepSet, read_keep_set
from megtrim.pipeline.building import links as linking
from megtrim.pipeline.building.variants import name_headers
from megtrim.pipeline.filenames import DROPPED_FILE, KEEP_SET_FILE
from megtrim.pipeline.results import (
    FunctionsKeepSetResult,
    HeaderResult,
    ReduceResult,
    UnfoldedLinksResult,
)
from megtrim.plan.graph import FUNCTIONS, HEADER, LINKED, REDUCED, Stage, task_name
from megtrim.store import StageFolder, Store

_BINARIES = "bin/"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTrim:
    """What the newest trim in a folder of results made."""

    programs: tuple[TrimmedProgram, ...]
    """Those whose twin with symbols is there, at least one."""
    nameless: tuple[str, ...]
    """The others."""
    keep: KeepSet


def read_newest(store: Store) -> FinishedTrim:
    """Read the newest trim. Raises InputError if there is none, or none with symbols."""
    reduced = store.previous(Stage.REDUCE, ReduceResult, task_name(REDUCED))
    keep = _read_keep_set(reduced, store) if reduced else None
    if reduced is None or keep is None:
        msg = f"there is no trimmed program in {store.root} yet"
        raise InputError(msg, hint="name its folder with --out, or trim", command=("trim",))
    names = [each.removeprefix(_BINARIES) for each in reduced.files if each.startswith(_BINARIES)]
    twins = {name: _read_twin(name, reduced) for name in sorted(names)}
    programs = tuple(
        _read_program(name, table, reduced, keep, store) for name, table in twins.items() if table
    )
    if not programs:
        msg = f"{reduced.path}: no program has a twin with symbols"
        hint = "this toolchain strips while it links: use another one, or trim.level: function"
        raise InputError(msg, hint=hint)
    nameless = tuple(name for name, table in twins.items() if not table)
    return FinishedTrim(programs=programs, nameless=nameless, keep=keep)


def _read_keep_set(reduced: StageFolder, store: Store) -> KeepSet | None:
    """Read the keep set that the program was made of."""
    digest = reduced.inputs.get(linking.KEEP_SET)
    if digest is None:
        made = store.previous(
            Stage.HEADER,
            HeaderResult,
            task_name(HEADER),
            fits=lambda folder: name_headers(folder).items() <= reduced.inputs.items(),
        )
    else:
        made = store.previous(
            Stage.FUNCTIONS,
            FunctionsKeepSetResult,
            task_name(FUNCTIONS),
            fits=lambda folder: folder.files.get(KEEP_SET_FILE) == digest,
        )
    return read_keep_set(made.file(KEEP_SET_FILE)) if made else None


def _read_twin(name: str, reduced: StageFolder) -> FunctionTable | None:
    """Return the functions of a program's twin, None if there is none with symbols."""
    place = linking.locate_named(reduced, name)
    if not place:
        return None
    twin = reduced.file(place)
    try:
        return read_table(twin)
    except InputError:
        return None  # stripped by the linker, or of a machine whose functions megtrim cannot read


def _read_program(
    name: str, table: FunctionTable, reduced: StageFolder, keep: KeepSet, store: Store
) -> TrimmedProgram:
    listed = DROPPED_FILE.format(target=name)
    dropped: tuple[str, ...] = ()
    if listed in reduced.files:
        dropped = tuple(reduced.file(listed).read_text(encoding="utf-8").split())
    unfolded = _find_unfolded(name, reduced, store) if dropped else None
    code, pointers = unfolded if unfolded else (None, None)
    return TrimmedProgram(
        name=name,
        shipped=read_linked(reduced.file(f"{_BINARIES}{name}")),
        table=table,
        dropped=dropped,
        unfolded=code,
        pointers=pointers,
        trims_regions=bool(keep.regions()),
        crash_ids=_has_crash_ids(table),
    )


def _find_unfolded(
    name: str, reduced: StageFolder, store: Store
) -> tuple[Disassembly, frozenset[int] | None] | None:
    made = store.previous(
        Stage.FUNCTIONS,
        UnfoldedLinksResult,
        task_name(LINKED),
        fits=lambda folder: (
            folder.result_as(UnfoldedLinksResult).links.get(name)
            == reduced.inputs.get(f"link {name}")
        ),
    )
    if made is None:
        return None
    program = made.file(linking.locate_unstripped(Link.UNFOLDED, name))
    return read_unfolded(read_linked(program), source=str(program))


def _has_crash_ids(table: FunctionTable) -> bool:
    """Return whether functions or regions that are left out have traps of their own."""
    return any(
        LEFT_OUT in each.name or (is_stub(each.name) and each.name != STUB)
        for each in table.functions
    )
