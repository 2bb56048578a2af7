"""Files for inputs that are written as values, and for scenarios that a configuration leaves out.

Both are made when a command begins, in a folder that goes when it ends.
"""

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from megtrim.core.config.load import LoadedConfig
from megtrim.core.config.model import GENERATED, ModelConfig, ScenarioConfig
from megtrim.core.config.scenarios import scenario_id
from megtrim.core.model_facts import ModelFacts, UnknownFormat
from megtrim.core.project import find_kind
from megtrim.libs.programs import made_inputs
from megtrim.libs.programs.app_outputs import NPY
from megtrim.libs.programs.made_inputs import is_made
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import kind_at

_WHY = "nothing ran: {}"
_NO_DEVICE = "no device is of class {}"


def make_inputs(loaded: LoadedConfig) -> LoadedConfig:
    """Return it with files in the place of values. Raises InputError for values that do not fit.

    A scenario that megtrim itself adds, and that cannot run here, is none to verify.
    """
    maker = _Maker(loaded)
    models = tuple(maker.complete(at, model) for at, model in enumerate(loaded.config.models))
    if not (maker.files or maker.idle):
        return loaded
    config = loaded.config.model_copy(update={"models": models}).leave_out(maker.idle)
    return replace(loaded, config=config, made=frozenset(maker.files))


class _Maker:
    def __init__(self, loaded: LoadedConfig) -> None:
        self.files: list[Path] = []
        self.idle: dict[str, str] = {}
        self._loaded = loaded
        self._folder: Path | None = None

    def complete(self, at: int, model: ModelConfig) -> ModelConfig:
        scenarios = []
        for number, scenario in enumerate(model.scenarios):
            keys = ("models", at, "scenarios", number)
            if is_generated(self._loaded, at, scenario):
                scenarios.append(self._generate(model, scenario))
                continue
            wanted = {name: path for name, path in scenario.inputs.items() if is_made(path)}
            facts = self._read(model) if wanted and scenario.application is None else None
            made = {
                name: self._make(path, name, facts, self._loaded.describe(*keys, "inputs", name))
                for name, path in wanted.items()
            }
            scenarios.append(_with_inputs(scenario, made))
        return model.model_copy(update={"scenarios": tuple(scenarios)})

    def _generate(self, model: ModelConfig, scenario: ScenarioConfig) -> ScenarioConfig:
        served = {device.class_ for device in self._loaded.config.devices}
        for name in scenario.classes:
            if name not in served:
                self._leave_out(model, name, _NO_DEVICE.format(name))
        made: dict[str, Path] = {}
        try:
            facts = self._read(model)
            if facts is None:
                msg = f"megtrim cannot read {model.file}, so it knows no input of it"
                raise InputError(msg)
            for variable in facts.inputs:
                text = Path(made_inputs.make_any(variable.dtype))
                source = f"{model.name}/{GENERATED}: {variable.name}"
                made[variable.name] = self._make(text, variable.name, facts, source)
        except InputError as error:
            for name in scenario.classes:
                self._leave_out(model, name, error.message)
            return scenario
        return _with_inputs(scenario, made)

    def _leave_out(self, model: ModelConfig, cpu_class: str, reason: str) -> None:
        id_ = scenario_id(model.name, GENERATED, cpu_class)
        self.idle.setdefault(id_, _WHY.format(reason))

    def _read(self, model: ModelConfig) -> ModelFacts | None:
        models = find_kind(self._loaded.config.engine.kind).models
        file = self._loaded.resolve(model.file)
        if models is not None and not kind_at(file):
            with suppress(UnknownFormat):
                return models.read_model(file, shown=str(model.file))
        return None

    def _make(self, values: Path, name: str, facts: ModelFacts | None, source: str) -> Path:
        known = {variable.name: variable for variable in facts.inputs} if facts else {}
        variable = known.get(name)
        data = made_inputs.make(
            str(values),
            name,
            dtype=variable.dtype if variable else "",
            shape=variable.shape if variable else None,
            source=source,
        )
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="megtrim-inputs-"))
            atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        file = self._folder / f"{len(self.files)}{NPY}"
        file.write_bytes(data)
        self.files.append(file)
        return file


def is_generated(loaded: LoadedConfig, at: int, scenario: ScenarioConfig) -> bool:
    """Tell whether megtrim added it to a model that has none."""
    written = loaded.document.value(("models", at, "scenarios"))
    return scenario.name == GENERATED and not written


def _with_inputs(scenario: ScenarioConfig, made: Mapping[str, Path]) -> ScenarioConfig:
    return scenario.model_copy(update={"inputs": {**scenario.inputs, **made}}) if made else scenario
