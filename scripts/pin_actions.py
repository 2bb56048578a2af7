#!/usr/bin/env python3
"""Pin the actions that the workflows use: read their tags, write commits.

usage: python3 scripts/pin_actions.py [--check] [--from URL]

Reads the tags of each action's own repository with `git ls-remote`, takes the newest vX.Y.Z and
its commit, and rewrites `.github/pins.json` and every `uses:` line. `--check` writes nothing and
fails if a recorded tag points to another commit now. `--from` is the address of the repositories,
by default https://github.com. Exit status: 0, 1 (a tag has moved), 3 (git).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess  # noqa: TID251 - not a part of the package
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS = Path(".github", "pins.json")
GITHUB = "https://github.com"

_USES = re.compile(
    r"(?P<head>\buses: )(?P<action>[\w.-]+/[\w.-]+)(?P<folder>(?:/[\w.-]+)*)"
    r"@(?P<sha>[0-9a-f]{40}) # (?P<version>v\d+\.\d+\.\d+)$",
    re.MULTILINE,
)
_TAG = re.compile(r"^([0-9a-f]{40})\trefs/tags/(v\d+\.\d+\.\d+)(\^\{\})?$", re.MULTILINE)
_TIMEOUT_S = 60


def main(arguments: list[str]) -> int:
    """Write the newest pins, or check the recorded ones."""
    parser = argparse.ArgumentParser(usage=(__doc__ or "").splitlines()[2].removeprefix("usage: "))
    parser.add_argument("--check", action="store_true", help="write nothing; fail on moved tags")
    parser.add_argument("--from", dest="base", default=GITHUB, help="address of the repositories")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.check:
            return _check(ROOT, chosen.base)
        day = datetime.now(tz=UTC).date().isoformat()
        for line in update(ROOT, chosen.base, day):
            sys.stdout.write(f"{line}\n")
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"pin_actions.py: {error}\n")
        return 3
    return 0


def iter_used(root: Path) -> Iterator[tuple[Path, str, str, str]]:
    """Yield file, action, commit and version of every pinned ``uses:`` line."""
    for path in files(root):
        for match in _USES.finditer(path.read_text(encoding="utf-8")):
            yield path, match["action"], match["sha"], match["version"]


def files(root: Path) -> list[Path]:
    """Return the workflows and actions of the kit."""
    return sorted(
        (*root.glob(".github/workflows/*.yml"), *root.glob(".github/actions/*/action.yml"))
    )


def tags(base: str, action: str) -> dict[str, str]:
    """Return the commit of every vX.Y.Z of an action's repository; annotated tags are peeled."""
    argv = ["git", "ls-remote", "--tags", f"{base.rstrip('/')}/{action}"]
    answer = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=_TIMEOUT_S)
    found: dict[str, str] = {}
    for sha, version, peeled in _TAG.findall(answer.stdout):
        if peeled or version not in found:
            found[version] = sha
    if not found:
        msg = f"{base}/{action} has no tag vX.Y.Z"
        raise ValueError(msg)
    return found


def update(root: Path, base: str, day: str) -> Iterator[str]:
    """Rewrite pins and ``uses:`` lines to the newest versions; yield a line for each action."""
    pins = []
    newest: dict[str, tuple[str, str]] = {}
    for action in sorted({action for _, action, _, _ in iter_used(root)}):
        known = tags(base, action)
        version = max(known, key=_order)
        newest[action] = (known[version], version)
        source = f"{base.rstrip('/')}/{action}, tag {version}"
        pin = {"action": action, "version": version, "sha": known[version]}
        pins.append({**pin, "source": source, "read": day})
        yield f"{action} {version} {known[version]}"

    def write_pin(match: re.Match[str]) -> str:
        sha, version = newest[match["action"]]
        return f"{match['head']}{match['action']}{match['folder']}@{sha} # {version}"

    for path in files(root):
        path.write_text(_USES.sub(write_pin, path.read_text(encoding="utf-8")), encoding="utf-8")
    (root / PINS).write_text(json.dumps(pins, indent=1) + "\n", encoding="utf-8")


def _check(root: Path, base: str) -> int:
    moved = False
    for pin in json.loads((root / PINS).read_text(encoding="utf-8")):
        now = tags(base, pin["action"]).get(pin["version"], "nothing")
        if now != pin["sha"]:
            moved = True
            text = f"{pin['action']} {pin['version']}: was {pin['sha']}, is now {now}"
            sys.stderr.write(f"pin_actions.py: {text}\n")
    return int(moved)


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split("."))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
