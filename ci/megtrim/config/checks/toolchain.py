"""Which keys of the toolchain fit its kind, and which relocations its oldest phone can load.

Pure. Works on plain data like :mod:`megtrim.config.checks.devices`.
"""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.build_spec import LOADED_FROM, LOWEST_API, Relocations
from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import Problem, show

OF_NDK = ("ndk", "abi", "api", "fp16")
CLANG = "clang-linux-arm64"


def toolchain_problems(document: Document) -> Iterator[Problem]:
    """Yield keys that do not fit the toolchain's kind, and relocations that the oldest phone cannot
    load.
    """
    toolchain = document.data.get("toolchain")
    keys = toolchain if isinstance(toolchain, dict) else {}
    kind = keys.get("kind") or "auto"
    if kind != CLANG and keys.get("clang"):
        found = f"a key of kind {CLANG} on a toolchain of kind {kind}"
        yield document.problem(("toolchain", "clang"), found, f"kind: {CLANG}, or no such key")
    if kind == "ndk":
        yield from _android(document, keys)
        return
    for key in OF_NDK:
        if keys.get(key):
            found = f"a key of kind ndk on a toolchain of kind {kind}"
            yield document.problem(("toolchain", key), found, "kind: ndk, or no such key")
    packing = _packing(document)
    if packing in LOADED_FROM and (kind, packing) != (CLANG, Relocations.RELR):
        found = f"{show(packing)} with a toolchain of kind {kind}"
        expected = f"kind: ndk, or relr with kind: {CLANG}, or none"
        yield document.problem(("trim", "relocations"), found, expected)


def _android(document: Document, keys: dict[object, object]) -> Iterator[Problem]:
    abi = str(keys.get("abi") or "arm64-v8a")
    lowest = LOWEST_API.get(abi)
    if lowest is None:
        return  # the model reports it
    api = keys.get("api") or lowest
    if not isinstance(api, int):
        return
    if api < lowest:
        yield document.problem(("toolchain", "api"), f"{api} for {abi}", f"{lowest} or higher")
    if keys.get("fp16") and abi != "arm64-v8a":
        yield document.problem(("toolchain", "fp16"), f"fp16 for {abi}", "abi: arm64-v8a")
    packing = _packing(document)
    needed = LOADED_FROM.get(packing, 0)
    if api < needed:
        found = f"{show(packing)} for phones from API level {api} on"
        expected = f"toolchain.api of {needed} or higher: an older loader kills the process"
        yield document.problem(("trim", "relocations"), found, expected)


def _packing(document: Document) -> str:
    trim = document.data.get("trim")
    return str(trim.get("relocations")) if isinstance(trim, dict) else ""
