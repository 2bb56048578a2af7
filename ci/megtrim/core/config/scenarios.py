"""Every scenario of a configuration, once for each CPU class, in the file's order."""

from collections.abc import Iterator

from megtrim.core.config.model import Config, CpuClass, ModelConfig, ScenarioConfig
from megtrim.core.config.problems import KeyPath
from megtrim.libs.util.value import Value


class Scenario(Value):
    id: str
    model: ModelConfig
    settings: ScenarioConfig
    cpu_class: CpuClass
    path: KeyPath

    @property
    def searches(self) -> bool:
        return self.settings.fast_run and self.settings.algo_cache is None

    @property
    def names(self) -> tuple[str, str]:
        """What a person may call it: ``MODEL/SCENARIO@CLASS``, or ``MODEL/SCENARIO``."""
        return self.id, self.id.rpartition("@")[0]


def scenario_id(model: str, scenario: str, cpu_class: str) -> str:
    return f"{model}/{scenario}@{cpu_class}"


def all_scenarios(config: Config) -> Iterator[Scenario]:
    classes = {cpu_class.name: cpu_class for cpu_class in config.classes}
    for model_index, model in enumerate(config.models):
        for scenario_index, settings in enumerate(model.scenarios):
            for name in settings.classes:
                yield Scenario(
                    id=scenario_id(model.name, settings.name, name),
                    model=model,
                    settings=settings,
                    cpu_class=classes[name],
                    path=("models", model_index, "scenarios", scenario_index),
                )


def without_device(config: Config) -> Iterator[Scenario]:
    served = {device.class_ for device in config.devices}
    return (scenario for scenario in all_scenarios(config) if scenario.cpu_class.name not in served)


def runners_alone(config: Config) -> Iterator[tuple[int, CpuClass]]:
    for index, each in enumerate(config.classes):
        runners = {device.runner for device in config.devices if device.class_ == each.name}
        if runners == {True}:
            yield index, each
