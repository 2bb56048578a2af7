"""What GitHub makes of an expression: enough of its language for the kit's own guards."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_TOKEN = re.compile(r"\s*('(?:[^']|'')*'|&&|\|\||==|!=|[!(),]|[\w.-]+)")
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "cancelled": lambda: False,
    "contains": lambda where, what: what in where,
    "format": lambda text, *values: text.format(*values),
    "fromJSON": lambda text: json.loads(text) if text.startswith(("[", "{")) else None,
    "toJSON": json.dumps,
    "startsWith": lambda text, start: str(text or "").startswith(start),
}


def evaluate(text: str, context: Mapping[str, Any]) -> Any:
    """Return the value of ``${{ … }}``, or of a condition without that; names may lead nowhere."""
    inner = text.strip().removeprefix("${{").removesuffix("}}")
    tokens = [*_TOKEN.findall(inner), ""]
    assert "".join(tokens) == re.sub(r"\s+(?=(?:[^']*'[^']*')*[^']*$)", "", inner)
    value = _any(tokens, context)
    assert tokens == [""], tokens
    return value


def _any(tokens: list[str], context: Mapping[str, Any]) -> Any:
    value = _all(tokens, context)
    while tokens[0] == "||":
        tokens.pop(0)
        other = _all(tokens, context)
        value = value or other
    return value


def _all(tokens: list[str], context: Mapping[str, Any]) -> Any:
    value = _comparison(tokens, context)
    while tokens[0] == "&&":
        tokens.pop(0)
        other = _comparison(tokens, context)
        value = value and other
    return value


def _comparison(tokens: list[str], context: Mapping[str, Any]) -> Any:
    value = _operand(tokens, context)
    while tokens[0] in ("==", "!="):
        equal = tokens.pop(0) == "=="
        value = (value == _operand(tokens, context)) is equal
    return value


def _operand(tokens: list[str], context: Mapping[str, Any]) -> Any:
    token = tokens.pop(0)
    if token == "!":
        return not _operand(tokens, context)
    if token == "(":
        value = _any(tokens, context)
        assert tokens.pop(0) == ")"
        return value
    if token.startswith("'"):
        return token[1:-1].replace("''", "'")
    if tokens[0] == "(":
        values = []
        while tokens.pop(0) in ("(", ","):
            if tokens[0] != ")":
                values.append(_any(tokens, context))
        return _FUNCTIONS[token](*values)
    found: Any = context
    for key in token.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
