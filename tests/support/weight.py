"""What the tree weighs: lines, modules, statements and words of what git would commit.

Run as a program (``PYTHONPATH=ci:tests python -m support.weight``) it prints each count next to
the number that tests/walls/weight.toml holds.
"""

import ast
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from megtrim.util.process import Command, ProcessRunner

ROOT = Path(__file__).parents[2]
HELD = ROOT / "tests" / "walls" / "weight.toml"
_DATA = (".toml", ".yaml", ".yml", ".json")
_SUPPRESSIONS = {
    "noqa": re.compile(r"#\s*noqa\b"),
    "type: ignore": re.compile(r"#\s*type:\s*ignore\b"),
    "fmt: skip": re.compile(r"#\s*fmt:\s*(?:skip|off)\b"),
}


def read_held() -> dict[str, int]:
    held: dict[str, int] = tomllib.loads(HELD.read_text(encoding="utf-8"))["tree"]
    return held


def read_texts(root: Path = ROOT) -> dict[str, str] | None:
    """Return each text file of a checkout that git does not ignore; None outside of a checkout."""
    argv = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = ProcessRunner(os.environ).run(Command(argv=argv, cwd=root, timeout_s=60))
    if not listed.ok:
        return None
    paths = (name for name in listed.stdout.split("\0") if name and (root / name).is_file())
    content = {name: (root / name).read_bytes() for name in paths}
    return {name: data.decode() for name, data in content.items() if _is_text(data)}


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def count(texts: Mapping[str, str]) -> dict[str, int]:
    def lines(*folders: str, endings: tuple[str, ...] = ("",)) -> int:
        found = (name for name in texts if name.startswith(folders) and name.endswith(endings))
        return sum(len(texts[name].splitlines()) for name in found)

    python = {name: text for name, text in texts.items() if name.endswith(".py")}
    package = {name: text for name, text in python.items() if name.startswith("ci/")}
    tests = {name: text for name, text in python.items() if name.startswith("tests/")}
    pages = [
        text
        for name, text in texts.items()
        if name.startswith("docs/") and name.endswith(".md") and "docs/reference/" not in name
    ]
    folders = ("benchmarks/", "scripts/", "tools/", "examples/", "docker/", "noxfile.py")
    recorded = lines("tests/data/", endings=_DATA)
    return {
        "ci: lines": lines("ci/"),
        "ci: modules": len(package),
        "ci: statements": sum(map(_statements, package.values())),
        "tests: Python lines": lines("tests/", endings=(".py",)),
        "tests: statements": sum(map(_statements, tests.values())),
        "tests: TOML, YAML and JSON lines": lines("tests/", endings=_DATA) - recorded,
        "tests/data: TOML, YAML and JSON lines": recorded,
        ".github: lines": lines(".github/"),
        **{f"{folder.rstrip('/')}: lines": lines(folder) for folder in folders},
        "docs without reference: words": sum(len(text.split()) for text in pages),
        **{
            name: sum(len(pattern.findall(text)) for text in python.values())
            for name, pattern in _SUPPRESSIONS.items()
        },
    }


def _statements(text: str) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))


if __name__ == "__main__":
    limits = read_held()
    for what, number in count(read_texts() or {}).items():
        sys.stdout.write(f"{what:<40}{number:>8} of {limits[what]:>8}\n")
