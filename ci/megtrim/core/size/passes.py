"""Sizes of trims that passed, in their folder of results, each with what it was made of."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from megtrim.core.build_spec import Origin
from megtrim.core.chain.filenames import FORMER_PASS_FILES, PASS_FOLDER
from megtrim.core.chain.made_of import VERSION, MadeOf
from megtrim.core.size.baseline import load_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import guard_write, write_atomically
from megtrim.libs.util.input_files import read_text
from megtrim.libs.util.strict_json import dump, load

MOST_PASSES = 20
"""Of them are kept, in each folder of results."""
_NAME = re.compile(r"[0-9]{8}\.json", re.ASCII)
_LARGEST_BYTES = 32 * 1024 * 1024
_HINT = "trim it again"


def list_passes(root: Path, origin: Origin, *, quick: bool) -> Iterator[tuple[Path, Baseline]]:
    """Yield those of the same kind of trim by the same configuration, the newest first."""
    wanted = (quick, origin.project, origin.config)
    for path in list_pass_files(root):
        passed = read_pass(path)
        if passed is None:
            continue
        if (passed.quick, passed.origin.project, passed.origin.config) == wanted:
            yield path, passed


def read_pass(path: Path) -> Baseline | None:
    """None: it is damaged or of another version, so nothing can be compared with it."""
    with suppress(InputError):
        return load_sizes(path, shown=path.name)
    return None


def read_made_of(path: Path) -> MadeOf | None:
    """None: it is not known, so the pass is one of no commit."""
    with suppress(InputError):
        file = _made_of_file(path)
        text = read_text(
            file, most_bytes=_LARGEST_BYTES, expected="what a trim was made of", shown=file.name
        )
        return load(MadeOf, text, source=file.name, version=VERSION, hint=_HINT)
    return None


def list_pass_files(root: Path) -> list[Path]:
    """Return them, the newest first."""
    folder = root / PASS_FOLDER
    names: list[str] = []
    with suppress(OSError):
        names = sorted(each.name for each in folder.iterdir() if _NAME.fullmatch(each.name))
    former = (root / name for name in FORMER_PASS_FILES)
    return [
        *(folder / name for name in reversed(names)),
        *(each for each in former if each.exists()),
    ]


def keep_pass(root: Path, sizes: Path, made_of: MadeOf | None) -> None:
    """Keep the sizes of a trim as the newest pass: once, however often it passes."""
    now = load_sizes(sizes, shown=sizes.name)
    files = list_pass_files(root)
    others = []
    for path in files:
        passed = read_pass(path)
        if passed is not None and passed.made_from != now.made_from:
            others.append(path)
        elif passed is not None and read_made_of(path) in (None, made_of):
            _remove(path)
    numbers = [int(path.stem) for path in files if path.parent.name == PASS_FOLDER]
    newest = root / PASS_FOLDER / f"{max(numbers, default=0) + 1:08}.json"
    if made_of is not None:
        # First: sizes without it are those of no commit.
        write_atomically(_made_of_file(newest), dump(made_of))
    write_atomically(newest, sizes.read_text(encoding="utf-8"))
    # What the next trim of the same is compared with stays, however often that passed.
    for path in list_pass_files(root)[MOST_PASSES:]:
        if path not in others[:1]:
            _remove(path)


def _made_of_file(path: Path) -> Path:
    return path.with_suffix(".made-of.json")


def _remove(path: Path) -> None:
    with guard_write(path):
        path.unlink(missing_ok=True)
        _made_of_file(path).unlink(missing_ok=True)
