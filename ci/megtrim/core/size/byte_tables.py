"""What the bytes of built files are: by symbols of the copy that was not stripped."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from megtrim.core.build_spec import UNSTRIPPED, BuildSpec, LinkSpec, Variant
from megtrim.core.chain.filenames import BYTE_TABLES_FILE
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session
from megtrim.core.size.attribution import NameSources
from megtrim.core.size.baseline import dump_sizes, load_sizes
from megtrim.core.size.breakdown import Breakdown, break_down
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.byte_table import ByteTable, make_table
from megtrim.core.size.views import View
from megtrim.core.trim.builds import links as linking
from megtrim.core.trim.builds import variants
from megtrim.libs.elf.symbol_table import read_linked
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.places.compile.projects.link.relink import LINKS

_PLAIN = str(Variant.PLAIN)
_MOST_BYTES = 96 * 1024
"""Of a plain build's table as a document: it is read for what is large."""


def break_down_file(path: Path, named: Path | None, *, deflate: bool = False) -> Breakdown:
    """``named``: the copy with symbols. Raises InputError."""
    names = NameSources()
    if named is not None:
        names = NameSources(twin=read_linked(named), twin_source=str(named))
    return break_down(read_linked(path), names, source=str(path), deflate=deflate)


def leave_tables(
    folder: Path, wanted: BuildSpec, artifacts: Iterable[str], session: Session
) -> None:
    """Write the plain build's tables, remove its copies with symbols; a failure costs one table."""
    sizes: dict[tuple[str, str], int] = {}
    tables: dict[tuple[str, str], ByteTable] = {}
    console = session.console
    leave_symbols(folder, wanted, artifacts, session)
    for name in sorted(artifacts):
        console.note(f"finding what each byte of {name} is")
        named = folder / UNSTRIPPED / name
        if not named.is_file():
            continue
        try:
            found = break_down_file(folder / "bin" / name, named)
        except InputError as error:
            console.warn(f"the bytes left out of {name} will not be known: {error.message}")
            continue
        sizes[name, _PLAIN] = found.sizes.file_bytes
        tables[name, _PLAIN] = make_table(found.by_component(View.SYMBOL), most_bytes=_MOST_BYTES)
    if tables:
        text = dump_sizes(Baseline(sizes=sizes, parts=tables))
        (folder / BYTE_TABLES_FILE).write_text(text, encoding="utf-8")
    if session.config.work is None:
        shutil.rmtree(folder / UNSTRIPPED, ignore_errors=True)


def leave_symbols(
    folder: Path, wanted: BuildSpec, artifacts: Iterable[str], session: Session
) -> None:
    """A link that cannot be made costs its own copy; one that a full disk ended ends the stage."""
    if session.services.toolchain.strip is not None:
        return  # the build stripped copies
    for name in sorted(artifacts):
        spec = LinkSpec(target=name, label=UNSTRIPPED, strip=False)
        try:
            variants.link(session, wanted, (spec,), folder)
        except (InputError, ProductFailure) as error:
            session.console.warn(f"{name} has no copy with symbols: {error.message}")
            continue
        (folder / UNSTRIPPED).mkdir(exist_ok=True)
        made = folder / linking.locate_unstripped(UNSTRIPPED, name)
        made.rename(folder / UNSTRIPPED / name)
    shutil.rmtree(folder / LINKS, ignore_errors=True)


def read_tables(plain: StageFolder) -> Mapping[str, ByteTable]:
    if BYTE_TABLES_FILE not in plain.files:
        return {}
    path = plain.file(BYTE_TABLES_FILE)
    return {name: table for (name, _), table in load_sizes(path, shown=str(path)).parts.items()}
