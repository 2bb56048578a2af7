"""Folders of results that hold a trim of made programs."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.result_store import Store
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.core.trim.builds import links as linking
from megtrim.core.trim.results import FunctionsKeepSetResult, HeaderResult, ReduceResult
from megtrim.libs.util.files import sha256_file
from support.made_programs import ID, folded, numbered_file
from unit.core.trim.stages.results import BUILD
from unit.core.trim.stages.support import keep_set

LINK = "6e" * 32
TARGET = "app"


def leave(
    store: Store, task: str, result: StageResult, files: Mapping[str, bytes], **inputs: str
) -> Path:
    stage, _, name = task.partition("/")

    def produce(folder: Path) -> StageResult:
        for file, content in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(content)
        return result

    made, _ = store.ensure(stage, name, inputs, produce, type(result))
    return made.path


def trim_by_functions(
    out: Path,
    *,
    crash_ids: bool = True,
    twin: bool = True,
    more: Mapping[str, bytes] | None = None,
    build_id: str = ID,
    link: str = LINK,
    keep: KeepSet | None = None,
) -> Store:
    """Leave a trim by functions, in which three were left out; ``more``: further files of it."""
    store = Store(out)
    program = numbered_file() if crash_ids else folded()
    program = program.replace(bytes.fromhex(ID), bytes.fromhex(build_id))
    listed = dump_keep_set(keep or keep_set(1)).encode()
    kept = leave(store, "functions/keepset", FunctionsKeepSetResult(functions=2), {
        KEEP_SET_FILE: listed
    })  # fmt: skip
    files = {f"bin/{TARGET}": program, f"dropped-{TARGET}.txt": b"_Z5firstv\n_Z6secondi\n"}
    files |= more or {}
    if twin:
        files[f"links/shipped/{TARGET}"] = program
    inputs = {linking.KEEP_SET: sha256_file(kept / KEEP_SET_FILE), f"link {TARGET}": link}
    result = ReduceResult(build=BUILD, functions={}, crash_ids=crash_ids)
    leave(store, "reduce/reduced", result, files, **inputs)
    return store


def trim_by_regions(out: Path) -> Store:
    store = Store(out)
    inputs = leave_header(store, 1)
    program = folded()
    files = {f"bin/{TARGET}": program, f"links/shipped/{TARGET}": program}
    leave(store, "reduce/reduced", ReduceResult(build=BUILD, functions={}), files, **inputs)
    return store


def leave_header(store: Store, *regions: int) -> dict[str, str]:
    keep = dump_keep_set(keep_set(*regions)).encode()
    result = HeaderResult(regions=len(regions), operators=0, warnings=())
    files = {KEEP_SET_FILE: keep, "include/midout.h": repr(regions).encode()}
    made = leave(store, "header/keepset", result, files, made_of=repr(regions))
    return {"header midout.h": sha256_file(made / "include/midout.h")}


def forget(store: Store, stage: str) -> None:
    shutil.rmtree(store.root / stage)
