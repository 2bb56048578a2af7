"""How much code there is, in tokens: layout and packing change nothing. Printed, and not held."""

import tokenize
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[2]
_KINDS = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
_TESTS = "tests"
_PHONE = "virtual_phone"
_OUTSIDE = (_PHONE, _TESTS)


def count_parts(known: dict[str, int], root: Path = ROOT) -> dict[str, int]:
    """Return the tokens of each part of the package, of the virtual phone, and of the tests.

    ``known``: counts of files as an earlier run saw them. Those of this run take their place.
    """
    counts = Counter[str]()
    seen = {}
    for part, path in _list_files(root):
        state = path.stat()
        key = f"{path.relative_to(root)} {state.st_size} {state.st_mtime_ns}"
        seen[key] = known[key] if key in known else count_tokens(path.read_bytes())
        counts[part] += seen[key]
    known.clear()
    known.update(seen)
    tests = counts.pop(_TESTS, 0)
    return {**dict(sorted(counts.items())), _TESTS: tests}


def count_tokens(source: bytes) -> int:
    tokens = tokenize.tokenize(BytesIO(source).readline)
    return sum(token.type in _KINDS for token in tokens)


def describe(counts: dict[str, int]) -> str:
    """Return one line, in thousands: ``ci/megtrim 200k (core 160k, libs 40k), tests 300k``."""
    inside = {part: count for part, count in counts.items() if part not in _OUTSIDE}
    parts = ", ".join(f"{part} {_round(count)}" for part, count in inside.items())
    outside = "".join(f", {part} {_round(counts.get(part, 0))}" for part in _OUTSIDE)
    return f"ci/megtrim {_round(sum(inside.values()))} ({parts}){outside}"


def _round(count: int) -> str:
    return f"{round(count / 1000)}k"


def _list_files(root: Path) -> Iterator[tuple[str, Path]]:
    package = root / "ci" / "megtrim"
    for folder in sorted(each for each in package.iterdir() if each.is_dir()):
        for path in folder.rglob("*.py"):
            yield folder.name, path
    for path in (root / "ci" / "virtual_phone").rglob("*.py"):
        yield _PHONE, path
    for path in (root / _TESTS).rglob("*.py"):
        yield _TESTS, path
