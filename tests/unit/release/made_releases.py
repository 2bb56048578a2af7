"""Releases of made programs, in which crashes are looked up."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from megtrim.crashes.program import TrimmedProgram, dump_left_out
from megtrim.release.aar import CONFIG_PATH, render_config
from megtrim.release.archive import ReleaseFile, from_text, write_folder
from megtrim.release.contents import ArtifactKind, ReleaseArtifact, locate_left_out
from megtrim.release.documents import DOCUMENTS, seal
from megtrim.trim.usage import FunctionsUse
from unit.release.examples import STAGES, contents, documents

NAME = "app"


def write_release(
    folder: Path, made: TrimmedProgram, *, symbols: bool = True, left_out: str | None = None
) -> Path:
    """Write the release of one program; ``left_out``: another list than its own, empty: none."""
    sha256 = hashlib.sha256(made.shipped).hexdigest()
    artifact = ReleaseArtifact(
        name=NAME,
        kind=ArtifactKind.PROGRAM,
        sha256=sha256,
        size_bytes=len(made.shipped),
        plain_bytes=None,
    )
    count = len(made.left_out.names)
    functions = (FunctionsUse(artifact=NAME, held=count + 2, kept=2),) if count else ()
    said = replace(contents(), artifacts=(artifact,), functions=functions)
    text = dump_left_out(made.left_out, program_sha256=sha256) if left_out is None else left_out
    files = [
        ReleaseFile(path=f"bin/{NAME}", source=made.shipped, sha256=sha256),
        *(from_text(path, each) for path, each in documents().items() if path.startswith("share/")),
        from_text(CONFIG_PATH, render_config(library="", programs=[NAME])),
        *([ReleaseFile(path=f"symbols/{NAME}", source=made.shipped, sha256=sha256)] * symbols),
        *([from_text(locate_left_out(NAME), text)] * bool(text)),
    ]
    digests = {each.path: each.sha256 for each in files}
    texts = seal(said, digests, stages=STAGES, megtrim="0.1.0")
    assert texts.keys() == DOCUMENTS
    write_folder((*files, *(from_text(path, each) for path, each in texts.items())), folder)
    return folder
