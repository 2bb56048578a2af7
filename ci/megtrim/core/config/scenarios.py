"""Every scenario of a configuration, once for each CPU class, in the file's order."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from megtrim.core.config.commands import CommandConfig
from megtrim.core.config.model import Config, CpuClass, ModelConfig, ScenarioConfig
from megtrim.core.config.problems import KeyPath
from megtrim.libs.programs.application_arguments import STDIN
from megtrim.libs.util.value import Value


class Judgement(Value):
    """What a run must be like besides its outputs, and which of those are compared."""

    status: int = 0
    printed: bool | None = None
    """Whether standard output counts; None: if it writes no files."""
    said: bool = False
    """Whether standard error counts."""
    vary: tuple[str, ...] = ()
    """Patterns of text that differs from run to run."""

    def describe(self) -> dict[str, str]:
        """Return what is not as usual, by name."""
        named = {}
        if self.status:
            named["status"] = str(self.status)
        if self.printed is not None:
            named["standard output"] = "compared" if self.printed else "ignored"
        if self.said:
            named["standard error"] = "compared"
        for number, pattern in enumerate(self.vary):
            named[f"varies {number}"] = pattern
        return named


class Scenario(Value):
    id: str
    model: ModelConfig | None
    """None: it is a command, which has none."""
    settings: ScenarioConfig | CommandConfig
    cpu_class: CpuClass
    path: KeyPath

    @property
    def own_model(self) -> ModelConfig:
        """Its model, where only scenarios of models come."""
        if self.model is None:
            msg = f"{self.id} is a command, which has no model"
            raise TypeError(msg)
        return self.model

    @property
    def searches(self) -> bool:
        return self.settings.fast_run and self.settings.algo_cache is None

    @property
    def files(self) -> Mapping[str, Path]:
        """What it reads besides a model, as written; its standard input by a name of its own."""
        settings = self.settings
        if isinstance(settings, CommandConfig) and settings.stdin is not None:
            return {**settings.inputs, STDIN: settings.stdin}
        return settings.inputs

    @property
    def judgement(self) -> Judgement:
        settings = self.settings
        if not isinstance(settings, CommandConfig):
            return Judgement()
        printed = None if settings.stdout is None else settings.stdout == "compared"
        return Judgement(
            status=settings.status,
            printed=printed,
            said=settings.stderr == "compared",
            vary=settings.vary,
        )

    @property
    def names(self) -> tuple[str, str]:
        """What a person may call it: ``MODEL/SCENARIO@CLASS``, or ``MODEL/SCENARIO``.

        A command is ``NAME@CLASS``, or ``NAME``.
        """
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
    for index, command in enumerate(config.scenarios):
        for name in command.classes:
            yield Scenario(
                id=f"{command.name}@{name}",
                model=None,
                settings=command,
                cpu_class=classes[name],
                path=("scenarios", index),
            )


def run_scenarios(config: Config) -> Iterator[Scenario]:
    """Yield those that are run: all but what megtrim added and cannot run here."""
    return (scenario for scenario in all_scenarios(config) if scenario.id not in config.idle)


def without_device(config: Config) -> Iterator[Scenario]:
    served = {device.class_ for device in config.devices}
    return (scenario for scenario in run_scenarios(config) if scenario.cpu_class.name not in served)


def runners_alone(config: Config) -> Iterator[tuple[int, CpuClass]]:
    for index, each in enumerate(config.classes):
        runners = {device.runner for device in config.devices if device.class_ == each.name}
        if runners == {True}:
            yield index, each
