"""What may not grow in the tree: how often a check is suppressed.

tests/walls/weight.toml holds each number.
"""

import os
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from megtrim.libs.util.process import Command, ProcessRunner

ROOT = Path(__file__).parents[2]
HELD = ROOT / "tests" / "walls" / "weight.toml"
_SUPPRESSIONS = {
    "noqa": re.compile(r"#\s*noqa\b"),
    "type: ignore": re.compile(r"#\s*type:\s*ignore\b"),
    "fmt: skip": re.compile(r"#\s*fmt:\s*(?:skip|off)\b"),
}


def read_held() -> dict[str, int]:
    held: dict[str, int] = tomllib.loads(HELD.read_text(encoding="utf-8"))["suppressions"]
    return held


def read_modules(root: Path = ROOT) -> list[str] | None:
    """Return each Python file of a checkout that git does not ignore; None outside a checkout."""
    argv = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.py")
    listed = ProcessRunner(os.environ).run(Command(argv=argv, cwd=root, timeout_s=60))
    if not listed.ok:
        return None
    paths = (root / name for name in listed.stdout.split("\0") if name)
    return [path.read_text(encoding="utf-8") for path in paths if path.is_file()]


def count_suppressions(modules: Iterable[str]) -> dict[str, int]:
    text = "\n".join(modules)
    return {name: len(pattern.findall(text)) for name, pattern in _SUPPRESSIONS.items()}
