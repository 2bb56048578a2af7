"""The base of every value: a frozen dataclass whose fields are given by name."""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Value:
    """Whatever is derived from it is a frozen dataclass with keyword-only fields."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True, repr=False)(cls)

    def __repr__(self) -> str:
        # One for all: making it for each of the 370 values takes longer than anyone shows them.
        shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"
