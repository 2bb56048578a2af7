"""Generates the header, in two layouts and for both generations of the engine. Pure.

``upstream``: everything in one force-included file, as the engine's own generator writes it.
``scoped``: the force-included file contains macros only, and a ``midout.h`` that replaces the
engine's defines a tag's regions where that tag is declared. So the key of a compiler cache changes
only for files that declare a changed tag.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from importlib.resources import files as package_files
from itertools import groupby

from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.region import Region
from megtrim.libs.elf.type_names import is_identifier
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

ELEMWISE_MODES = "MEGDNN_ELEMWISE_MODE_ENABLE"
OPERATORS = "MGB_OPR_REGISTRY_CALLER_SPECIALIZE"
GRAPH_HASHES = "MGB_BINREDUCE_GRAPH_HASHES"
MACROS = (ELEMWISE_MODES, OPERATORS, GRAPH_HASHES)
"""Macros that change with the models; a file that does not name one does not depend on it."""
GENERATION = "MGB_BINREDUCE_VERSION"
"""The macro that every forced header defines: it is only defined in the engine's own build."""
SUFFIXES = (
    ".h",
    ".hh",
    ".hpp",
    ".hxx",
    ".inc",
    ".inl",
    ".ipp",
    ".tcc",
    ".def",
    ".c",
    ".cc",
    ".cpp",
    ".cxx",
    ".cu",
    ".cuh",
    ".hip",
)
_DECLARES = "MIDOUT_DECL"
_TAGS = "megtrim/tags/"
_MACROS = "megtrim/macros/"
_END = ".h"
# A line of its own, not a continuation line, which would be the body of a macro.
_DECLARED = re.compile(
    r"(?<!\\\n)(?<!\\\r\n)^[ \t]*MIDOUT_DECL[ \t]*\([ \t]*([A-Za-z_]\w{0,199})[ \t]*\)[ \t]*;?"
    r"[ \t]*(?=\r?$)",
    re.MULTILINE | re.ASCII,
)
_ANYWHERE = re.compile(r"\bMIDOUT_DECL\s*\(\s*(\w+)", re.ASCII)
_COMMENT = re.compile(r"//.*")
_NAMED = re.compile(rf"\b(?:{'|'.join(MACROS)})\b", re.ASCII)


class Scopes(Value):
    tags: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()


MODE_TAG = "megdnn_common_elemwise_mode"
"""The tag with which an engine of the newer generation records elementwise modes."""
FORCED = "bin_reduce.h"
CONTRACT = "midout.h"
_MODES_FROM_TRACE = 20220507
_TITLE = "// Written by megtrim from the keep set: do not edit.\n"
_ONCE = "#pragma once\n"
_EVERY_REGION = "// All regions are kept, so the engine's own midout.h is read.\n"
"""Compiler caches and Ninja see this text change; neither notices that a header was added."""


Inserted = Mapping[Region, tuple[str, ...]]
"""Regions that put operators into a graph, each with the classes that it may insert."""
NOTHING_INSERTED: Inserted = {}


class Layout(StrEnum):
    SCOPED = "scoped"
    UPSTREAM = "upstream"


class HeaderFiles(Value):
    files: tuple[tuple[str, str], ...]


def tag_file(tag: str) -> str:
    return f"{_TAGS}{tag}{_END}"


def macro_file(macro: str) -> str:
    return f"{_MACROS}{macro}{_END}"


def names_a_fact(text: str) -> bool:
    return any(word in text for word in (_DECLARES, *MACROS))


def scopes(texts: Iterable[str]) -> Scopes:
    """Return the facts that can have files of their own in a tree of these sources.

    A tag can if each of its declarations is alone on its line; a macro can if each source that
    names it can be rewritten. A macro that no source names is read by none.
    """
    alone: set[str] = set()
    shared: set[str] = set()
    for text in texts:
        if not _is_whole(text):
            shared.update(_ANYWHERE.findall(text), _NAMED.findall(text))
        elif _DECLARES in text:
            alone.update(_DECLARED.findall(text))
            shared.update(_ANYWHERE.findall(_COMMENT.sub("", _DECLARED.sub("", text))))
    return Scopes(tags=tuple(sorted(alone - shared)), macros=tuple(sorted(set(MACROS) - shared)))


def scopes_of(files: Collection[str]) -> Scopes:
    return Scopes(tags=tuple(_inside(_TAGS, files)), macros=tuple(_inside(_MACROS, files)))


def rewritten(text: str, scoped: Scopes) -> str:
    """Return a source that includes the facts it names, with unchanged line numbers.

    Other programs may include it without the generated files: they do not see the macros' files.
    """
    if not _is_whole(text):
        return text
    tags = set(scoped.tags)

    def include(declared: re.Match[str]) -> str:
        return f'#include "{tag_file(declared[1])}"' if declared[1] in tags else declared[0]

    body = _DECLARED.sub(include, text) if _DECLARES in text else text
    named = sorted(set(_NAMED.findall(text)) & set(scoped.macros))
    if not named:
        return body
    includes = "".join(f'#include "{macro_file(macro)}"\n' for macro in named)
    return f"#ifdef {GENERATION}\n{includes}#endif\n#line 1\n{body}"


def _is_whole(text: str) -> bool:
    """Text that was not UTF-8 cannot be written back; nothing may precede a byte order mark."""
    return "\ufffd" not in text and not text.startswith("\ufeff")


def _inside(folder: str, files: Collection[str]) -> Iterator[str]:
    for name in sorted(files):
        if name.startswith(folder):
            yield name.removeprefix(folder).removesuffix(_END)


def render(
    keep: KeepSet,
    *,
    layout: Layout,
    elemwise_modes: Sequence[tuple[str, int]],
    scopes: Scopes = Scopes(),  # noqa: B008 - a frozen value
    crash_ids: bool = False,
    errors: bool = False,
    inserted: Inserted = NOTHING_INSERTED,
) -> HeaderFiles:
    """``elemwise_modes`` are all modes of the engine, name and value.

    ``scopes`` have files of their own in the scoped layout, even if nothing of them is kept, so
    that sources can include them. ``crash_ids``: each region that is left out has a trap of its
    own, which the scoped layout alone can do. ``errors``: it calls a function, and so does each
    trap of the engine. Without scenarios all regions are kept, without
    operators all operators: what is not known is not trimmed. What a kept region of ``inserted``
    may put into a graph is kept as well, although no model lists it.
    Raises InputError for a mode that the engine does not have.
    """
    own = scopes if layout is Layout.SCOPED else Scopes()
    facts = _macros(keep, elemwise_modes, inserted)
    macros = {name: "".join(lines) for name, lines in facts.items()}
    forced = "".join(text for name, text in macros.items() if name not in own.macros)
    regions = tuple(keep.regions())
    if not regions:
        forced += _EVERY_REGION
    if layout is Layout.UPSTREAM and regions:
        forced += _define(_render_specialisations(regions))
    if errors:
        forced += _read("refusals.h")
    scoped: Iterable[tuple[str, str]] = ()
    if layout is Layout.SCOPED and regions:
        ends = "crash_ids.h" if crash_ids else "traps.h"
        scoped = _render_scoped(regions, own.tags, ends="errors.h" if errors else ends)
    own_macros = ((macro_file(name), _TITLE + _ONCE + macros.get(name, "")) for name in own.macros)
    return HeaderFiles(files=((FORCED, _TITLE + forced), *scoped, *own_macros))


def _macros(
    keep: KeepSet, every_mode: Sequence[tuple[str, int]], inserted: Inserted
) -> dict[str, list[str]]:
    macros = {GENERATION: [f"#define {GENERATION} {keep.generation}\n"]}
    needs = keep.operators
    if needs is not None and "Float16" not in dict(needs.dtypes):
        # The misspelt name is the original one, and engines of both generations still read it.
        for name in ("MEGDNN_DISABLE_FLOT16", "MEGDNN_DISABLE_FLOAT16"):
            macros[name] = [f"#define {name} 1\n"]
    used = _used_modes(keep, every_mode)
    if used is not None:
        macros[ELEMWISE_MODES] = list(_modes(every_mode, used))
    if needs is not None:
        kept = {name for name, _ in needs.operators} | _find_inserted(keep, inserted)
        macros[OPERATORS] = [_define(_operators(sorted(kept)))]
        if needs.checked_hashes:
            hashes = ",".join(f"{number}ULL" for number in needs.checked_hashes)
            macros[GRAPH_HASHES] = [f"#define {GRAPH_HASHES} {hashes}\n"]
    return macros


def _render_scoped(
    regions: Sequence[Region], own: Sequence[str], *, ends: str
) -> Iterator[tuple[str, str]]:
    """``ends``: the file that says what remains of a region that is not kept."""
    contract = _read("contract.h") + _read(ends)
    by_tag = {tag: tuple(kept) for tag, kept in groupby(regions, key=lambda region: region.tag)}
    shared = (
        _define([f"MEGTRIM_TAG_{tag} ~, (", *_render_declarations(kept), ")"])
        for tag, kept in by_tag.items()
        if tag not in set(own)
    )
    guards = (f"#define MEGTRIM_TAG_{tag} ~, (MEGTRIM_ELSEWHERE)\n" for tag in own)
    yield CONTRACT, _TITLE + contract + "".join((*shared, *guards))
    for tag in own:
        declarations = _render_declarations(by_tag.get(tag, ()))
        lines = (
            f'#include "{CONTRACT}"',
            "namespace midout {",
            "namespace tags {",
            f"class {tag};",
            "}",
            *declarations,
            "}",
        )
        yield tag_file(tag), _TITLE + _ONCE + "".join(f"{line}\n" for line in lines)


def _read(name: str) -> str:
    return (package_files("megtrim.engines.midout") / name).read_text(encoding="utf-8")


def _modes(every: Sequence[tuple[str, int]], used: frozenset[str]) -> Iterator[str]:
    for name, _ in sorted(every, key=lambda mode: (mode[1], mode[0])):
        body = f" _cb({name})" if name in used else ""
        yield f"#define _MEGDNN_ELEMWISE_MODE_ENABLE_IMPL_{name}(_cb){body}\n"
    yield (f"#define {ELEMWISE_MODES}(_mode, _cb) _MEGDNN_ELEMWISE_MODE_ENABLE_IMPL_##_mode(_cb)\n")


def _used_modes(keep: KeepSet, every: Sequence[tuple[str, int]]) -> frozenset[str] | None:
    """None: not known. The newer generation records modes; for the older one, models list them."""
    for name, _ in every:
        if not is_identifier(name):
            msg = f"the engine names an elementwise mode {name!r}, expected a C++ identifier"
            raise InputError(msg, hint="is its list of parameters intact?")
    if keep.generation >= _MODES_FROM_TRACE:
        return _traced_modes(keep.regions(), every)
    if keep.operators is None:
        return None
    names = frozenset(name for name, _ in keep.operators.elemwise_modes)
    if unknown := sorted(names - {name for name, _ in every}):
        msg = f"operator JSON: this engine has no elementwise mode {', '.join(unknown)}"
        raise InputError(msg, hint="was the model dumped by another version of the engine?")
    return names


def _traced_modes(
    regions: Iterable[Region], every: Sequence[tuple[str, int]]
) -> frozenset[str] | None:
    used: set[str] = set()
    for region in regions:
        if region.tag != MODE_TAG:
            continue
        value = next((arg for arg in region.args if isinstance(arg, int)), None)
        names = {name for name, number in every if number == value}
        if not names:
            msg = f"a trace ran {region}, and this engine has no such elementwise mode"
            raise InputError(msg, hint="was it traced with another version of the engine?")
        used |= names
    return frozenset(used) or None


def _find_inserted(keep: KeepSet, inserted: Inserted) -> set[str]:
    regions = set(keep.regions()) or inserted.keys()
    return {name for region in inserted if region in regions for name in inserted[region]}


def _operators(names: Sequence[str]) -> list[str]:
    """The engine expands the macro inside ``mgb::serialization``; operators are in ``mgb::opr``."""
    return [
        f"{OPERATORS} }}",
        "namespace opr {",
        *(f"class {name};" for name in names),
        "}",
        "namespace serialization {",
        "template <class Opr, class Callee> struct OprRegistryCaller {};",
        *(
            f"template <class Callee> struct OprRegistryCaller<opr::{name}, Callee>"
            " : public OprRegistryCallerDefaultImpl<Callee> {};"
            for name in names
        ),
    ]


def _render_specialisations(regions: Sequence[Region]) -> list[str]:
    tags = sorted({region.tag for region in regions})
    return [
        "MIDOUT_GENERATED namespace midout {",
        "namespace tags {",
        *(f"class {tag};" for tag in tags),
        "}",
        *(
            f"template <> struct {_cpp(region)} {{ static constexpr bool enable = true; }};"
            for region in regions
        ),
        "}",
    ]


def _render_declarations(kept: Iterable[Region]) -> list[str]:
    return [f"template <> struct {_cpp(region)};" for region in kept]


def _cpp(region: Region) -> str:
    args = (
        f"std::integral_constant<int, {arg}>" if isinstance(arg, int) else arg
        for arg in region.args
    )
    return f"Region<{', '.join((f'tags::{region.tag}', *args))}>"


def _define(lines: Sequence[str]) -> str:
    return "#define " + " \\\n".join(lines) + "\n"
