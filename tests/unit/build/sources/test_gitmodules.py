from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.build.sources.gitmodules import (
    MOST_SUBMODULES,
    Trust,
    parse_gitmodules,
    parse_patterns,
    parse_project_url,
    parse_repository_url,
)
from megtrim.util.errors import InputError

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
    *("ext::sh -c touch% pwned", "file:///etc/passwd", "/srv/git/x", "C:\\x", "x", ""),
    *("git://github.com/a/b", "http://github.com/a/b", "ssh://git@github.com/a/b", "rsync://x/y"),
    *("git@github.com:a/b.git", "ssh://-oProxyCommand=touch/x", "-upload-pack=touch", "fd::17"),
    *("https://user:pass@github.com/a/b", "https://token@github.com/a/b", "https:///a/b"),
    *("https://github.com/a/../b", "https://github.com//b", "https://github.com/-a/b"),
    *("https://github.com/a/b?x=1", "https://github.com/a/b#x", "https://github.com/a%2fb"),
    *("https://github.com/a/b\n", "https://github.com/a b", "https://github.com", "HTTPS://x/a"),
    *("../../../etc/passwd", "../..", "..", "../-x", "./../..//x", "transport::https://x/a"),
    *("https://github.com/a/b\x00c", "https://exämple.org/a/b", "https://-github.com/a/b"),
    *("../.git", "https://github.com/a/.git"),
)


def entry(path: str = "third_party/x", url: str = "../x.git", name: str = "x") -> str:
    return f'[submodule "{name}"]\n\tpath = {path}\n\turl = {url}\n'


def test_what_git_writes_is_read() -> None:
    found = parse_gitmodules(PLAIN, shown=".gitmodules")

    assert [(str(each.path), each.url, each.place) for each in found] == [
        ("third_party/Json", "../json.git", ".gitmodules:7"),
        ("third_party/midout", "https://github.com/MegEngine/midout.git", ".gitmodules:4"),
    ]


HOSTILE = {
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


@pytest.mark.parametrize("name", HOSTILE)
def test_what_git_does_not_write_is_refused(name: str) -> None:
    text, line = HOSTILE[name]
    with pytest.raises(InputError) as caught:
        parse_gitmodules(text, shown="engine/.gitmodules")

    assert caught.value.message.startswith(f"engine/.gitmodules:{line}: found ")
    assert caught.value.message.isprintable()


def test_there_is_an_end() -> None:
    many = "".join(entry(path=f"p{n}", name=f"n{n}") for n in range(MOST_SUBMODULES + 1))

    with pytest.raises(InputError, match="expected at most"):
        parse_gitmodules(many, shown="x")


_LINES = st.sampled_from(
    [*PLAIN.splitlines(), *(line for text, _ in HOSTILE.values() for line in text.splitlines())]
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


def test_two_ways_to_write_one_repository_are_equal() -> None:
    first, second = (
        parse_repository_url(text, place="", near=None)
        for text in ("https://github.com/a/b.git", "https://GITHUB.com/a/b/")
    )

    assert first == second
    assert Trust(repositories=frozenset([first]), patterns=()).allows(second)


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
    trust = Trust(repositories=frozenset(), patterns=patterns)

    def allows(text: str) -> bool:
        return trust.allows(parse_repository_url(text, place="", near=PROJECT))

    assert allows("https://github.com/MegEngine/midout.git")
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
