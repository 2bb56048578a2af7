"""The sample engine's Python files: scripts next to the engine, not part of a package."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ENGINE = Path(__file__).parents[3] / "examples" / "sample-engine"


def _load(name: str) -> ModuleType:
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ENGINE / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # One script imports the other by name.
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


sample_writer = _load("sample_writer")
write_models = _load("write_models")
ModelWriter = sample_writer.ModelWriter
Noise = write_models.Noise
