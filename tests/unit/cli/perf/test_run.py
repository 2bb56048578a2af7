"""``megtrim perf run``: what is asked, and what is refused."""

import pytest
from click.testing import CliRunner

from megtrim.cli.perf.run import ask, run
from megtrim.config.performance import PerfConfig
from megtrim.util.errors import InputError

CONFIGURED = PerfConfig.model_validate(
    {"experiments": ["record-1"], "recipes": ["x86"], "trimming": True, "budget": {"time": "1 min"}}
)


def test_without_options_the_configuration_decides() -> None:
    assert ask(CONFIGURED, (), None) == CONFIGURED


@pytest.mark.parametrize(
    ("asked", "names", "trimming"),
    [
        (("nchw88",), ("baseline", "nchw88"), False),
        (("nchw88", "trimming"), ("baseline", "nchw88"), True),
        (("trimming",), (), True),
    ],
)
def test_named_experiments_are_all_that_is_measured(
    asked: tuple[str, ...], names: tuple[str, ...], trimming: bool
) -> None:
    found = ask(CONFIGURED, asked, None)

    assert (found.names, found.trimming) == (names, trimming)
    assert found.budget == CONFIGURED.budget


def test_rounds_leave_the_rest_of_the_budget() -> None:
    found = ask(CONFIGURED, (), 12).contest_budget

    assert (found.rounds, found.limit_s) == (12, 60.0)


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(InputError, match="there is no experiment 'nchw'"):
        ask(CONFIGURED, ("trimming", "nchw"), None)


def test_help_has_examples() -> None:
    reported = CliRunner().invoke(run, ["--help"])

    assert reported.exit_code == 0
    assert "megtrim perf run --experiment nchw88" in reported.output
    assert "in interleaved pairs of processes" in reported.output
