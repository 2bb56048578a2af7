"""The kit's scripts as modules: they lie in no package, since they run before there is one."""

import importlib.util
from types import ModuleType

from workflows.documents import ROOT


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
