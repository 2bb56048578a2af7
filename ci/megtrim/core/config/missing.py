"""What exports of a library return that reach what was left out, or what they refuse."""

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from megtrim.core.config.value_types import ConfigSection, Pattern, Whole

MOST_ARGUMENT = 6
"""So many are in registers on each machine that has guards."""
_Argument = Annotated[int, Whole(1, MOST_ARGUMENT)]
_NUMBER = {"type": "integer", "minimum": 1, "maximum": MOST_ARGUMENT}


class ExportError(ConfigSection):
    """What some exports return where a function is missing."""

    exports: Pattern
    """Names of exports: a name, a shell pattern such as ZSTD_*, or for C++ a name as in the source,
    such as my::Codec::decode."""
    returns: Annotated[int, Whole(-(2**31), 2**31 - 1)]
    """The value that the interface has for an error, extended with its sign to 64 bits; 0 stands
    for a null pointer as well. List only functions that return a whole number, a pointer or
    nothing."""
    handle: Annotated[
        tuple[_Argument, ...],
        BeforeValidator(lambda value: [value] if isinstance(value, int) else value),
        WithJsonSchema({"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER, "minItems": 1}]}),
    ] = Field(default=(), min_length=1)
    """Which argument is the object that the call works on, counted from 1, or a list. After an
    error, further calls with this object return their errors at once. Only for objects that the
    library itself allocates: another one may get the address of an application's own."""


class RefusalConfig(ConfigSection):
    """A function by which a library refuses what it is given, such as a damaged file."""

    function: Pattern
    """Names of functions that report an error and end the program: a name, a shell pattern, or for
    C++ a name as in the source, such as my::fail."""
    message: _Argument | None = None
    """Which argument says in words what is refused, counted from 1: a string of C. For a member
    function, this is argument 1. Arguments of type float or double do not count. If functions of
    this name differ in their arguments, write a row for each, with its arguments."""
    format: _Argument | None = None
    """The same, for functions such as printf: the values of the message follow this argument."""
