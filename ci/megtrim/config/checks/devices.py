"""Which keys of a device fit its kind, and which kinds cannot do without some.

Pure. Works on plain data like :mod:`megtrim.config.checks.references`, so that these mistakes
are reported together with all others.
"""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.config.device import EMULATED, KINDS, KINDS_OF_KEY, PATH_KEYS, is_on_runner
from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import KeyPath, Problem, listing, show
from megtrim.config.yaml.sections import Section, sections

_OF_ALL = ("name", "kind", "class", "runner", "toolchains")
_WHICH_PHONE = "serial, or match with the properties that the phone has"
_ON_RUNNER = "a path that the runner has: /... or ~/..."


def device_problems(document: Document) -> Iterator[Problem]:
    """Yield keys that do not fit a device's kind, and keys that it needs."""
    for path, device in sections(document.data, "devices"):
        kind = device.get("kind") or "auto"
        if kind not in KINDS:
            continue  # the model reports it
        yield from _unfit(document, path, device, str(kind))
        if kind == "adb":
            yield from _which_phone(document, path, device)
        if kind == "ssh" and device.get("host") is None:
            expected = "host, the board's name or address"
            yield document.problem((*path, "host"), "a device of kind ssh without host", expected)
        if device.get("runner") is True:
            yield from _here_alone(document, path, device)
    yield from _unplayable(document)


def _unfit(document: Document, path: KeyPath, device: Section, kind: str) -> Iterator[Problem]:
    for key, kinds in KINDS_OF_KEY.items():
        if device.get(key) is not None and kind not in kinds:
            own = [each for each, fitting in KINDS_OF_KEY.items() if kind in fitting]
            found = f"a key of kind {listing(kinds)} on a device of kind {kind}"
            expected = f"a key of kind {kind}: {listing((*_OF_ALL, *own))}"
            yield document.problem((*path, key), found, expected)


def _which_phone(document: Document, path: KeyPath, device: Section) -> Iterator[Problem]:
    named = [key for key in ("serial", "match") if device.get(key)]
    if not named:
        yield document.problem(path, "a device of kind adb without a phone", _WHICH_PHONE)
    if len(named) > 1:
        yield document.problem((*path, "match"), "both match and serial", "one of them")


def _here_alone(document: Document, path: KeyPath, device: Section) -> Iterator[Problem]:
    """Yield paths that a runner cannot find: it has no checkout that they could be relative to."""
    for key in PATH_KEYS:
        value = device.get(key)
        if isinstance(value, str) and not is_on_runner(value):
            yield document.problem((*path, key), f"{show(value)} of a runner's device", _ON_RUNNER)


def _unplayable(document: Document) -> Iterator[Problem]:
    """Yield emulators without a CPU: another CPU would choose kernels that the class does not."""
    unplayable = [
        entry.get("name")
        for _, entry in sections(document.data, "classes")
        if entry.get("qemu_cpu") is None
    ]
    for path, device in sections(document.data, "devices"):
        name, kind = device.get("class"), device.get("kind")
        if kind in EMULATED and isinstance(name, str) and name in unplayable:
            found = f"{show(name)}, a class without qemu_cpu, on a device of kind {kind}"
            yield document.problem((*path, "class"), found, "a class with qemu_cpu")
