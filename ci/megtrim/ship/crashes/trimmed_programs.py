"""The trimmed programs of a folder of results, as crashes are looked up in them."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import FUNCTIONS, HEADER, REDUCED, REGION, Stage, task_name
from megtrim.core.chain.result_store import StageFolder, Store, content_of, made_by_another
from megtrim.core.functions import guards
from megtrim.core.functions.linker_script import STUB, is_stub
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.keep.marks import find_trap_reader
from megtrim.core.trim.builds import links as linking
from megtrim.core.trim.builds.variants import header_inputs
from megtrim.core.trim.results import FunctionsKeepSetResult, HeaderResult, ReduceResult
from megtrim.libs.elf.layout import LOADED, parse_build_id, segments
from megtrim.libs.elf.symbol_table import FunctionTable, find_whole, read_linked, read_table
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.ship.crashes.build_ids import is_part
from megtrim.ship.crashes.program import TrimmedProgram

_BINARIES = "bin/"


class FinishedTrim(Value):
    programs: tuple[TrimmedProgram, ...]
    """Those whose twin with symbols is there, at least one; the others are ``nameless``."""
    nameless: tuple[str, ...]
    keep: KeepSet


def read_newest(store: Store, build_ids: Collection[str] = ()) -> FinishedTrim:
    """Read the newest trim with a program of ``build_ids``, or if there is none, the newest one."""

    def fits(folder: StageFolder) -> bool:
        files = (folder.file(f"{_BINARIES}{name}") for name in _list_programs(folder))
        own = [parse_build_id(read_linked(file)) for file in files]
        return any(is_part(asked, each) for asked in build_ids for each in own if each)

    find = partial(store.previous, Stage.REDUCE, ReduceResult, task_name(REDUCED))
    reduced = (find(fits=fits) if build_ids else None) or find()
    keep = _read_keep_set(reduced, store) if reduced else None
    if reduced is None or keep is None:
        if reduced is None and store.holds_foreign(Stage.REDUCE, task_name(REDUCED)):
            raise made_by_another(store.root)
        msg = f"there is no trimmed program in {store.root} yet"
        raise InputError(msg, hint="name its folder with --out, or trim", command=("trim",))
    base = _find_base(reduced, store)
    names = sorted(_list_programs(reduced))
    found = {name: read_program(name, reduced, base, keep) for name in names}
    return finish_trim(found, keep, shown=str(reduced.path))


def _list_programs(reduced: StageFolder) -> list[str]:
    return [
        file.removeprefix(_BINARIES)
        for file in reduced.files
        if file.startswith(_BINARIES) and not file.endswith(REST_SUFFIX)
    ]


def finish_trim(
    found: Mapping[str, TrimmedProgram | None], keep: KeepSet, *, shown: str
) -> FinishedTrim:
    programs = tuple(each for each in found.values() if each is not None)
    if not programs:
        msg = f"{shown}: no program has a twin with symbols"
        hint = "this toolchain strips while it links: use another one, or trim.level: function"
        raise InputError(msg, hint=hint)
    nameless = tuple(name for name, each in found.items() if each is None)
    return FinishedTrim(programs=programs, nameless=nameless, keep=keep)


def _read_keep_set(reduced: StageFolder, store: Store) -> KeepSet | None:
    digest = reduced.inputs.get(linking.KEEP_SET)
    if digest is None:
        made = store.previous(
            Stage.HEADER,
            HeaderResult,
            task_name(HEADER),
            fits=lambda folder: header_inputs(folder).items() <= reduced.inputs.items(),
        )
    else:
        made = store.previous(
            Stage.FUNCTIONS,
            FunctionsKeepSetResult,
            task_name(FUNCTIONS),
            fits=lambda folder: folder.files.get(KEEP_SET_FILE) == digest,
        )
    return read_keep_set(made.file(KEEP_SET_FILE)) if made else None


def _find_base(reduced: StageFolder, store: Store) -> StageFolder | None:
    content = reduced.inputs.get(linking.BASE)
    if content is None:
        return None
    return store.previous(
        Stage.REDUCE,
        ReduceResult,
        task_name(REGION),
        fits=lambda folder: content_of(folder) == content,
    )


def read_program(
    name: str, reduced: StageFolder, base: StageFolder | None, keep: KeepSet
) -> TrimmedProgram | None:
    """Return None if it has no twin with symbols. ``base``: may have twins of what it was."""
    table = _read_twin(name, reduced)
    if table is None and base is not None:
        table = _read_twin(name, base)
    if table is None:
        return None
    shipped = read_linked(reduced.file(f"{_BINARIES}{name}"))
    dropped = tuple(sorted(linking.read_dropped(reduced, name) or ()))
    crash_ids = reduced.result_as(ReduceResult).crash_ids
    return make_program(name, shipped, table, dropped, keep, crash_ids=crash_ids)


def make_program(
    name: str,
    shipped: bytes,
    table: FunctionTable,
    left_out: tuple[str, ...],
    keep: KeepSet,
    *,
    crash_ids: bool | None,
) -> TrimmedProgram:
    """``crash_ids``: what the trim says; None: it is a release of an older megtrim, guess."""
    return TrimmedProgram(
        name=name,
        shipped=shipped,
        table=table,
        left_out=tuple(sorted({*left_out, *_find_parts(name, shipped, table)})),
        trims_regions=bool(keep.regions()),
        crash_ids=_guess_crash_ids(table) if crash_ids is None else crash_ids,
    )


def _find_parts(name: str, shipped: bytes, table: FunctionTable) -> Iterator[str]:
    """Yield the parts of functions that lie where the file has addresses and no bytes."""
    empty = [
        range(each.address, each.address + each.memory_bytes)
        for each in segments(shipped, source=name)
        if each.kind == LOADED and each.memory_bytes and not each.size_bytes
    ]
    for function in table.functions:
        is_part = find_whole(function.name) != function.name
        if is_part and any(function.address in place for place in empty):
            yield function.name


def _read_twin(name: str, build: StageFolder) -> FunctionTable | None:
    at = linking.locate_named(build, name)
    if not at:
        return None
    try:
        return read_table(build.file(at))
    except InputError:
        return None  # stripped by the linker, or of a machine that megtrim cannot read


def _guess_crash_ids(table: FunctionTable) -> bool:
    if guards.MISSING in table.exported:
        return False  # its stubs have numbers as well, and trap all in one place
    read_trap = find_trap_reader()
    if any(read_trap(function.name) for function in table.functions):
        return True
    # Without crash ids, only functions whose address code takes have a stub of their own.
    return STUB not in table.names and any(map(is_stub, table.names))
