"""The shadow tree: a copy of the engine below ``OUT``; the user's checkout must not change.

A file is copied only if its content changed, so that a second build compiles only what it must.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from megtrim.core.build_spec import BuildSpec
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.files import guard_write, write_atomically
from megtrim.places.compile.projects.checkout import Checkout, digest_of
from megtrim.places.compile.projects.cmake.driver import WorkTree

_RECORD = "shadow.json"


def sync(checkout: Checkout, tree: Path, overrides: Mapping[str, str]) -> None:
    record = tree.parent / _RECORD
    before = _read(record)
    after = dict(checkout.files) | {name: _text_digest(text) for name, text in overrides.items()}
    gone = sorted(before.keys() - after.keys())
    new = [n for n in sorted(after) if before.get(n) != after[n] or not os.path.lexists(tree / n)]
    if not gone and not new:
        return
    # Make compares times with those of files that came with the source, such as configure.
    keep_times = not before
    # Forget these files first: an interrupted sync may leave them in any state.
    _write(record, before | dict.fromkeys((*gone, *new), ""))
    with guard_write(tree):
        for name in gone:
            _remove(tree / name, tree)
        for name in new:
            _place(checkout.root / name, tree / name, overrides.get(name))
            _expect(checkout.root / name, tree / name, after[name])
            if keep_times and name not in overrides:
                _copy_times(checkout.root / name, tree / name)
    _write(record, after)


def forget(tree: Path) -> None:
    with guard_write(tree):
        (tree.parent / _RECORD).unlink(missing_ok=True)
        if tree.exists():
            shutil.rmtree(tree)


def is_whole(tree: Path) -> bool:
    files = _read(tree.parent / _RECORD)
    return bool(files) and all(os.path.lexists(tree / name) for name in files)


def write_if_changed(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    write_atomically(path, text)


def _place(source: Path, target: Path, text: str | None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    if text is not None:
        target.write_text(text, encoding="utf-8")
    elif source.is_symlink():
        target.symlink_to(source.readlink())
    else:
        shutil.copyfile(source, target)
        target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def _copy_times(source: Path, target: Path) -> None:
    times = source.lstat()
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns), follow_symlinks=False)


def _remove(file: Path, tree: Path) -> None:
    file.unlink(missing_ok=True)
    for folder in file.parents:
        if folder == tree or not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()  # a file may take its place


def _expect(source: Path, target: Path, digest: str) -> None:
    if digest_of(target) != digest:
        msg = f"{source} changed while megtrim was using it"
        raise InputError(msg, hint="run it again, and do not change the checkout meanwhile")


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _write(record: Path, files: Mapping[str, str]) -> None:
    write_atomically(record, json.dumps(files, sort_keys=True, indent=0))


def _read(record: Path) -> dict[str, str]:
    try:
        data = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def update(spec: BuildSpec, tree: WorkTree, checkout: Checkout) -> None:
    sync(checkout, tree.source, dict(spec.overrides))
    with guard_write(tree.include):
        tree.include.mkdir(parents=True, exist_ok=True)
        expected = {tree.include / name for name, _ in spec.include}
        for path in sorted(tree.include.rglob("*")):
            if path not in expected and not path.is_dir():
                path.unlink()
    for name, text in spec.include:
        write_if_changed(tree.include / name, text)


def expect_unchanged(spec: BuildSpec, tree: WorkTree) -> None:
    for base, files in ((tree.source, spec.overrides), (tree.include, spec.include)):
        for name, text in files:
            if (base / name).read_bytes() != text.encode():
                msg = f"{base / name} changed during the build"
                raise ProductFailure(msg, hint="does the build write that file itself?")
