"""Names of images in a registry, and the token that it asks for; digests: see test_pins.py."""

from __future__ import annotations

import pytest

from megtrim.errors import InputError
from megtrim.http import Response
from megtrim.images import registry
from megtrim.images.registry import parse_reference


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("debian:bookworm", "https://registry-1.docker.io/v2/library/debian/manifests/bookworm"),
        ("team/a-b:1", "https://registry-1.docker.io/v2/team/a-b/manifests/1"),
        ("docker.io/debian:12", "https://registry-1.docker.io/v2/library/debian/manifests/12"),
        ("host.example/a/b:1.0", "https://host.example/v2/a/b/manifests/1.0"),
        ("host.example:5000/a:x", "https://host.example:5000/v2/a/manifests/x"),
        ("Host.example/a:X", "https://host.example/v2/a/manifests/X"),
        ("Docker.io/debian:12", "https://registry-1.docker.io/v2/library/debian/manifests/12"),
        ("localhost:5000/a:x", "http://localhost:5000/v2/a/manifests/x"),
        ("127.0.0.1:5000/a:x", "http://127.0.0.1:5000/v2/a/manifests/x"),
        ("127.0.0.1.example/a:x", "https://127.0.0.1.example/v2/a/manifests/x"),
    ],
)
def test_where_a_name_is_kept(text: str, url: str) -> None:
    """As docker reads it: only a registry of this machine speaks without TLS."""
    assert parse_reference(text).url == url


@pytest.mark.parametrize(
    "text", ["", "debian", "debian:", ":x", "a b:c", "A:b", "a//b:c", "a:b/../c", "host.example/:x"]
)
def test_what_is_no_name(text: str) -> None:
    """One message, and no one is asked."""
    with pytest.raises(InputError, match=r"expected \[REGISTRY/\]NAME:TAG"):
        parse_reference(text)


def test_a_token_is_not_asked_for_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a registry that speaks TLS: whoever answers instead could give any manifest."""
    asked: list[str] = []

    def exchange(url: str, **_: object) -> Response:
        asked.append(url)
        challenge = 'Bearer realm="http://host.example/token",service="x"'
        return Response(status=401, headers={"www-authenticate": challenge}, body=b"")

    monkeypatch.setattr(registry, "exchange", exchange)
    with pytest.raises(InputError, match="requires a login that megtrim does not"):
        registry.digest_of(parse_reference("host.example/a:1"))
    assert asked == ["https://host.example/v2/a/manifests/1"]
