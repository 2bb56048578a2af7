"""What a generated header lets a build keep, read back from the header's text.

It reads ours in both layouts and the engine's own generator's, and shares no code with what
writes them: what it finds in two headers can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_DEFINE = re.compile(r"#\s*define\s+(\w+)(\(.*?\))?(?:\s+(.*))?", re.DOTALL)
_REGION = re.compile(r"template\s*<\s*>\s*struct\s+(Region<[^;{]*>)\s*(?:;|\{([^}]*)\};)")
_OPERATOR = re.compile(
    r"struct\s+OprRegistryCaller<opr::(\w+),\s*Callee>\s*:\s*public\s+OprRegistryCallerDefaultImpl"
)


@dataclass(frozen=True, slots=True)
class _Macro:
    parameters: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Enabled:
    """What is kept. None where the header says nothing of it, so that all of it is kept."""

    generation: int
    regions: tuple[str, ...] | None
    """Canonical text of each, sorted."""
    operators: tuple[str, ...] | None
    switches: tuple[str, ...]
    """Macros that switch a data type off, sorted."""
    modes: tuple[str, ...] | None
    """Elementwise modes that call back, sorted."""
    all_modes: tuple[str, ...]
    """Every mode that the header names, sorted."""
    hashes: tuple[int, ...] | None


def enabled(*texts: str) -> Enabled:
    """Read the files of one header; a macro that stands twice is an error."""
    macros = _macros(texts)
    modes = _modes(macros)
    registry = macros.get("MGB_OPR_REGISTRY_CALLER_SPECIALIZE")
    return Enabled(
        generation=int(macros["MGB_BINREDUCE_VERSION"].body),
        regions=_regions(macros, texts),
        operators=None if registry is None else tuple(sorted(_OPERATOR.findall(registry.body))),
        switches=tuple(sorted(name for name in macros if name.startswith("MEGDNN_DISABLE_"))),
        modes=None if modes is None else tuple(sorted(n for n, calls in modes.items() if calls)),
        all_modes=tuple(sorted(modes or ())),
        hashes=_hashes(macros.get("MGB_BINREDUCE_GRAPH_HASHES")),
    )


def _macros(texts: Iterable[str]) -> dict[str, _Macro]:
    macros: dict[str, _Macro] = {}
    for text in texts:
        for line in re.sub(r"\\\n", " ", text).splitlines():
            match = _DEFINE.fullmatch(line.strip())
            if match:
                assert match[1] not in macros, f"{match[1]} is defined twice"
                macros[match[1]] = _Macro(match[2] or "", (match[3] or "").strip())
    return macros


def _modes(macros: dict[str, _Macro]) -> dict[str, bool] | None:
    """Return whether each mode calls back; the names of the macros are the header's own matter."""
    entry = macros.get("MEGDNN_ELEMWISE_MODE_ENABLE")
    if entry is None:
        return None
    joined = re.fullmatch(r"\((\w+), (\w+)\) (\w+)##\1\(\2\)", f"{entry.parameters} {entry.body}")
    assert joined, entry
    modes = {}
    for name, macro in macros.items():
        if name.startswith(joined[3]):
            mode = name.removeprefix(joined[3])
            assert macro.body in ("", f"{macro.parameters.strip('()')}({mode})")
            modes[mode] = bool(macro.body)
    return modes


def _regions(macros: dict[str, _Macro], texts: Iterable[str]) -> tuple[str, ...] | None:
    if "MIDOUT_GENERATED" not in macros:
        return None
    found = [
        _canonical(type_)
        for text in texts
        for line in text.splitlines()
        # A tag's own file declares its regions in no macro.
        for type_, _ in _REGION.findall(line if line.endswith(";") else "")
    ]
    for type_, body in _REGION.findall(macros["MIDOUT_GENERATED"].body):
        assert body.strip() == "static constexpr bool enable = true;"
        found.append(_canonical(type_))
    for name, macro in macros.items():
        if name.startswith("MEGTRIM_TAG_") and macro.body != "~, (MEGTRIM_ELSEWHERE)":
            tag = name.removeprefix("MEGTRIM_TAG_")
            kept = [_canonical(type_) for type_, body in _REGION.findall(macro.body) if not body]
            assert kept
            assert all(region.startswith(f"{tag}<") for region in kept)
            found.extend(kept)
    # The engine's generator writes a region twice when traces of two C++ libraries are merged.
    return tuple(sorted(set(found)))


def _canonical(type_: str) -> str:
    """Return ``TAG<1, float>`` for ``Region<tags::TAG, std::integral_constant<int, 1>, float>``."""
    text = re.sub(r"\s+", " ", type_).replace("> >", ">>").replace("> >", ">>")
    text = re.sub(r"(?<=[<, (])::", "", text.replace("__ndk1::", ""))
    text = re.sub(r"std::integral_constant<int, (-?\d+)>", r"\1", text)
    text = re.sub(r"\bhalf\b(?!_|::)", "__fp16", text)
    inner = text.removeprefix("Region<tags::").removesuffix(">")
    tag, _, arguments = inner.partition(", ")
    return f"{tag}<{arguments}>"


def _hashes(macro: _Macro | None) -> tuple[int, ...] | None:
    if macro is None:
        return None
    numbers = [number.strip() for number in macro.body.split(",")]
    assert all(number.endswith("ULL") for number in numbers)
    return tuple(sorted(int(number.removesuffix("ULL")) for number in numbers))
