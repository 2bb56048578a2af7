"""The trimmed programs of a release, as crashes are looked up in them: no results are needed."""

from __future__ import annotations

from pathlib import Path

from megtrim.crashes.left_out import LeftOutFunctions, parse_left_out
from megtrim.crashes.program import TrimmedProgram
from megtrim.crashes.trimmed_programs import FinishedTrim, finish_trim, make_program
from megtrim.elf.symbol_table import read_linked, read_table
from megtrim.regions.keepset import KeepSet, read_keep_set
from megtrim.release.check import check_release, expect_whole
from megtrim.release.contents import KEEP_SET_PATH, SYMBOLS, ReleaseArtifact, locate_left_out
from megtrim.util.errors import InputError
from megtrim.util.input_files import read_text
from megtrim.util.json_text import LARGEST_DOCUMENT


def read_release(folder: Path, *, shown: str) -> FinishedTrim:
    """Read the trim that a release, or a draft of one, is of.

    Raises ProductFailure for a release that is not whole, InputError if nothing in it has symbols.
    """
    contents = expect_whole(check_release(folder, draft=True), Path(shown))
    keep = read_keep_set(folder / KEEP_SET_PATH)
    found = {each.name: _read_program(folder, each, keep) for each in contents.artifacts}
    return finish_trim(dict(sorted(found.items())), keep, shown=shown)


def _read_program(folder: Path, artifact: ReleaseArtifact, keep: KeepSet) -> TrimmedProgram | None:
    twin = folder / SYMBOLS / artifact.name
    if not twin.is_file():
        return None
    try:
        table = read_table(twin)
    except InputError:
        return None  # of a machine whose functions megtrim cannot read
    shipped = read_linked(folder / artifact.path)
    return make_program(artifact.name, shipped, table, _read_left_out(folder, artifact.name), keep)


def _read_left_out(folder: Path, name: str) -> LeftOutFunctions:
    path = locate_left_out(name)
    if not (folder / path).is_file():
        return LeftOutFunctions()
    text = read_text(
        folder / path, most_bytes=LARGEST_DOCUMENT, expected="a part of a release", shown=path
    )
    return parse_left_out(text, source=path)[0]
