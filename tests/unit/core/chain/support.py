"""A configuration in a few words."""

from typing import Any

from megtrim.core.config.model import Config


def config(*models: dict[str, Any], **more: Any) -> Config:
    data = {"version": 1, "engine": {"kind": "sample"}, "models": list(models), **more}
    return Config.model_validate(data)


def model(name: str, *scenarios: dict[str, Any]) -> dict[str, Any]:
    """Return a model; without scenarios it has one called ``s``."""
    return {"name": name, "file": f"{name}.mge", "scenarios": list(scenarios) or [{"name": "s"}]}
