import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.owned_folders import MARKER
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.sources.fetch import FetchRequest, SourceFetch, trusted_url
from megtrim.places.compile.sources.git import SourceRepository
from megtrim.places.compile.sources.gitmodules import (
    MOST_SUBMODULES,
    Trust,
    parse_gitmodules,
    parse_patterns,
    parse_project_url,
    parse_repository_url,
)
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


def entry(
    path: str = "third_party/x", url: str = "../x.git", more: str = "", *, name: str = "x"
) -> str:
    return f'[submodule "{name}"]\n\tpath = {path}\n\turl = {url}\n{more}'


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
    "second for one path": entry(ENGINE, "../engine.git") + entry(ENGINE, "../x", name="y"),
    "name into hooks": entry(ENGINE, "../engine.git", name="../../hooks"),
    "settings": "[core]\n\tfsmonitor = touch pwned\n" + entry(ENGINE, "../engine.git"),
    "another file": "[include]\n\tpath = ../x\n" + entry(ENGINE, "../engine.git"),
    "rewritten URLs": '[url "ext::sh"]\n\tinsteadOf = https\n' + entry(ENGINE, "../engine.git"),
    "bytes that are no text": entry(ENGINE, "../engine\x00.git"),
    "far too long": entry(ENGINE, "../engine.git") + "# \n" * 30_000,
}


@pytest.mark.parametrize("modules", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_project_gets_one_error(world: World, modules: str) -> None:
    head = world.project({ENGINE: ("../engine.git", world.engine)}, modules=modules)

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


@pytest.mark.parametrize("former", [False, True])
def test_what_an_earlier_job_left_is_removed(world: World, *, former: bool) -> None:
    """A repository in its place could have settings that start programs.

    ``former``: megtrim 0.2 fetched it, which left no marker.
    """
    request = world.request(world.base)
    tree = SourceRepository(request.trusted, PROCESSES).tree()
    # The engine's repository is the one that the base names, so its key goes nowhere else.
    engine = trusted_url(request, tree, PurePosixPath(ENGINE, "sub"))
    assert str(engine) == world.forge.url("engine")
    assert trusted_url(request, tree, PurePosixPath("src")) is None
    left = request.project / ENGINE
    world.fetch(world.base)
    world.forge.git("-C", str(left), "config", "core.fsmonitor", "touch pwned")
    (left / "old.cpp").touch()
    if former:
        (left / ".git" / MARKER).unlink()

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


PLAIN = """\
# what the engine needs
[submodule "third_party/midout"]
\tpath = third_party/midout
\turl = https://github.com/MegEngine/midout.git
[submodule "third_party/Json"]
    path = third_party/Json
    url = ../json.git
    branch = master
    shallow = true
    update = none
"""
PROJECT = parse_project_url("https://github.com/acme/app")
HOSTILE_URLS = (
    "ext::sh -c touch% pwned",
    "file:///etc/passwd",
    "/srv/git/x",
    "C:\\x",
    "x",
    "",
    "git://github.com/a/b",
    "http://github.com/a/b",
    "ssh://git@github.com/a/b",
    "rsync://x/y",
    "git@github.com:a/b.git",
    "ssh://-oProxyCommand=touch/x",
    "-upload-pack=touch",
    "fd::17",
    "https://user:pass@github.com/a/b",
    "https://token@github.com/a/b",
    "https:///a/b",
    "https://github.com/a/../b",
    "https://github.com//b",
    "https://github.com/-a/b",
    "https://github.com/a/b?x=1",
    "https://github.com/a/b#x",
    "https://github.com/a%2fb",
    "https://github.com/a/b\n",
    "https://github.com/a b",
    "https://github.com",
    "HTTPS://x/a",
    "../../../etc/passwd",
    "../..",
    "..",
    "../-x",
    "./../..//x",
    "transport::https://x/a",
    "https://github.com/a/b\x00c",
    "https://exämple.org/a/b",
    "https://-github.com/a/b",
    "../.git",
    "https://github.com/a/.git",
)


def test_what_git_writes_is_read() -> None:
    many = "".join(entry(path=f"p{n}", name=f"n{n}") for n in range(MOST_SUBMODULES + 1))
    with pytest.raises(InputError, match="expected at most"):
        parse_gitmodules(many, shown="x")
    found = parse_gitmodules(PLAIN, shown=".gitmodules")

    assert [(str(each.path), each.url, each.place) for each in found] == [
        ("third_party/Json", "../json.git", ".gitmodules:7"),
        ("third_party/midout", "https://github.com/MegEngine/midout.git", ".gitmodules:4"),
    ]


BROKEN = {
    "path outside": (entry(path="../x"), 2),
    "path outside by a detour": (entry(path="a/../../x"), 2),
    "absolute path": (entry(path="/etc/x"), 2),
    "path that is an option": (entry(path="-x"), 2),
    "part that is an option": (entry(path="a/--upload-pack=x"), 2),
    "path into the repository": (entry(path="a/.git/hooks"), 2),
    "path into the repository, in capitals": (entry(path=".GIT/hooks"), 2),
    "path of the tree itself": (entry(path="."), 2),
    "path with a backslash": (entry(path="a\\b"), 2),
    "path with an escape": (entry(path="a\x1b[2J"), 2),
    "path with a right-to-left mark": (entry(path="a\u202eb"), 2),
    "two in one folder": (entry() + entry(name="y"), 6),
    "one within another": (entry() + entry(path="third_party/x/y", name="y"), 6),
    "name that leads elsewhere": (entry(name="../../hooks"), 1),
    "name that is an option": (entry(name="-c"), 1),
    "absolute name": (entry(name="/etc"), 1),
    "name twice": (entry() + entry(path="third_party/y"), 4),
    "update that is a program": (entry() + "\tupdate = !touch pwned\n", 4),
    "url twice": (entry() + "\turl = https://example.org/a/b\n", 4),
    "another section": ('[core]\n\tfsmonitor = "touch pwned"\n', 1),
    "included file": ("[include]\n\tpath = /etc/passwd\n", 1),
    "url rewritten": ('[url "ext::sh -c pwned"]\n\tinsteadOf = https://\n', 1),
    "unknown key": (entry() + "\tsshCommand = touch pwned\n", 4),
    "quoted value": (entry(url='"../x.git"'), 3),
    "continued line": (entry(url="../x.git\\"), 3),
    "comment behind a value": (entry(url="../x.git ; ext::sh"), 3),
    "no url": ('[submodule "x"]\n\tpath = x\n', 1),
    "no path": ('[submodule "x"]\n\turl = ../x.git\n', 1),
    "escaped name": ('[submodule "x\\"]\n', 1),
    "value before a section": ("path = x\n", 1),
}


@pytest.mark.parametrize(("text", "line"), BROKEN.values(), ids=BROKEN)
def test_what_git_does_not_write_is_refused(text: str, line: int) -> None:
    with pytest.raises(InputError) as caught:
        parse_gitmodules(text, shown="engine/.gitmodules")

    assert caught.value.message.startswith(f"engine/.gitmodules:{line}: found ")
    assert caught.value.message.isprintable()


_LINES = st.sampled_from(
    [*PLAIN.splitlines(), *(line for text, _ in BROKEN.values() for line in text.splitlines())]
)


@given(st.lists(_LINES | st.text(max_size=40), max_size=12))
def test_any_text_is_submodules_or_one_error(lines: list[str]) -> None:
    try:
        found = parse_gitmodules("\n".join(lines), shown="x")
    except InputError:
        return
    paths = [each.path for each in found]
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert not path.is_absolute()
        assert not {"..", ".git", "."} & set(path.parts)
        assert path != PurePosixPath()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://github.com/MegEngine/midout.git", "https://github.com/MegEngine/midout.git"),
        ("https://GitHub.com/MegEngine/midout/", "https://github.com/MegEngine/midout"),
        ("https://git.example.org:8443/a/b/c", "https://git.example.org:8443/a/b/c"),
        ("../midout.git", "https://github.com/acme/midout.git"),
        ("./midout", "https://github.com/acme/app/midout"),
        ("../../MegEngine/midout", "https://github.com/MegEngine/midout"),
    ],
)
def test_https_and_relative_urls_are_read(text: str, expected: str) -> None:
    assert str(parse_repository_url(text, place="x:1", near=PROJECT)) == expected


@pytest.mark.parametrize("text", HOSTILE_URLS)
def test_other_urls_are_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_repository_url(text, place=".gitmodules:3", near=PROJECT)

    assert caught.value.message.startswith(".gitmodules:3: found the URL ")
    assert caught.value.message.isprintable()


def test_the_projects_own_server_is_reached_as_the_project_is() -> None:
    own = parse_project_url("http://git.example.org:8080/acme/app")

    assert parse_repository_url("../x", place="", near=own).scheme == "http"
    assert parse_repository_url("http://git.example.org:8080/a/b", place="", near=own).host
    for text in ("http://git.example.org/a/b", "http://example.org:8080/a/b", "file:///a/b"):
        with pytest.raises(InputError):
            parse_repository_url(text, place="", near=own)


@pytest.mark.parametrize("text", ["ssh://git@github.com/a/b", "ext::x", "", "https://github.com"])
def test_a_project_is_somewhere(text: str) -> None:
    with pytest.raises(InputError, match="the project's repository"):
        parse_project_url(text)


def test_a_workflow_names_repositories_or_what_is_above_them() -> None:
    patterns = parse_patterns(
        "https://github.com/MegEngine/ https://example.org/a/json.git", near=PROJECT
    )
    named = parse_repository_url("https://example.org/own/x.git", place="", near=None)
    trust = Trust(repositories=frozenset([named]), patterns=patterns)

    def allows(text: str) -> bool:
        return trust.allows(parse_repository_url(text, place="", near=PROJECT))

    assert allows("https://github.com/MegEngine/midout.git")

    assert allows("https://EXAMPLE.org/own/x/")
    assert allows("https://example.org/a/json")
    assert not allows("https://github.com/MegEngineer/midout")
    assert not allows("https://example.org/a/json/more")
    assert not allows("https://github.com.example.org/MegEngine/midout")
    assert not allows("../midout")


@given(st.text(max_size=60) | st.from_regex(r"(https://|\.\./|ext::)[a-z./:@-]{0,40}"))
def test_whatever_is_read_is_plain(text: str) -> None:
    try:
        url = parse_repository_url(text, place="", near=PROJECT)
    except InputError:
        return
    assert (url.scheme, url.host != "") == ("https", True)
    assert str(url).isascii()
    assert not any(char in str(url) for char in "@?#% \\")
    assert not any(part.startswith("-") or part in (".", "..", "") for part in url.parts)
