"""Asks a registry for the digest of an image name, by the HTTP API that all registries share.

The API is that of the OCI distribution specification: a manifest at ``/v2/NAME/manifests/TAG``, and
a token from the URL that a response 401 names.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from dataclasses import dataclass
from urllib.parse import urlencode

from megtrim.errors import InfrastructureFailure, InputError
from megtrim.http import HttpClient, Request, Response, TransferLimits, TransportError

DEFAULT_REGISTRY = "docker.io"
_API_OF_DEFAULT = "registry-1.docker.io"
_LARGEST_BYTES = 4 * 1024 * 1024
_LONGEST_S = 60.0
_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_NAME = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_CHALLENGE = re.compile(r'(realm|service|scope)="([^"]{1,1000})"')
_NEAR = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3})(?::\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRef:
    """A name in a registry, with a tag."""

    registry: str
    name: str
    tag: str

    @property
    def url(self) -> str:
        """URL of the manifest; as in docker, a registry of this machine uses plain HTTP."""
        host = _API_OF_DEFAULT if self.registry == DEFAULT_REGISTRY else self.registry
        scheme = "http" if _NEAR.fullmatch(self.registry) else "https"
        return f"{scheme}://{host}/v2/{self.name}/manifests/{self.tag}"


def parse_reference(text: str) -> ImageRef:
    """Return the parts of ``[REGISTRY/]NAME:TAG``; a name of one part is an official image."""
    path, colon, tag = text.rpartition(":")
    first, slash, rest = path.partition("/")
    first = first.lower()  # if it is a host name, its case has no meaning
    elsewhere = bool(slash) and ("." in first or ":" in first or first == "localhost")
    registry, name = (first, rest) if elsewhere else (DEFAULT_REGISTRY, path)
    if registry == DEFAULT_REGISTRY and "/" not in name:
        name = f"library/{name}"
    if not colon or not _NAME.fullmatch(name) or not _TAG.fullmatch(tag):
        msg = f"found {text[:80]!r}, expected [REGISTRY/]NAME:TAG, such as debian:bookworm-slim"
        raise InputError(msg)
    return ImageRef(registry=registry, name=name, tag=tag)


def digest_of(reference: ImageRef) -> str:
    """Return ``sha256:HEX`` of the manifest that the name refers to now.

    The digest is computed from the manifest's bytes, and must equal the one the registry sends.
    """
    answer = _ask(reference, "")
    if answer.status == 401:
        answer = _ask(reference, _token(reference, answer))
    match answer.status:
        case 200:
            return _verify_digest(reference, answer)
        case 401 | 403 | 404 as status:
            msg = f"{reference.url}: the registry answered {status}"
            raise InputError(msg, hint="is it spelt right, and public?")
        case status:
            msg = f"{reference.url}: the registry answered {status}"
            raise InfrastructureFailure(msg, hint="try again later")


def exchange(url: str, *, token: str = "", accept: str = "*/*", request: Request) -> Response:
    """Send one request. Raises InfrastructureFailure if no complete response comes."""
    headers = {"Accept": accept, "User-Agent": "megtrim"}
    client = HttpClient(url, token, headers=headers, clock=time.monotonic, limits=TransferLimits())
    try:
        return client.exchange(request)
    except TransportError as broken:
        msg = f"{url}: {broken}"
        raise InfrastructureFailure(msg, hint="is the address right, and the network up?") from None


def _ask(reference: ImageRef, token: str) -> Response:
    return exchange(
        reference.url, token=token, accept=", ".join(_MANIFESTS), request=_get(reference.url)
    )


def _token(reference: ImageRef, answer: Response) -> str:
    """Get the anonymous token from the URL that the registry names."""
    challenge = dict(_CHALLENGE.findall(answer.headers.get("www-authenticate", "")))
    realm = challenge.pop("realm", "")
    secure = realm.startswith("https://") or reference.url.startswith("http://")
    if not realm or not secure:
        msg = f"{reference.url}: the registry requires a login that megtrim does not support"
        raise InputError(msg)
    url = f"{realm}?{urlencode(sorted(challenge.items()))}"
    response = exchange(realm, request=_get(url))
    try:
        token = json.loads(response.body)["token"] if response.status == 200 else None
    except (ValueError, LookupError, TypeError, RecursionError):
        token = None
    if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]{1,16384}", token):
        msg = f"{realm}: answered {response.status}, without a token"
        raise InfrastructureFailure(msg)
    return token


def _verify_digest(reference: ImageRef, answer: Response) -> str:
    digest = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
    announced = answer.headers.get("docker-content-digest", digest)
    try:
        whole = isinstance(json.loads(answer.body), dict)
    except (ValueError, RecursionError):
        whole = False
    if not whole or announced != digest:
        msg = f"{reference.url}: the manifest's digest is {digest}, expected {announced[:80]}"
        raise InfrastructureFailure(msg, hint="does a proxy answer in the registry's place?")
    return digest


def _get(url: str) -> Request:
    return Request(
        method="GET",
        url=url,
        body=None,
        largest_bytes=_LARGEST_BYTES,
        longest_s=_LONGEST_S,
        may_leave=False,
    )
