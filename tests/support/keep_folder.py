"""The keep set that a test's team commits: its files, read, changed and removed together."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from megtrim.regions.keepset import KeepSet
from megtrim.regions.keepset_folder import find_files, read_folder
from megtrim.trim.committed_keepset import write_committed


@dataclass(frozen=True, slots=True)
class KeepFolder:
    """A folder with a file for each scenario."""

    path: Path

    def read(self) -> KeepSet:
        return read_folder(self.path)

    def write(self, keep: KeepSet) -> None:
        write_committed(self.path, keep)

    def file(self, scenario: str) -> Path:
        return self.path / f"{scenario}.json"

    def texts(self) -> dict[str, str]:
        """Return the text of each file; none where there is no keep set."""
        names = find_files(self.path)
        return {name: (self.path / name).read_text(encoding="utf-8") for name in names}

    def edit(self, change: Callable[[str], str]) -> None:
        """Change the text of each file; one of them at least must become another."""
        before = self.texts()
        after = {name: change(text) for name, text in before.items()}
        assert after != before
        self.restore(after)

    def drop_lines(self, drop: Callable[[str], bool]) -> list[str]:
        """Remove lines from all files, and return those that were there, each once."""
        lines = {line for text in self.texts().values() for line in text.splitlines(keepends=True)}
        self.edit(lambda text: "".join(x for x in text.splitlines(keepends=True) if not drop(x)))
        return sorted(filter(drop, lines))

    def restore(self, texts: dict[str, str]) -> None:
        for name, text in texts.items():
            (self.path / name).write_text(text, encoding="utf-8")

    def remove(self) -> None:
        """Remove the keep set, if there is one."""
        shutil.rmtree(self.path, ignore_errors=True)
