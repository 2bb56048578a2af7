"""Which of a command's streams are outputs."""

from pathlib import Path

import pytest

from megtrim.core.trim.runs.execution import RunSpec, run_on
from unit.core.trim.stages.fake_device import FakeDevice

SAYS = "stderr wrong: a"
PRINTS = "print cat"


def run(
    folder: Path, *lines: str, printed: bool | None = None, said: bool = True, files: bool = False
) -> dict[str, bytes]:
    program = folder / "program"
    program.write_text("\n".join(lines), encoding="utf-8")
    spec = RunSpec(
        program=program,
        model=None,
        arguments=("{outputs}",) if files else (),
        inputs={},
        threads=1,
        timeout_s=1.0,
        application=True,
        printed=printed,
        said=said,
    )
    with FakeDevice("board").reserve() as lease:
        found = run_on(lease, spec)
    assert found.run.stderr == ("wrong: a\n" if SAYS in lines else "")
    return dict(found.outputs)


@pytest.mark.parametrize(
    ("lines", "asked", "expected"),
    [
        ((SAYS,), {}, {"standard error": b"wrong: a\n"}),
        ((SAYS,), {"printed": False}, {"standard error": b"wrong: a\n"}),
        ((SAYS,), {"said": False}, {"standard output": b""}),
        ((SAYS, PRINTS), {"said": False}, {"standard output": b"cat\n"}),
        (
            (SAYS, PRINTS),
            {},
            {"standard error": b"wrong: a\n", "standard output": b"cat\n"},
        ),
        ((SAYS, PRINTS), {"printed": False}, {"standard error": b"wrong: a\n"}),
        ((SAYS, PRINTS), {"files": True}, {"standard error": b"wrong: a\n"}),
        ((SAYS, "output o 1"), {"files": True}, {"o", "standard error"}),
        ((PRINTS,), {}, {"standard output": b"cat\n"}),
        ((PRINTS,), {"printed": False}, {}),
        (("exit 0",), {}, {"standard output": b""}),
    ],
)
def test_standard_error_is_an_output_where_it_is_compared(
    tmp_path: Path,
    lines: tuple[str, ...],
    asked: dict[str, bool],
    expected: dict[str, bytes] | set[str],
) -> None:
    found = run(tmp_path, *lines, **asked)

    assert ({*found} if isinstance(expected, set) else found) == expected
