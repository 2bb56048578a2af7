"""Copies of a link's inputs in which functions that never ran are replaced by traps.

The inputs themselves belong to the build, and other links use them unchanged.
"""

from __future__ import annotations

import mmap
import shutil
from collections.abc import Sequence
from pathlib import Path

from megtrim.build.engines.link import inputs
from megtrim.build.engines.link.invocation import LinkEnvironment
from megtrim.build_spec import LinkSpec
from megtrim.functions import link_map, local_functions
from megtrim.util.files import cannot_write

_UNWINDERS = frozenset({"libgcc_eh.a", "libgcc_real.a"})
"""They abort, without their message, if they do not find unwind tables of their own."""


def copies(argv: Sequence[str], *, link_env: LinkEnvironment, spec: LinkSpec) -> tuple[str, ...]:
    """Return the link command with edited copies in place of inputs that need an edit.

    Libraries that a compiler driver adds by itself are not edited, and neither are the C library
    and the compiler's own. Each copy has a scratch folder of its own, because linkers identify
    archives by name. Raises InputError for a damaged object or archive.
    """
    names = local_functions.number_names(spec.emptied)
    made: dict[Path, str] = {}
    words = [argv[0]]
    for word, path in inputs.resolve_argv(argv[1:], link_env):
        if path is None or link_map.is_platform(path.name):
            words.append(word)
            continue
        if path not in made:
            copy = link_env.scratch / "inputs" / str(len(made)) / path.name
            made[path] = str(copy) if _copy_edited(path, copy, names, spec) else word
        words.append(made[path])
    return tuple(words)


def _copy_edited(path: Path, copy: Path, names: dict[bytes, int], spec: LinkSpec) -> bool:
    """Make an edited copy; return whether there was anything to edit."""
    edits = local_functions.edits(
        path.read_bytes(),
        names,
        source=str(path),
        form=spec.form,
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
