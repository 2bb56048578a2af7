from __future__ import annotations

import pytest
from pydantic import ValidationError

from megtrim.config.document import parse_document
from megtrim.config.load import problems_of
from megtrim.config.model import Config

HEAD = "version: 1\nengine: {kind: sample}\n"
MODELS = "models:\n- {name: m, file: f, scenarios: [{name: s}]}\n"


def problems(text: str) -> list[str]:
    document = parse_document(text.encode(), file="f")
    with pytest.raises(ValidationError) as caught:
        Config.model_validate(document.data)
    return [str(each) for each in problems_of(caught.value, document, Config)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("jobs: 3", "jobs: found an unknown key, expected version, engine, "),
        ("trim: 3", "trim: found the number 3, expected a mapping (key: value)"),
        ("trim: {minimum_size: 'on'}", "trim.minimum_size: found 'on', expected true or false"),
        (
            "trim: {level: regions}",
            "trim.level: found 'regions', expected region or function (did you mean region?)",
        ),
        (
            "trim: {levle: region}",
            "trim.levle: found an unknown key, expected level, base, ",
        ),
        ("toolchain: {jobs: 0}", "toolchain.jobs: found the number 0, expected a whole number "),
        ("toolchain: {jobs: 1.5}", "toolchain.jobs: found the number 1.5, expected a whole number"),
        ("toolchain: {jobs: 9999}", "toolchain.jobs: found the number 9999, expected a whole"),
        ("toolchain: {ndk: 21}", "toolchain.ndk: found the number 21, expected text (in quotes "),
        ("toolchain: {ndk: 21e}", "toolchain.ndk: found '21e', expected a release of the NDK"),
        ("verify: {tolerance: -1}", "verify.tolerance: found the number -1, expected 0 or more"),
        ("artifacts: a", "artifacts: found 'a', expected a list"),
        ("budgets: [{max: 1 MiB}]", "budgets[0].artifact: found nothing, expected this key, which"),
    ],
)
def test_a_mistake_has_its_line_and_what_was_expected(line: str, problem: str) -> None:
    [found] = problems(f"{HEAD}{MODELS}{line}\n")

    assert found.startswith(f"f:5: {problem}")


def test_the_keys_of_a_section_in_a_list_are_its_own() -> None:
    [problem] = problems(
        f"{HEAD}models:\n- {{name: m, fiel: f, file: f, scenarios: [{{name: s}}]}}\n"
    )

    assert problem.startswith("f:4: models[0].fiel: found an unknown key, expected name, file, ")
    assert problem.endswith("(did you mean file?)")


def test_a_list_of_wrong_entries_is_not_called_empty() -> None:
    assert problems(f"{HEAD}models: [3]\n") == [
        "f:3: models[0]: found the number 3, expected a mapping (key: value)"
    ]
    [problem] = problems(f"{HEAD}models:\n- {{name: m, file: f, scenarios: []}}\n")
    assert problem.startswith(
        "f:4: models[0].scenarios: found an empty list, expected at least one"
    )


def test_a_single_path_that_counts_as_a_list_has_the_line_of_its_key() -> None:
    [problem] = problems(
        f"{HEAD}models:\n- name: m\n  file: f\n  also: 3\n  scenarios: [{{name: s}}]\n"
    )

    assert problem.startswith("f:6: models[0].also: found the number 3, expected ")
