from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.build.sources.repository_url import (
    make_trust,
    parse_patterns,
    parse_project_url,
    parse_repository_url,
)
from megtrim.util.errors import InputError

PROJECT = parse_project_url("https://github.com/acme/app")


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
    assert make_trust([first], ()).allows(second)


HOSTILE = (
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


@pytest.mark.parametrize("text", HOSTILE)
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
    """With a slash at the end it is all that is below, and nothing that only begins alike."""
    patterns = parse_patterns(
        "https://github.com/MegEngine/ https://example.org/a/json.git", near=PROJECT
    )
    trust = make_trust([], patterns)

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
