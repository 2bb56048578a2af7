"""Finds the facts of a keep set that the engine's sources name, to give each a file of its own.

A fact is the kept regions of one tag, or one macro of the forced header. In the built copy of the
tree, a line that declares a tag is replaced by an include of that tag's file, and a file that names
such a macro includes the macro's file first. So the compiler records which facts a translation unit
depends on. What the text does not show clearly stays in the files that every unit includes. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from megtrim.util.value import Value

ELEMWISE_MODES = "MEGDNN_ELEMWISE_MODE_ENABLE"
OPERATORS = "MGB_OPR_REGISTRY_CALLER_SPECIALIZE"
GRAPH_HASHES = "MGB_BINREDUCE_GRAPH_HASHES"
MACROS = (ELEMWISE_MODES, OPERATORS, GRAPH_HASHES)
"""Macros that change with the models; a file that does not name one does not depend on it."""
GENERATION = "MGB_BINREDUCE_VERSION"
"""The macro that every forced header defines: it is only defined in the engine's own build."""

SUFFIXES = (
    *(".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".tcc", ".def"),
    *(".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".hip"),
)

_DECLARES = "MIDOUT_DECL"
_TAGS, _MACROS, _END = "megtrim/tags/", "megtrim/macros/", ".h"

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
    """The facts that have files of their own; both sorted."""

    tags: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()


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
    return Scopes(
        tags=tuple(sorted(alone - shared)),
        macros=tuple(sorted(set(MACROS) - shared)),
    )


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
