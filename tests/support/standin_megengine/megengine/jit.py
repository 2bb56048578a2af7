"""A stand-in for ``megengine.jit``: a traced function whose dump copies a recorded model."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

_KNOWN = ("enable_nchw44", "dump_format", "maxerr", "keep_var_name", "optimize_for_inference")


class Traced:
    """What ``trace`` makes of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def dump(self, file: str, *, strip_info_file: str, append_json: bool, **options: Any) -> None:
        """Write the recorded model and its JSON, and what was asked next to the script."""
        unknown = [name for name in options if name not in _KNOWN]
        if unknown:
            msg = f"unknown optimize options: {unknown}"
            raise ValueError(msg)
        assert append_json is False
        fault = os.environ.get("STANDIN_FAULT", "")
        model = Path(os.environ["STANDIN_MODEL"])
        data = model.read_bytes()
        Path(file).write_bytes(data[: len(data) // 2] if fault == "cut model" else data)
        reported = json.loads(Path(os.environ["STANDIN_JSON"]).read_text(encoding="utf-8"))
        if fault == "lacking json":
            reported["opr_types"] = reported["opr_types"][1:]
        if fault != "no json":
            Path(strip_info_file).write_text(json.dumps(reported), encoding="utf-8")
        if fault == "no model":
            Path(file).unlink()
        if fault == "ends at once":
            os._exit(0)
        Path(os.environ["STANDIN_ASKED"]).write_text(
            json.dumps(options, sort_keys=True), encoding="utf-8"
        )


def trace(**settings: Any) -> Callable[[Callable[..., Any]], Traced]:
    """Return a decorator, as the real one does with arguments."""
    assert settings == {"symbolic": True, "capture_as_const": True}
    return Traced
