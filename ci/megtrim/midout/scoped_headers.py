"""What the engine's sources name of a keep set, so that each fact can stand in a file of its own.

A fact is the kept regions of one tag, or one macro of the forced header. In the copy of the tree
that is built, a line that declares a tag becomes the include of that tag's file, and a file that
names such a macro includes the macro's file first. The compiler then records by itself which
facts a translation unit rests on. What cannot be told from the text stays where everybody sees
it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

ELEMWISE_MODES = "MEGDNN_ELEMWISE_MODE_ENABLE"
OPERATORS = "MGB_OPR_REGISTRY_CALLER_SPECIALIZE"
GRAPH_HASHES = "MGB_BINREDUCE_GRAPH_HASHES"
MACROS = (ELEMWISE_MODES, OPERATORS, GRAPH_HASHES)
"""Macros that change with the models; a file that does not name one does not change with it."""
GENERATION = "MGB_BINREDUCE_VERSION"
"""The macro that every forced header defines: only the engine's own build has it."""

SUFFIXES = (
    *(".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".tcc", ".def"),
    *(".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".hip"),
)
"""How names of files end that a C or C++ compiler reads."""

_DECLARES = "MIDOUT_DECL"
_TAGS, _MACROS, _END = "megtrim/tags/", "megtrim/macros/", ".h"

# A line of its own, and not the continuation of one: that would be the body of a macro.
_DECLARED = re.compile(
    r"(?<!\\\n)(?<!\\\r\n)^[ \t]*MIDOUT_DECL[ \t]*\([ \t]*([A-Za-z_]\w{0,199})[ \t]*\)[ \t]*;?"
    r"[ \t]*(?=\r?$)",
    re.MULTILINE | re.ASCII,
)
_ANYWHERE = re.compile(r"\bMIDOUT_DECL\s*\(\s*(\w+)", re.ASCII)
_COMMENT = re.compile(r"//.*")
_NAMED = re.compile(rf"\b(?:{'|'.join(MACROS)})\b", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scopes:
    """The facts that have files of their own; both sorted."""

    tags: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()


def tag_file(tag: str) -> str:
    """Return the name of a tag's file, as it is included."""
    return f"{_TAGS}{tag}{_END}"


def macro_file(macro: str) -> str:
    """Return the name of a macro's file, as it is included."""
    return f"{_MACROS}{macro}{_END}"


def names_a_fact(text: str) -> bool:
    """Whether a source speaks of any fact at all; most do not."""
    return any(word in text for word in (_DECLARES, *MACROS))


def scopes(texts: Iterable[str]) -> Scopes:
    """Return which facts can stand in files of their own in a tree of these sources.

    A tag can where each declaration stands alone on its line; a macro where each source that
    names it can be written anew. One that no source names is read by none.
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
    """Return the facts whose files are among these names."""
    return Scopes(tags=tuple(_inside(_TAGS, files)), macros=tuple(_inside(_MACROS, files)))


def rewritten(text: str, scoped: Scopes) -> str:
    """Return a source that includes the facts it names; it has the same lines at the same numbers.

    A program of somebody else's may include the engine's files, and knows no generated ones:
    there the macros' files are left out as the forced header is.
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
    """Whether the text is the file's own: one that was not UTF-8 has replacement characters.

    Nothing may stand before a byte order mark.
    """
    return "\ufffd" not in text and not text.startswith("\ufeff")


def _inside(folder: str, files: Collection[str]) -> Iterator[str]:
    for name in sorted(files):
        if name.startswith(folder):
            yield name.removeprefix(folder).removesuffix(_END)
