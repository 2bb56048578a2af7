"""Repositories of a test: real git, made when they are needed, with no one's settings."""

import os
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from megtrim.libs.util.process import Command, ProcessRunner

_IDENTITY = {
    "GIT_AUTHOR_NAME": "Sam Stranger",
    "GIT_AUTHOR_EMAIL": "sam@example.org",
    "GIT_COMMITTER_NAME": "Sam Stranger",
    "GIT_COMMITTER_EMAIL": "sam@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}


class Remote:
    """A bare repository that a runner fetches from, and a work tree to write into it."""

    def __init__(self, root: Path, name: str, work: Path) -> None:
        self.name = name
        self.bare = root / f"{name}.git"
        self.work = work
        self._processes = ProcessRunner({"PATH": os.environ["PATH"], **_IDENTITY})
        if self.bare.exists():
            return  # another worker has made it
        self.bare.mkdir(parents=True)
        work.mkdir(parents=True)
        self.git("init", "--quiet", "--bare", "--initial-branch=main", cwd=self.bare)
        # As on GitHub, a runner may ask for any commit by its name.
        self.git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=self.bare)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("remote", "add", "origin", str(self.bare))

    def git(self, *argv: str, cwd: Path | None = None) -> str:
        command = Command(argv=("git", *argv), cwd=cwd or self.work, timeout_s=60)
        done = self._processes.run(command)
        assert done.ok, f"{command}: {done.stderr}"
        return done.stdout.strip()

    def commit(
        self, files: Mapping[str, str | bytes | None], *, message: str, branch: str, base: str = ""
    ) -> str:
        if base:
            self.git("checkout", "--quiet", "-B", branch, base)
        for name, data in files.items():
            path = self.work / name
            if data is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode() if isinstance(data, str) else data)
        return self.save(message=message, branch=branch)

    def save(self, *, message: str, branch: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        self.git("push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{branch}")
        return self.git("rev-parse", "HEAD")

    def merge(self, base: str, head: str, *, ref: str) -> str:
        """Merge two commits as GitHub does for a pull request, to ``ref``; return the commit."""
        tree = self.git("merge-tree", "--write-tree", base, head).splitlines()[0]
        message = f"Merge {head} into {base}"
        sha = self.git("commit-tree", tree, "-p", base, "-p", head, "-m", message)
        self.git("push", "--quiet", "--force", "origin", f"{sha}:{ref}")
        return sha

    def parents(self, sha: str) -> tuple[str, ...]:
        return tuple(self.git("rev-list", "--parents", "-n", "1", sha).split()[1:])

    def files(self, sha: str) -> dict[str, bytes]:
        with self._archive(sha) as archive:
            return {
                member.name: stream.read()
                for member in archive
                if (stream := archive.extractfile(member)) is not None
            }

    def export(self, sha: str, folder: Path) -> Path:
        with self._archive(sha) as archive:
            # Python 3.11.2, which Debian 12 has, knows no filters.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(folder)
        return folder

    def _archive(self, sha: str) -> tarfile.TarFile:
        file = self.work.parent / f"{self.work.name}-{sha}.tar"
        self.git("archive", "--format=tar", f"--output={file}", sha)
        return tarfile.open(file)


def copy_tree(source: Path, target: Path, names: Iterable[str]) -> None:
    for name in names:
        file = source / name
        if file.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target / name)
