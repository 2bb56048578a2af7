"""Names that modules had up to 0.2, for one version: a script that imports one goes on working."""

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_PRESENT = {
    "build": "places.compile",
    "build_spec": "core.build_spec",
    "chain": "core.chain",
    "checks": "core.checks",
    "cli": "core.cli",
    "config": "core.config",
    "crashes": "ship.crashes",
    "devices": "places.devices",
    "elf": "libs.elf",
    "functions": "core.functions",
    "github": "hosting.github",
    "history": "libs.history",
    "jobs": "lab.jobs",
    "load_and_run": "engines.load_and_run",
    "models": "engines.megengine.models",
    "models.facts": "core.model_facts",
    "models.operators": "engines.models.operators",
    "models.sample": "engines.sample_models",
    "perf": "times",
    "proof": "core.proof",
    "regions": "engines.midout",
    "regions.keepset": "core.keep.keepset",
    "regions.keepset_files": "core.keep.keepset_files",
    "regions.region": "core.keep.region",
    "release": "ship.release",
    "render": "libs.render",
    "report": "core.report",
    "size": "core.size",
    "stages": "core.stages",
    "trim": "core.trim",
    "util": "libs.util",
    "verdict": "core.verdict",
}
"""Former names of packages, and of modules that left one, to present ones, below ``megtrim``."""


class _FormerNames(MetaPathFinder, Loader):
    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target  # the name says it all
        present = find_present(fullname)
        return ModuleSpec(fullname, self, is_package=True) if present else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        present = find_present(spec.name)
        if spec.name.count(".") == 1:
            warnings.warn(f"{spec.name} is {present} now", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(present)
        self._specs[present] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Only give its own description back: it was executed under its present name."""
        module.__spec__ = self._specs[module.__name__]


def find_present(name: str) -> str:
    """Return the present name of a module; empty if it has no former one."""
    top, _, rest = name.partition(".")
    package, _, inner = rest.partition(".")
    if top != "megtrim" or package not in _PRESENT:
        return ""
    if rest in _PRESENT:
        return f"{top}.{_PRESENT[rest]}"
    return f"{top}.{_PRESENT[package]}.{inner}"


def serve() -> None:
    """Let Python find modules by their former names, too."""
    sys.meta_path.insert(0, _FormerNames())
