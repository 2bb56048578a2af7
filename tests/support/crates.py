"""Source code from outside: a package of a registry, fetched once by its hash and kept.

Its client fetches it as it is set up on the machine. What was fetched once is taken from the folder
of caches, and checked again, file by file.
"""

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from megtrim.libs.util.process import Command, ProcessRunner

_TIMEOUT_S = 300.0
_MANIFEST = """\
[package]
name = "nothing"
version = "0.0.0"
edition = "2021"

[dependencies]
{name} = "={version}"
"""
_CHECKSUMS = ".cargo-checksum.json"


@dataclass(frozen=True)
class Crate:
    name: str
    version: str
    sha256: str
    """Of the archive, as the registry's index has it."""

    def fetch(self) -> Path:
        """Return the folder of its files, which nobody writes to."""
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        place = caches / "megtrim" / "sources" / f"{self.name}-{self.version}"
        if not place.exists():
            self._fetch_to(place)
        self._check(place)
        return place

    def _fetch_to(self, place: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            project = Path(folder)
            (project / "src").mkdir()
            (project / "src/lib.rs").touch()
            manifest = _MANIFEST.format(name=self.name, version=self.version)
            (project / "Cargo.toml").write_text(manifest, encoding="utf-8")
            argv = ("cargo", "vendor", "--quiet", "vendored")
            command = Command(argv=argv, cwd=project, timeout_s=_TIMEOUT_S)
            ended = ProcessRunner(os.environ).run(command)
            assert ended.ok, ended.stderr
            found = project / "vendored" / self.name
            self._check(found)
            try:
                found.rename(place)
            except OSError:
                if not place.exists():  # else another worker was faster
                    raise

    def _check(self, folder: Path) -> None:
        text = (folder / _CHECKSUMS).read_text(encoding="utf-8")
        listed = json.loads(text)
        assert listed["package"] == self.sha256
        for name, sha256 in listed["files"].items():
            data = (folder / name).read_bytes()
            assert hashlib.sha256(data).hexdigest() == sha256, name


def copy_part(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target
