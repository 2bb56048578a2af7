"""The whole command line of a program, with placeholders.

``{model}``, ``{input:NAME}``, ``{outputs}``, ``{threads}`` and ``{algo_cache}`` are replaced;
``{{`` and ``}}`` are braces.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

MODEL = "model"
OUTPUTS = "outputs"
THREADS = "threads"
ALGO_CACHE = "algo_cache"
INPUT = "input:"
OF_COMMAND = "{input:NAME}, {outputs} or {threads}"
KNOWN = "{model}, {input:NAME}, {outputs}, {threads} or {algo_cache}"
STDIN = "standard input"
"""Among the inputs of a run: no name of one has a blank."""
STDIN_FILE = "standard-input"
STDOUT_FILE = "standard-output"
STDERR_FILE = "standard-error"
STANDARD_FILES = (STDIN_FILE, STDOUT_FILE, STDERR_FILE)
"""Where a program runs."""

_WORDS = frozenset({MODEL, OUTPUTS, THREADS, ALGO_CACHE})
_PART = re.compile(r"(?P<double>\{\{|\}\})|\{(?P<name>[^{}]*)\}|(?P<text>[^{}]+)|(?P<lone>[{}])")


class Places(Value):
    outputs: str
    threads: int
    model: str | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    algo_cache: str | None = None

    def value(self, name: str) -> str | None:
        if name.startswith(INPUT):
            return self.inputs.get(name.removeprefix(INPUT))
        values: dict[str, str | None] = {
            MODEL: self.model,
            OUTPUTS: self.outputs,
            THREADS: str(self.threads),
            ALGO_CACHE: self.algo_cache,
        }
        return values.get(name)


def placeholders(argument: str) -> tuple[str, ...]:
    return tuple(part for part, is_name in _parts(argument) if is_name)


def names_in(arguments: Sequence[str]) -> frozenset[str]:
    return frozenset(name for argument in arguments for name in placeholders(argument))


def compose(program: str, arguments: Sequence[str], places: Places) -> tuple[str, ...]:
    words = [program]
    for argument in arguments:
        text = ""
        for part, is_name in _parts(argument):
            value = places.value(part) if is_name else part
            if value is None:
                msg = f"{{{part}}} in the argument {argument!r} is an unknown placeholder"
                raise InputError(msg, hint="add the input or the algorithm cache that it names")
            text += value
        words.append(text)
    return tuple(words)


def _parts(argument: str) -> Iterator[tuple[str, bool]]:
    for part in _PART.finditer(argument):
        if part["double"]:
            yield part["double"][0], False
        elif part["text"]:
            yield part["text"], False
        elif part["lone"]:
            msg = f"the argument {argument!r} has a lone {part['lone']!r}"
            raise InputError(msg, hint="write {{ for { and }} for }")
        else:
            name = part["name"]
            if name not in _WORDS and not (name.startswith(INPUT) and name != INPUT):
                msg = f"the argument {argument!r} has an unknown placeholder {{{name}}}"
                raise InputError(msg, hint=f"expected {KNOWN}, and {{{{ for a brace")
            yield name, True
