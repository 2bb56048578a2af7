"""The sample engine's algorithm cache: a heading, and a line for each operator. Pure."""

from collections.abc import Mapping

from megtrim.core.keep.algo_cache import Key
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import decode

_HEADING = "sample algorithm cache v1"
_ARROW = " -> "
_HINT = "search again: is it a file that the engine's search wrote?"


class SampleCaches:
    def parse(self, data: bytes, *, source: str) -> Mapping[Key, bytes]:
        lines = decode(data, shown=source, hint=_HINT).split("\n")
        if lines[0] != _HEADING or lines[-1]:
            msg = f"{source}:1: no algorithm cache: expected {_HEADING!r} and whole lines below it"
            raise InputError(msg, hint=_HINT)
        answers: dict[Key, bytes] = {}
        for number, line in enumerate(lines[1:-1], start=2):
            operator, arrow, algorithm = line.partition(_ARROW)
            key = ("", operator.encode())
            if not arrow or key in answers:
                msg = f"{source}:{number}: found {line[:80]!r}, expected OPERATOR -> ALGORITHM once"
                raise InputError(msg, hint=_HINT)
            answers[key] = algorithm.encode()
        return answers

    def dump(self, answers: Mapping[Key, bytes]) -> bytes:
        lines = (f"{key[1].decode()}{_ARROW}{answers[key].decode()}\n" for key in sorted(answers))
        return (_HEADING + "\n" + "".join(lines)).encode()

    def describe(self, key: Key) -> str:
        return key[1].decode()

    def name_algorithm(self, answer: bytes) -> str:
        return answer.decode()
