"""Fetches the submodules that are wanted, each at its recorded commit, and no others.

Two trees are walked side by side: the project's, which a pull request may have written, says what
to fetch; the trusted one, of the commit that the change is to enter, says from where. A submodule
must come from a repository that the trusted tree names at the same level, or that the workflow
names. A level whose commit the trusted tree has, too, needs no other word.
"""

import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import kind_at
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.compile.sources.git import GIT, SourceRepository, Tree, is_made, is_work_tree
from megtrim.places.compile.sources.gitmodules import (
    FILE,
    RepositoryPattern,
    RepositoryUrl,
    Submodule,
    Trust,
    parse_gitmodules,
    parse_repository_url,
)

TOP = PurePosixPath()


class FetchRequest(Value):
    project: Path
    """The commit that is built."""
    trusted: Path
    """The commit that says where submodules may come from."""
    url: RepositoryUrl
    patterns: tuple[RepositoryPattern, ...]
    shared: Path | None = None
    """Another checkout of the project, fetched before: its repositories serve this one, too."""
    key: str = ""
    """A token, or a deploy key."""
    host_keys: str = ""
    key_of: RepositoryUrl | None = None
    """It alone gets the key."""


class FetchedSubmodule(Value):
    path: PurePosixPath
    url: RepositoryUrl
    commit: str
    keyed: bool
    tree: Tree


class _Level(Value):
    """At one commit, with the same place of the trusted tree."""

    path: PurePosixPath
    url: RepositoryUrl
    tree: Tree
    trusted: Tree | None


class SourceFetch:
    def __init__(
        self, request: FetchRequest, processes: ProcessRunner, note: Callable[[str], None]
    ) -> None:
        self._request = request
        self._processes = processes
        self._note = note
        self._levels: dict[PurePosixPath, _Level] = {}
        self.fetched: dict[PurePosixPath, FetchedSubmodule] = {}

    def top(self) -> Tree:
        return self._top().tree

    def fetch(self, paths: Iterable[PurePosixPath]) -> None:
        wanted = sorted({path for path in paths if path != TOP})
        if wanted:
            self._descend(self._top(), wanted)

    def holder(self, path: PurePosixPath) -> tuple[PurePosixPath, Tree]:
        self._top()
        around = [level for level in self._levels if path.is_relative_to(level)]
        place = max(around, key=lambda each: len(each.parts))
        return place, self._levels[place].tree

    def _top(self) -> _Level:
        if TOP not in self._levels:
            request = self._request
            tree = SourceRepository(request.project, self._processes).tree()
            trusted = SourceRepository(request.trusted, self._processes).tree()
            level = _Level(path=TOP, url=request.url, tree=tree, trusted=trusted)
            self._levels[TOP] = level
        return self._levels[TOP]

    def _descend(self, level: _Level, wanted: list[PurePosixPath]) -> None:
        modules = _list_modules(level.tree, level.path)
        trust = Trust(
            repositories=frozenset(_trusted_urls(level).values()), patterns=self._request.patterns
        )
        for text, commit in sorted(level.tree.links.items()):
            link = PurePosixPath(text)
            path = level.path / link
            inside = [each for each in wanted if each.is_relative_to(path)]
            if not inside:
                continue
            if path not in self._levels:
                module = _find(modules, link, place=str(level.path / FILE))
                url = _allowed_url(module, level.url, trust)
                self._levels[path] = self._take(level, path, url, commit)
            deeper = [each for each in inside if each != path]
            if deeper:
                self._descend(self._levels[path], deeper)

    def _take(self, level: _Level, path: PurePosixPath, url: RepositoryUrl, commit: str) -> _Level:
        request = self._request
        key = request.key if url == request.key_of else ""
        repository = self._repository(path)
        self._note(f"fetching {path} at {commit[:12]} from {url}")
        if not repository.has(commit):
            repository.fetch(url, commit, key=key, host_keys=request.host_keys)
        target = request.project / path
        if repository.folder == target:
            repository.check_out(commit)
        else:
            repository.add_work_tree(target, commit)
        tree = repository.tree(commit)
        trusted = self._trusted_tree(level, path, url, tree, repository, key)
        self.fetched[path] = FetchedSubmodule(
            path=path, url=url, commit=commit, keyed=bool(key), tree=tree
        )
        return _Level(path=path, url=url, tree=tree, trusted=trusted)

    def _repository(self, path: PurePosixPath) -> SourceRepository:
        request = self._request
        shared_folder = request.shared / path if request.shared is not None else None
        _clear(request.project, path, shared_folder)
        if shared_folder is not None and (shared_folder / GIT).is_dir():
            return SourceRepository(shared_folder, self._processes)
        repository = SourceRepository(request.project / path, self._processes)
        repository.make()
        return repository

    def _trusted_tree(
        self,
        level: _Level,
        path: PurePosixPath,
        url: RepositoryUrl,
        tree: Tree,
        repository: SourceRepository,
        key: str,
    ) -> Tree | None:
        """None unless it is of the same repository."""
        if level.trusted is None:
            return None
        request = self._request
        link = path.relative_to(level.path)
        commit = level.trusted.links.get(str(link))
        if commit is None or _trusted_urls(level).get(link) != url:
            return None
        if commit == tree.commit:
            return tree
        if not tree.modules:
            return None  # nothing below it is a submodule, so no one is asked
        if not repository.has(commit):
            repository.fetch(url, commit, key=key, host_keys=request.host_keys)
        return repository.tree(commit)


def trusted_url(request: FetchRequest, tree: Tree, path: PurePosixPath) -> RepositoryUrl | None:
    for module in _list_modules(tree, TOP).values():
        if path.is_relative_to(module.path):
            return parse_repository_url(module.url, place=module.place, near=request.url)
    return None


def _trusted_urls(level: _Level) -> dict[PurePosixPath, RepositoryUrl]:
    found = {}
    if level.trusted is not None:
        for path, module in _list_modules(level.trusted, level.path).items():
            # We would not fetch from an odd one, whoever names it.
            with suppress(InputError):
                found[path] = parse_repository_url(module.url, place=module.place, near=level.url)
    return found


def _list_modules(tree: Tree, at: PurePosixPath) -> dict[PurePosixPath, Submodule]:
    found = parse_gitmodules(tree.modules, shown=str(at / FILE))
    return {each.path: each for each in found}


def _find(modules: dict[PurePosixPath, Submodule], link: PurePosixPath, *, place: str) -> Submodule:
    if link not in modules:
        msg = f"{place}: found no submodule with the path {link}, which the commit records"
        raise InputError(msg, hint="add it as `git submodule add` does")
    return modules[link]


def _allowed_url(module: Submodule, near: RepositoryUrl, trust: Trust) -> RepositoryUrl:
    url = parse_repository_url(module.url, place=module.place, near=near)
    if trust.allows(url):
        return url
    msg = f"{module.place}: found {url}, expected a repository that the base commit names there"
    hint = "if it is right, name it in the workflow's input submodule-repositories"
    raise InputError(msg, hint=hint)


def _clear(project: Path, path: PurePosixPath, shared: Path | None) -> None:
    place = project
    for part in path.parts:
        place /= part
        if place.is_symlink():
            msg = f"{place}: found a symbolic link, expected the folder of a submodule"
            raise InputError(msg)
    try:
        if not os.path.lexists(place):
            return
        if not (is_made(place) or (shared is not None and is_work_tree(place, shared))):
            _expect_empty(place)
        # What an earlier job left here may have settings that start programs.
        shutil.rmtree(place)
    except OSError as error:
        msg = f"{place} cannot be removed: {error.strerror}"
        raise InputError(msg) from None


def _expect_empty(place: Path) -> None:
    if not place.is_dir() or any(place.iterdir()):
        msg = f"{place}: found {kind_at(place) or 'a file'} that megtrim did not fetch"
        hint = "keep what you need of it elsewhere, and remove it: the submodule is fetched there"
        raise InputError(msg, hint=hint)
