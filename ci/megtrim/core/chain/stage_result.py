"""What a stage found, as a value and as the data that its manifest holds. Pure."""

from collections.abc import Mapping
from typing import Any, TypeVar

from megtrim.libs.util.errors import EXIT_PASS, InputError
from megtrim.libs.util.strict_json import decode, encode
from megtrim.libs.util.value import Value


class StageResult(Value):
    """What a stage found. Its fields, and those of the values in it, are keys of JSON objects."""

    @property
    def exit_code(self) -> int:
        return EXIT_PASS


Result = TypeVar("Result", bound=StageResult)


def dump_result(result: StageResult) -> dict[str, Any]:
    data: dict[str, Any] = encode(result)
    return data


def parse_result(kind: type[Result], data: Mapping[str, Any]) -> Result:
    """Raises InputError that names the first wrong entry and what was expected there."""
    result: Result = decode(kind, data, "")
    if dump_result(result) != data:  # a day that is written in another way, say
        msg = f"result: found another spelling, expected the fields of {kind.__name__}"
        raise InputError(msg)
    return result
