"""What a header in C declares, and what a program calls of it: read from their texts."""

import re

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_FUNCTION = re.compile(r"\b(?:LITE|SAMPLE_ENGINE_C)_API\b[^;(=]*?\b([a-zA-Z]\w*)\s*\(")
_CALL = re.compile(r"\b(\w+)\s*\(")
_CALLING = "ASK|CALL|CALLED_BACK|SET|SET_LOADED"
"""Macros of lite-c-functions that call the function they name; for others, it is spelt out."""
_CALL_BY_MACRO = re.compile(rf"^(?:{_CALLING})\((\w+)", re.MULTILINE)
_ATTEMPT = re.compile(rf"^(?:{_CALLING}|CASE|REFUSED|TIMED)\((\w+)", re.MULTILINE)


def declared(header: str) -> frozenset[str]:
    return frozenset(_FUNCTION.findall(_COMMENT.sub("", header)))


def called(source: str) -> frozenset[str]:
    text = _COMMENT.sub("", source)
    return frozenset((*_CALL.findall(text), *_CALL_BY_MACRO.findall(text)))


def attempts(source: str) -> tuple[str, ...]:
    """Return each function that lite-c-functions tries, in its order."""
    return tuple(_ATTEMPT.findall(_COMMENT.sub("", source)))
