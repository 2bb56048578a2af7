import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pytest

from megtrim.build.sources.fetch import FetchRequest, SourceFetch, trusted_url
from megtrim.build.sources.git import SourceRepository
from megtrim.build.sources.gitmodules import parse_patterns, parse_project_url
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from support.source_forge import SourceForge

PROCESSES = ProcessRunner({"PATH": os.environ["PATH"]})
ENGINE = "third_party/engine"
MIDOUT = f"{ENGINE}/third_party/midout"
LLVM = f"{ENGINE}/third_party/llvm"
Links = Mapping[str, tuple[str, str]]


@dataclass(slots=True)
class World:
    """A project with an engine, whose submodules are midout, which is needed, and llvm."""

    forge: SourceForge
    folder: Path
    midout: str = field(init=False)
    engine: str = field(init=False)
    base: str = field(init=False)

    def __post_init__(self) -> None:
        self.midout = self.forge.commit("midout", {"midout.h": "\n"})
        self.engine = self.engine_commit({"third_party/midout": ("../midout.git", self.midout)})
        self.base = self.project({ENGINE: ("../engine.git", self.engine)})

    def engine_commit(self, links: Links, *, modules: str | None = None) -> str:
        llvm = {"third_party/llvm": ("https://example.invalid/llvm.git", "1" * 40)}
        return self.forge.commit("engine", {"e.cpp": "\n"}, {**links, **llvm}, modules=modules)

    def project(self, links: Links, *, modules: str | None = None) -> str:
        return self.forge.commit("app", {"megtrim.yaml": "\n"}, links, modules=modules)

    def fetch(
        self, head: str, paths: tuple[str, ...] = (ENGINE, MIDOUT), *, patterns: str = ""
    ) -> SourceFetch:
        work = SourceFetch(self.request(head, patterns=patterns), PROCESSES, lambda line: None)
        for path in paths:  # as the command does: the engine first, then what it needs
            work.fetch([PurePosixPath(path)])
        return work

    def request(self, head: str, *, patterns: str = "") -> FetchRequest:
        url = parse_project_url(self.forge.url("app"))
        for name, sha in (("project", head), ("trusted", self.base)):
            if not (self.folder / name).exists():
                self.forge.check_out("app", sha, self.folder / name)
        return FetchRequest(
            project=self.folder / "project",
            trusted=self.folder / "trusted",
            url=url,
            patterns=parse_patterns(patterns, near=url),
        )

    def refused(self, head: str, *, patterns: str = "") -> str:
        with pytest.raises(InputError) as caught:
            self.fetch(head, patterns=patterns)
        assert not list(self.folder.rglob("pwned"))
        return caught.value.message


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(SourceForge(tmp_path / "forge"), tmp_path)


def test_only_what_is_wanted_is_fetched(world: World) -> None:
    done = world.fetch(world.base)

    assert [str(path) for path in done.fetched] == [ENGINE, MIDOUT]
    assert (world.folder / "project" / MIDOUT / "midout.h").is_file()
    assert list((world.folder / "project" / LLVM).iterdir()) == []
    status = SourceForge(world.folder).git("-C", str(world.folder / "project"), "status", "-s")
    assert status == ""


def test_a_newer_commit_of_the_engine_is_the_changes_own_business(world: World) -> None:
    newer = world.forge.commit("midout", {"midout.h": "// newer\n"})
    engine = world.engine_commit({"third_party/midout": ("../midout.git", newer)})
    done = world.fetch(world.project({ENGINE: ("../engine.git", engine)}))

    assert done.fetched[PurePosixPath(MIDOUT)].commit == newer


def test_a_repository_that_the_workflow_names_is_trusted(world: World) -> None:
    """Also the change that brings the engine to a project gets through so."""
    fork = world.forge.commit("fork", {"midout.h": "// fork\n"})
    engine = world.engine_commit({"third_party/midout": ("../fork.git", fork)})
    head = world.project({ENGINE: ("../engine.git", engine)})

    assert "fork.git, expected a repository that the base commit names" in world.refused(head)
    done = world.fetch(head, patterns=world.forge.url("fork"))
    assert done.fetched[PurePosixPath(MIDOUT)].commit == fork


def entry(path: str, url: str, more: str = "") -> str:
    return f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n{more}'


HOSTILE = {
    "program instead of an URL": entry(ENGINE, "ext::sh -c touch% pwned"),
    "folder of the machine": entry(ENGINE, "/srv/git/other"),
    "option instead of an URL": entry(ENGINE, "--upload-pack=touch pwned"),
    "ssh with an option": entry(ENGINE, "ssh://-oProxyCommand=touch%20pwned/x"),
    "ssh": entry(ENGINE, "git@github.com:acme/engine.git"),
    "git without encryption": entry(ENGINE, "git://github.com/acme/engine"),
    "http without encryption": entry(ENGINE, "http://github.com/acme/engine"),
    "password in the URL": entry(ENGINE, "https://x:y@github.com/acme/engine"),
    "another repository": entry(ENGINE, "https://github.com/mallory/engine"),
    "another repository nearby": entry(ENGINE, "../other.git"),
    "way up": entry(ENGINE, "../../../../../../../../../../../../etc"),
    "program as update": entry(ENGINE, "../engine.git", "\tupdate = !touch pwned\n"),
    "no entry for the path": entry("third_party/other", "../engine.git"),
    "two for one path": entry(ENGINE, "../engine.git") + entry(ENGINE, "../engine.git"),
    "second for one path": entry(ENGINE, "../engine.git")
    + entry(ENGINE, "../engine.git").replace('"third', '"x', 1),
    "name into hooks": entry(ENGINE, "../engine.git").replace(f'"{ENGINE}"', '"../../hooks"'),
    "settings": "[core]\n\tfsmonitor = touch pwned\n" + entry(ENGINE, "../engine.git"),
    "another file": "[include]\n\tpath = ../x\n" + entry(ENGINE, "../engine.git"),
    "rewritten URLs": '[url "ext::sh"]\n\tinsteadOf = https\n' + entry(ENGINE, "../engine.git"),
    "bytes that are no text": entry(ENGINE, "../engine\x00.git"),
    "far too long": entry(ENGINE, "../engine.git") + "# \n" * 30_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_project_gets_one_error(world: World, name: str) -> None:
    head = world.project({ENGINE: ("../engine.git", world.engine)}, modules=HOSTILE[name])

    message = world.refused(head)
    assert message.startswith(".gitmodules:"), message
    assert not (world.folder / "project" / ENGINE / "e.cpp").exists()


@pytest.mark.parametrize(
    "url", ["ext::sh -c touch% pwned", "https://github.com/mallory/midout", "../other.git"]
)
def test_a_hostile_engine_gets_one_error(world: World, url: str) -> None:
    """A change may choose any commit of the engine, also one that a fork pushed there."""
    text = entry("third_party/midout", url)
    engine = world.engine_commit(
        {"third_party/midout": ("../midout.git", world.midout)}, modules=text
    )
    message = world.refused(world.project({ENGINE: ("../engine.git", engine)}))

    assert message.startswith(f"{ENGINE}/.gitmodules:3: found "), message


def test_a_link_on_the_way_is_not_followed(world: World, tmp_path: Path) -> None:
    request = world.request(world.base)
    outside = tmp_path / "outside"
    outside.mkdir()
    place = request.project / "third_party"
    (place / "engine").rmdir()
    place.rmdir()
    place.symlink_to(outside)

    assert "found a symbolic link" in world.refused(world.base)
    assert list(outside.iterdir()) == []


def test_what_an_earlier_job_left_is_removed(world: World) -> None:
    """A repository in its place could have settings that start programs."""
    request = world.request(world.base)
    left = request.project / ENGINE
    left.mkdir(exist_ok=True)
    world.forge.git("init", "--quiet", str(left))
    world.forge.git("-C", str(left), "config", "core.fsmonitor", "touch pwned")
    (left / "old.cpp").touch()

    world.fetch(world.base)

    assert not (left / "old.cpp").exists()
    assert "fsmonitor" not in (left / ".git/config").read_text()


def test_one_fetch_serves_the_base_as_well(world: World) -> None:
    world.fetch(world.base)
    shared = world.folder / "project"
    base = world.forge.check_out("app", world.base, world.folder / "base")
    request = FetchRequest(
        project=base,
        trusted=base,
        url=parse_project_url(world.forge.url("app")),
        patterns=(),
        shared=shared,
    )
    # Whoever asks a server now fails.
    world.forge.bare("engine").rename(world.folder / "away")
    SourceFetch(request, PROCESSES, lambda line: None).fetch([PurePosixPath(ENGINE)])

    assert (base / ENGINE / "e.cpp").is_file()
    assert (base / ENGINE / ".git").is_file()


def test_the_engines_repository_is_the_one_that_the_base_names(world: World) -> None:
    """Whatever the change says of it: its key goes nowhere else."""
    request = world.request(world.base)
    tree = SourceRepository(request.trusted, PROCESSES).tree()

    engine = trusted_url(request, tree, PurePosixPath(ENGINE, "sub"))
    assert str(engine) == world.forge.url("engine")
    assert trusted_url(request, tree, PurePosixPath("src")) is None
