import sys
from pathlib import Path

import pytest

from megtrim.util.process import Command, CompletedCommand, ProcessRunner

SOURCES = Path(__file__).parents[3] / "ci"


def virtual_phone(folder: Path, *words: str) -> CompletedCommand:
    env = {"PATH": str(folder), "PYTHONPATH": str(SOURCES), "XDG_RUNTIME_DIR": str(folder)}
    argv = (sys.executable, "-m", "virtual_phone", *words)
    return ProcessRunner(env).run(Command(argv=argv, timeout_s=60))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fault", "mine", "boom"), "virtual-phone: there is no fault 'boom'\n  faults: kill, "),
        (("fault", "mine", "kill"), "virtual-phone: no virtual phone named 'mine' runs here"),
        (("start", "a/b", "--root", "/"), "virtual-phone: a virtual phone cannot be named 'a/b'"),
        (("fly",), "Usage: virtual-phone "),
    ],
)
def test_a_mistake_is_an_input_error(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    outcome = virtual_phone(tmp_path, *words)

    assert (outcome.rc, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(message)


def test_no_phone_runs(tmp_path: Path) -> None:
    outcome = virtual_phone(tmp_path, "list")

    assert (outcome.rc, outcome.stdout, outcome.stderr) == (0, "", "")
