"""What the configuration asks of the engine, held against the engine's tree before a build."""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.config.load import LoadedConfig
from megtrim.config.problems import ConfigError, Problem
from megtrim.config.scenarios import all_scenarios
from megtrim.engines import Engine
from megtrim.engines.tree_options import SET_BY_MEGTRIM
from megtrim.loadrun.arguments import check_arguments


def refuse_unknown(loaded: LoadedConfig, engine: Engine) -> None:
    """Refuse options and flags that this engine would ignore, or end on after the build."""
    problems = tuple(_option_problems(loaded, engine))
    if problems:
        hint = f"the CMake files of {engine.checkout.root} say which options it has"
        raise ConfigError(problems, hint=hint)
    dialect = engine.dialect()
    for each in all_scenarios(loaded.config):
        if each.settings.application is None:
            source = f"{loaded.path}:{loaded.line(*each.path)}: {each.id}"
            check_arguments(each.settings.args, dialect=dialect, source=source)


def _option_problems(loaded: LoadedConfig, engine: Engine) -> Iterator[Problem]:
    options = engine.options()
    for name in loaded.config.engine.cmake:
        found, expected, suggestion = "an option that megtrim sets", SET_BY_MEGTRIM.get(name), ""
        if expected is None:
            if options.knows(name):
                continue
            found = "an option that no CMake file of this engine asks for"
            expected, suggestion = "one of its options", options.closest(name)
        yield Problem(
            file=str(loaded.path),
            line=loaded.line("engine", "cmake", name),
            key=f"engine.cmake.{name}",
            found=found,
            expected=expected,
            suggestion=suggestion,
        )
