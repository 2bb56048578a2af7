"""What all sections of megtrim.yaml have in common. Pure."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, model_validator


class ConfigSection(BaseModel):
    """A mapping of known keys and no others, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_empty(cls, data: object) -> object:
        """Treat a known key without a value (with its entries commented out) as left out."""
        if not isinstance(data, dict):
            return data
        known = {field.alias or name for name, field in cls.model_fields.items()}
        return {key: value for key, value in data.items() if value is not None or key not in known}
