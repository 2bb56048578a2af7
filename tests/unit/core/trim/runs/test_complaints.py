"""Runs that go wrong: what each gets."""

from pathlib import Path

from megtrim.core.trim.runs.complaints import list_complaints
from megtrim.core.trim.runs.execution import RunSpec
from megtrim.libs.programs.application_arguments import STDIN


def test_every_file_is_missing_a_folder_and_damaged(tmp_path: Path) -> None:
    data = tmp_path / "in.txt"
    data.write_bytes(b"x" * 200)
    spec = RunSpec(
        program=tmp_path / "p",
        model=data,
        arguments=("{model}", "{input:a}"),
        inputs={"a": data, STDIN: data},
        threads=1,
        timeout_s=1.0,
        application=True,
    )

    made = list(list_complaints(spec, tmp_path / "damaged"))

    assert [each.arguments[-1] for each in made[:2]] == ["--no-such-flag", "{input:a}"]
    assert sum(each.without_model for each in made) == 1
    assert [(each.missing, each.is_folder) for each in made if each.missing] == [
        ("a", False),
        ("a", True),
    ]
    given = [each.inputs[STDIN].read_bytes() for each in made if each.inputs[STDIN] != data]
    assert given == [b"", b"x" * 100, bytes(64) + b"x" * 136]
    models = [each.model for each in made if each.model != data]
    assert [each.name for each in models if each] == ["empty.txt", "half.txt", "zeroed.txt"]
    assert data.read_bytes() == b"x" * 200


def test_a_command_without_inputs_is_asked_for_what_it_does_not_know(tmp_path: Path) -> None:
    spec = RunSpec(
        program=tmp_path / "p", model=None, arguments=("-h",), inputs={}, threads=1, timeout_s=1.0
    )
    (only,) = list_complaints(spec, tmp_path)
    assert only.arguments == ("-h", "--no-such-flag")
