"""Pins: digests and checksums that were read from their source, with the source and the day.

``docker/pins.json`` lists them by name. They are never written by hand, and no recipe has a default
in their place.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from megtrim.errors import InfrastructureFailure, InputError
from megtrim.http import Request, split
from megtrim.images import registry
from megtrim.input_files import read_text
from megtrim.store import write_atomically

FILE = "pins.json"
BASE = "base"
NDK = "ndk"
_VERSION = 1
_LARGEST_FILE_BYTES = 1024 * 1024
_LARGEST_NDK_BYTES = 4 * 1024**3
_LONGEST_DOWNLOAD_S = 2 * 3600.0
_BASE_NAME = r"[a-z0-9./:_-]{1,255}"
_VALUES = {
    BASE: re.compile(_BASE_NAME + r"@sha256:[0-9a-f]{64}"),
    NDK: re.compile(r"sha256:[0-9a-f]{64}"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One digest or checksum."""

    value: str
    """``NAME@sha256:HEX`` for a base image, ``sha256:HEX`` for an archive."""
    source: str
    """URL that it was read from."""
    when: str
    """Day, such as 2026-03-31."""
    size_bytes: int | None = None


def pin_base(text: str, today: date) -> Pin:
    """Return a pin with the digest that the registry has for a name now."""
    reference = registry.parse_reference(text)
    # Only a host name may have capitals.
    name = text.rpartition(":")[0].lower()
    if not re.fullmatch(_BASE_NAME, name):
        msg = f"found {text[:80]!r}, expected a name of at most 255 letters, digits and ./:_-"
        raise InputError(msg)
    value = f"{name}@{registry.digest_of(reference)}"
    return Pin(value=value, source=reference.url, when=today.isoformat())


def pin_ndk(url: str, today: date) -> Pin:
    """Download an NDK's archive, and return a pin with its size and sha256."""
    if split(url) is None:
        msg = f"found {url[:80]!r}, expected the http(s) address of an archive"
        raise InputError(msg)
    digest = hashlib.sha256()
    size_bytes = 0

    def count(chunk: bytes) -> None:
        nonlocal size_bytes
        digest.update(chunk)
        size_bytes += len(chunk)

    request = Request(
        method="GET",
        url=url,
        body=None,
        largest_bytes=_LARGEST_NDK_BYTES,
        longest_s=_LONGEST_DOWNLOAD_S,
        may_leave=True,
        sink=count,
    )
    answer = registry.exchange(url, request=request)
    if answer.status != 200:
        msg = f"{url}: the server answered {answer.status}"
        raise (InfrastructureFailure if answer.status >= 500 else InputError)(msg)
    announced = answer.headers.get("content-length", str(size_bytes))
    if announced != str(size_bytes) or not size_bytes:
        msg = f"{url}: received {size_bytes:,} bytes, expected {announced[:20]}"
        raise InfrastructureFailure(msg, hint="download it again")
    value = f"sha256:{digest.hexdigest()}"
    return Pin(value=value, source=url, when=today.isoformat(), size_bytes=size_bytes)


def read_pins(path: Path) -> Mapping[str, Pin]:
    """Return the pins of a file, by name; none if there is no file. Raises InputError."""
    if not path.exists():
        return {}
    text = read_text(path, most_bytes=_LARGEST_FILE_BYTES, expected="a file of pins")
    try:
        document = json.loads(text)
        entries = {_VERSION: document["pins"]}[document["version"]]
        return {name: _pin(name, entry) for name, entry in entries.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        msg = f"{path}: found something other than what `megtrim images pin` writes"
        raise InputError(msg, hint="delete it, and run `megtrim images pin` again") from None


def write_pins(path: Path, pins: Mapping[str, Pin]) -> None:
    """Write a file of pins; equal pins give equal bytes."""
    entries = {
        name: {label: value for label, value in asdict(pin).items() if value is not None}
        for name, pin in pins.items()
    }
    document = {"version": _VERSION, "pins": entries}
    write_atomically(path, json.dumps(document, indent=1, sort_keys=True) + "\n")


def _pin(name: str, entry: Mapping[str, Any]) -> Pin:
    pin = Pin(**entry)
    texts = (pin.value, pin.source, pin.when)
    if not all(isinstance(each, str) for each in texts) or not _VALUES[name].fullmatch(pin.value):
        raise ValueError(name)
    return pin
