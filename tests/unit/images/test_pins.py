"""Pins: read from a registry on a real socket, from a server of archives, and written down."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request
from werkzeug import Response as Reply

from megtrim.errors import InfrastructureFailure, InputError, MegtrimError
from megtrim.images import pins, registry
from megtrim.images.pins import Pin
from megtrim.images.registry import parse_reference

DAY = date(2026, 3, 31)
MANIFEST = json.dumps({"schemaVersion": 2, "manifests": []}).encode()
DIGEST = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"
PATH = "/v2/library/debian/manifests/bookworm-slim"


def name(server: HTTPServer, path: str = "library/debian:bookworm-slim") -> str:
    return f"localhost:{server.port}/{path}"


def test_a_base_is_pinned_by_what_its_registry_says(httpserver: HTTPServer) -> None:
    """The digest is counted from the manifest's own bytes; every form of manifest is taken."""
    seen: list[Request] = []

    def answer(request: Request) -> Reply:
        seen.append(request)
        return Reply(MANIFEST, headers={"Docker-Content-Digest": DIGEST})

    httpserver.expect_request(PATH).respond_with_handler(answer)
    pin = pins.pin_base(name(httpserver), DAY)

    assert pin == Pin(
        value=f"localhost:{httpserver.port}/library/debian@{DIGEST}",
        source=httpserver.url_for(PATH),
        when="2026-03-31",
    )
    accepted = seen[0].headers["Accept"].split(", ")
    assert "application/vnd.oci.image.index.v1+json" in accepted
    assert "application/vnd.docker.distribution.manifest.list.v2+json" in accepted
    assert "Authorization" not in seen[0].headers


def test_a_token_that_everybody_may_have(httpserver: HTTPServer) -> None:
    """The registry says where it is, and for what; it goes to the registry alone."""
    asked: list[Request] = []
    realm = httpserver.url_for("/token")
    challenge = f'Bearer realm="{realm}",service="registry",scope="repository:library/debian:pull"'

    def manifest(request: Request) -> Reply:
        if request.headers.get("Authorization") == "Bearer t0ken":
            return Reply(MANIFEST)
        return Reply("{}", 401, headers={"WWW-Authenticate": challenge})

    def token(request: Request) -> Reply:
        asked.append(request)
        return Reply(json.dumps({"token": "t0ken"}))

    httpserver.expect_request(PATH).respond_with_handler(manifest)
    httpserver.expect_request("/token").respond_with_handler(token)

    assert pins.pin_base(name(httpserver), DAY).value.endswith(f"@{DIGEST}")
    assert dict(asked[0].args) == {
        "service": "registry",
        "scope": "repository:library/debian:pull",
    }
    assert "Authorization" not in asked[0].headers


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (Reply("", 404), InputError, "the registry answered 404"),
        (Reply("", 403), InputError, "the registry answered 403"),
        (Reply("", 500), InfrastructureFailure, "the registry answered 500"),
        (Reply("", 401), InputError, "requires a login"),
        (Reply("<html>"), InfrastructureFailure, "the manifest's digest is"),
        (
            Reply(MANIFEST, headers={"Docker-Content-Digest": "sha256:0"}),
            InfrastructureFailure,
            "expected sha256:0",
        ),
        (Reply(b"0" * 5_000_000), InfrastructureFailure, "larger than 4194304 bytes"),
        (Reply("", 302, headers={"Location": "http://x.example/"}), MegtrimError, "x.example"),
    ],
)
def test_answers_that_are_no_digest(
    httpserver: HTTPServer, answer: Reply, kind: type[MegtrimError], said: str
) -> None:
    """A page of a proxy, a wrong name, an outage: nothing is recorded."""
    httpserver.expect_request(PATH).respond_with_response(answer)
    with pytest.raises(kind, match=said):
        pins.pin_base(name(httpserver), DAY)


@pytest.mark.parametrize("body", ["", "{}", '{"token": 1}', '{"token": "a\\nb"}', "[]"])
def test_a_token_that_is_none(httpserver: HTTPServer, body: str) -> None:
    """It never comes into a header."""
    challenge = f'Bearer realm="{httpserver.url_for("/token")}"'
    refusal = Reply("", 401, headers={"WWW-Authenticate": challenge})
    httpserver.expect_request(PATH).respond_with_response(refusal)
    httpserver.expect_request("/token").respond_with_data(body)
    with pytest.raises(InfrastructureFailure, match="without a token"):
        registry.digest_of(parse_reference(name(httpserver)))


def test_an_archive_is_counted(httpserver: HTTPServer) -> None:
    """All of it is loaded, none of it kept."""
    data = bytes(range(256)) * 9000
    httpserver.expect_request("/ndk.zip").respond_with_data(data)
    url = httpserver.url_for("/ndk.zip")

    assert pins.pin_ndk(url, DAY) == Pin(
        value=f"sha256:{hashlib.sha256(data).hexdigest()}",
        source=url,
        when="2026-03-31",
        size_bytes=len(data),
    )


@pytest.mark.parametrize(
    ("status", "data", "kind", "said"),
    [
        (404, b"gone", InputError, "the server answered 404"),
        (503, b"", InfrastructureFailure, "the server answered 503"),
        (200, b"", InfrastructureFailure, "received 0 bytes"),
    ],
)
def test_an_archive_that_did_not_come(
    httpserver: HTTPServer, status: int, data: bytes, kind: type[MegtrimError], said: str
) -> None:
    """Never a checksum of an error page."""
    httpserver.expect_request("/ndk.zip").respond_with_data(data, status=status)
    with pytest.raises(kind, match=said):
        pins.pin_ndk(httpserver.url_for("/ndk.zip"), DAY)


def test_a_base_is_written_so_that_it_is_read(httpserver: HTTPServer, tmp_path: Path) -> None:
    """A host's capitals are made small; a name that no file of pins may hold is never asked for."""
    httpserver.expect_request(PATH).respond_with_data(MANIFEST)
    pin = pins.pin_base(f"LocalHost:{httpserver.port}/library/debian:bookworm-slim", DAY)
    pins.write_pins(tmp_path / "pins.json", {"base": pin})

    assert pin.value == f"localhost:{httpserver.port}/library/debian@{DIGEST}"
    assert pins.read_pins(tmp_path / "pins.json") == {"base": pin}
    for text in (f"localhost:1/{'a' * 256}:x", "a b.example/c:x", "h.example@/c:x"):
        with pytest.raises(InputError, match="expected a name of at most 255"):
            pins.pin_base(text, DAY)


@pytest.mark.parametrize("url", ["", "ndk.zip", "file:///etc/passwd", "https://u:p@h/x"])
def test_what_is_no_address(url: str) -> None:
    """Nothing is loaded from this machine's own files."""
    with pytest.raises(InputError, match=r"expected the http\(s\) address"):
        pins.pin_ndk(url, DAY)


def test_pins_are_written_and_read(tmp_path: Path) -> None:
    """Equal pins, equal bytes; no file, no pins."""
    path = tmp_path / "pins.json"
    base = Pin(value=f"debian@{DIGEST}", source="https://r/", when="2026-03-31")
    ndk = Pin(value=DIGEST, source="https://h/ndk.zip", when="2026-03-31", size_bytes=12)
    assert pins.read_pins(path) == {}
    pins.write_pins(path, {"ndk": ndk, "base": base})
    before = path.read_bytes()
    pins.write_pins(path, {"base": base, "ndk": ndk})

    assert path.read_bytes() == before
    assert pins.read_pins(path) == {"base": base, "ndk": ndk}
    assert json.loads(before)["pins"]["base"] == {
        "value": f"debian@{DIGEST}",
        "source": "https://r/",
        "when": "2026-03-31",
    }


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "null", '{"version": 2, "pins": {}}', '{"version": 1, "pins": 7}'),
        '{"version": 1, "pins": {"base": {}}}',
        '{"version": 1, "pins": {"base": {"value": "debian:12", "source": "", "when": ""}}}',
        '{"version": 1, "pins": {"ndk": {"value": "sha256:0", "source": "", "when": ""}}}',
        '{"version": 1, "pins": {"other": {"value": "x", "source": "", "when": ""}}}',
    ],
)
def test_files_that_hold_no_pins(tmp_path: Path, text: str) -> None:
    """A digest that was never read is not one."""
    path = tmp_path / "pins.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="found something other than what `megtrim images pin`"):
        pins.read_pins(path)
