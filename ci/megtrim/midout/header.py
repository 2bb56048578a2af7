"""The generated header, in two layouts and for both generations of the engine. Pure.

``upstream``: everything in one force-included file, as the engine's own generator writes it.
``scoped``: the force-included file holds macros only, and a ``midout.h`` that takes the place
of the engine's brings in a tag's regions where that tag is declared. Preprocessed text, and
with it the key of a compiler cache, then changes only in files that declare a changed tag.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files as package_files

from megtrim.errors import InputError
from megtrim.midout.keepset import KeepSet
from megtrim.midout.region import Region
from megtrim.models.operators import OperatorNeeds

MODE_TAG = "megdnn_common_elemwise_mode"
_MODES_FROM_TRACE = 20220507
_FORCED = "bin_reduce.h"
_CONTRACT = "midout.h"
_REGIONS_MARK = "// @REGIONS@\n"
_TITLE = "// Written by megtrim from the keep set: do not edit.\n"


class Layout(StrEnum):
    """Where regions stand."""

    SCOPED = "scoped"
    UPSTREAM = "upstream"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderFiles:
    """The generated files, by name; names have no folder."""

    files: tuple[tuple[str, str], ...]


def render(
    keep: KeepSet, *, layout: Layout, elemwise_modes: Sequence[tuple[str, int]]
) -> HeaderFiles:
    """Write the header. ``elemwise_modes`` are all modes of the engine, name and value.

    Without scenarios all regions are kept, without operators all operators: what is not known
    is not trimmed.
    """
    macros = _TITLE + "".join(_macros(keep, elemwise_modes))
    regions = tuple(keep.regions())
    if not regions:
        return HeaderFiles(files=((_FORCED, macros),))
    if layout is Layout.UPSTREAM:
        return HeaderFiles(files=((_FORCED, macros + _define(_specialised(regions))),))
    contract = (package_files("megtrim.midout") / "contract.h").read_text(encoding="utf-8")
    scoped = contract.replace(_REGIONS_MARK, "".join(_by_tag(regions)))
    return HeaderFiles(files=((_FORCED, macros), (_CONTRACT, _TITLE + scoped)))


def _macros(keep: KeepSet, elemwise_modes: Sequence[tuple[str, int]]) -> Iterator[str]:
    yield f"#define MGB_BINREDUCE_VERSION {keep.generation}\n"
    needs = keep.operators
    if needs is not None and "Float16" not in dict(needs.dtypes):
        # The engine's first spelling of the switch has a slip that was never taken back.
        yield "#define MEGDNN_DISABLE_FLOT16 1\n#define MEGDNN_DISABLE_FLOAT16 1\n"
    yield from _modes(keep, elemwise_modes)
    if needs is not None:
        yield _define(_operators(needs))
    if needs is not None and needs.hashes:
        hashes = ",".join(f"{number}ULL" for number in needs.hashes)
        yield f"#define MGB_BINREDUCE_GRAPH_HASHES {hashes}\n"


def _modes(keep: KeepSet, every: Sequence[tuple[str, int]]) -> Iterator[str]:
    """Name every mode: what is used calls back, what is not is nothing."""
    used = _modes_used(keep, every)
    if used is None:
        return
    for name, _ in every:
        body = f"_cb({name})" if name in used else ""
        yield f"#define _MEGDNN_ELEMWISE_MODE_ENABLE_IMPL_{name}(_cb) {body}".rstrip() + "\n"
    yield (
        "#define MEGDNN_ELEMWISE_MODE_ENABLE(_mode, _cb) "
        "_MEGDNN_ELEMWISE_MODE_ENABLE_IMPL_##_mode(_cb)\n"
    )


def _modes_used(keep: KeepSet, every: Sequence[tuple[str, int]]) -> frozenset[str] | None:
    """Return the modes in use; None where nothing is known, so that all stay.

    The newer generation records them while it runs; the older one knows the model's own.
    """
    if keep.generation < _MODES_FROM_TRACE:
        needs = keep.operators
        return None if needs is None else frozenset(name for name, _ in needs.elemwise_modes)
    names = {value: name for name, value in every}
    traced = [region for region in keep.regions() if region.tag == MODE_TAG]
    used = set()
    for region in traced:
        number = next((arg for arg in region.args if isinstance(arg, int)), None)
        if number not in names:
            msg = f"the trace ran {region}, and this engine has no such elementwise mode"
            raise InputError(msg, hint="was it traced with another version of the engine?")
        used.add(names[number])
    return frozenset(used) if traced else None


def _operators(needs: OperatorNeeds) -> list[str]:
    """Lines that leave an operator's loader empty unless the operator is named here."""
    names = [name for name, _ in needs.operators]
    return [
        "MGB_OPR_REGISTRY_CALLER_SPECIALIZE }",
        f"namespace opr {{ {' '.join(f'class {name};' for name in names)} }}",
        "namespace serialization {",
        "template <class Opr, class Callee> struct OprRegistryCaller {};",
        *(
            "template <class Callee> struct OprRegistryCaller<opr::"
            f"{name}, Callee> : public OprRegistryCallerDefaultImpl<Callee> {{}};"
            for name in names
        ),
    ]


def _specialised(regions: Sequence[Region]) -> list[str]:
    tags = sorted({region.tag for region in regions})
    return [
        "MIDOUT_GENERATED namespace midout {",
        f"namespace tags {{ {' '.join(f'class {tag};' for tag in tags)} }}",
        *(
            f"template <> struct {_cpp(region)} {{ static constexpr bool enable = true; }};"
            for region in regions
        ),
        "}",
    ]


def _by_tag(regions: Sequence[Region]) -> Iterator[str]:
    for tag in sorted({region.tag for region in regions}):
        kept = [f"std::true_type kept({_cpp(region)}*);" for region in regions if region.tag == tag]
        yield _define([f"MEGTRIM_TAG_{tag} ~,", *kept])


def _cpp(region: Region) -> str:
    args = (
        f"std::integral_constant<int, {arg}>"
        if isinstance(arg, int)
        else f"::{arg}"
        if "::" in arg
        else arg
        for arg in region.args
    )
    return f"Region<{', '.join((f'tags::{region.tag}', *args))}>"


def _define(lines: Sequence[str]) -> str:
    return "#define " + " \\\n    ".join(lines) + "\n"
