"""``OUT/final``: what the last `megtrim trim` left for people and for the steps of a job.

It is replaced in one step, once its successor is whole. A run that ends before leaves it as it is
and adds ``ending.json``, so that nobody takes the verdict of an earlier run for its own.
"""

import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.chain.filenames import FINAL_FOLDER, SIZES_FILE, VERDICT_FILE
from megtrim.core.chain.result_store import Store
from megtrim.core.checks.invocation import BASELINE_FILE
from megtrim.core.evidence.fields import EarlyExit
from megtrim.libs.util import owned_folders
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.files import guard_write, read_object, write_atomically
from megtrim.libs.util.limits import ENDING_FILE
from megtrim.libs.util.owned_folders import MARKER
from megtrim.libs.util.strict_json import dump

PROGRAMS = "bin"
JUNIT_FILE = "junit.xml"
_ENDINGS = frozenset({ENDING_FILE, JUNIT_FILE})
_FORMER = frozenset({*_ENDINGS, VERDICT_FILE, SIZES_FILE, BASELINE_FILE, "report.md", "index.html"})
"""What versions left that wrote no marker."""
_PARTIAL = f".{FINAL_FOLDER}-"
NOT_ENDED = "a run began here and did not end, so these files are from an earlier run"


def is_there(store: Store) -> bool:
    return _locate(store).exists() or _locate(store).is_symlink()


def holds_verdict(store: Store) -> bool:
    return (_locate(store) / VERDICT_FILE).is_file()


def begin(store: Store, config: str, message: str = NOT_ENDED) -> None:
    """Note in what is there that it is of an earlier run. Raises InputError if it is not ours."""
    if is_there(store):
        failure = InfrastructureFailure(message, hint="trim again")
        add_ending(store, EarlyExit.of(failure, config))


def add_ending(store: Store, ending: EarlyExit, *, junit: str = "") -> None:
    """Say how a run ended that has no verdict; ``junit``: the same for a job's list of tests."""
    final = _locate(store)
    with store.lock(FINAL_FOLDER):
        claim(store)
        if junit:
            write_atomically(final / JUNIT_FILE, junit)
        write_atomically(final / ENDING_FILE, dump(ending))


def claim(store: Store) -> None:
    final = _locate(store)
    if final.is_symlink():
        raise owned_folders.refuse(final)
    known = owned_folders.is_owned(final, store.owner)
    listed = owned_folders.read_listed(final) if known else list_former(final)
    owned_folders.claim(final, store.owner, is_former=lambda _: listed is not None)
    owned_folders.mark(final, store.owner, {*(listed or ()), *_ENDINGS})


def list_former(final: Path) -> frozenset[str] | None:
    """Return the files of a folder that a version without markers left; None: it is no such one."""
    if final.is_symlink() or not final.is_dir():
        return None
    verdict = read_object(final / VERDICT_FILE)
    ending = read_object(final / ENDING_FILE)
    if not (verdict.keys() >= {"version", "verdict"} or ending.keys() >= {"version", "exit"}):
        return None
    programs = verdict.get("programs")
    shipped = {Path(str(each)).name for each in programs} if isinstance(programs, list) else set()
    shipped |= {f"{name}{REST_SUFFIX}" for name in shipped}
    expected = _FORMER | {f"{PROGRAMS}/{name}" for name in shipped}
    found = frozenset(owned_folders.list_strangers(final))
    return found if found <= expected else None


def replace(store: Store, files: Mapping[str, Path]) -> None:
    """Put these in place of what is there, at once. What a person put beside it stays."""
    final = _locate(store)
    with store.lock(FINAL_FOLDER):
        claim(store)
        _expect_room(final, frozenset(files))
        _settle(store)
        with guard_write(final):
            made = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=store.root))
            made.chmod(final.stat().st_mode & 0o7777)
            for name, source in files.items():
                (made / name).parent.mkdir(exist_ok=True)
                shutil.copy2(source, made / name)
            owned_folders.mark(made, store.owner, {*files, *_ENDINGS})
            owned_folders.exchange(made, final)
        _settle(store)


def remove(final: Path) -> None:
    """Remove what megtrim left there; what a person put beside it stays."""
    names = owned_folders.read_listed(final) or list_former(final) or frozenset()
    owned_folders.remove_files(final, {*names, MARKER})


def is_ours(final: Path, owner: str) -> bool:
    return owned_folders.is_owned(final, owner) or list_former(final) is not None


def _expect_room(final: Path, names: frozenset[str]) -> None:
    for each in owned_folders.list_strangers(final):
        if any(each == name or name.startswith(f"{each}/") for name in names):
            raise owned_folders.refuse(final / each)


def _settle(store: Store) -> None:
    """Take away what former runs left, here and where one was killed; a person's files stay."""
    final = _locate(store)
    for left in sorted(store.root.glob(f"{_PARTIAL}*")):
        if owned_folders.is_owned(left, store.owner):
            with guard_write(left):
                remove(left)
                _carry(left, final)


def _carry(old: Path, new: Path) -> None:
    if not old.is_dir():
        return
    for entry in sorted(old.iterdir()):
        target = new / entry.name
        nested = entry.is_dir() and not entry.is_symlink()
        if nested and target.is_dir() and not target.is_symlink():
            _carry(entry, target)
        elif not (target.exists() or target.is_symlink()):
            entry.rename(target)
    with suppress(OSError):  # a file whose name was taken meanwhile
        old.rmdir()


def _locate(store: Store) -> Path:
    return store.root / FINAL_FOLDER
