"""Copies of a link's inputs in which functions that never ran are emptied.

The inputs themselves are the build's own, and other links go on using them.
"""

from __future__ import annotations

import mmap
import shutil
from collections.abc import Sequence
from pathlib import Path

from megtrim.build_spec import LinkSpec
from megtrim.engines.link import inputs
from megtrim.engines.link.invocation import LinkEnvironment
from megtrim.functions import link_map, local_functions
from megtrim.store import cannot_write

_UNWINDERS = frozenset({"libgcc_eh.a", "libgcc_real.a"})
"""They abort where they do not find tables of their own, and a message with them."""


def copies(argv: Sequence[str], *, bench: LinkEnvironment, spec: LinkSpec) -> tuple[str, ...]:
    """Return the link command with copies in the place of inputs that differ when emptied.

    Libraries that a compiler's driver adds of its own stay as they are, and so do the C library
    and the compiler's own. Each copy lies in a folder of its own in the bench's scratch, for
    linkers know archives by name. Raises InputError for a damaged object or archive.
    """
    names = local_functions.number_names(spec.emptied)
    made: dict[Path, str] = {}
    words = [argv[0]]
    for word, path in inputs.resolve_argv(argv[1:], bench):
        if path is None or link_map.is_platform(path.name):
            words.append(word)
            continue
        if path not in made:
            copy = bench.scratch / "inputs" / str(len(made)) / path.name
            made[path] = str(copy) if _copy_edited(path, copy, names, spec) else word
        words.append(made[path])
    return tuple(words)


def _copy_edited(path: Path, copy: Path, names: dict[bytes, int], spec: LinkSpec) -> bool:
    """Make an edited copy; say whether there was anything to edit."""
    edits = local_functions.edits(
        path.read_bytes(),
        names,
        source=str(path),
        named=spec.named,
        unwind_tables=spec.unwind_tables or path.name in _UNWINDERS,
    )
    if not edits:
        return False
    try:
        copy.parent.mkdir(parents=True)
        shutil.copyfile(path, copy)
        with copy.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
            for at, new in edits:
                content[at : at + len(new)] = new
    except OSError as error:
        raise cannot_write(copy, error) from None
    return True
