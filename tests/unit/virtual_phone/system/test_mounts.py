from pathlib import Path

import pytest

from megtrim.util.errors import InputError
from virtual_phone.system import mounts

EMULATOR = Path("/usr/bin/qemu-aarch64")
WHOLE = "enabled\ninterpreter /usr/bin/qemu-aarch64-static\nflags: OCF\noffset 0\n"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the kernel's table, in which nothing can be mounted."""
    monkeypatch.setattr(mounts, "TABLE", tmp_path)
    return tmp_path


def test_the_emulator_is_opened_when_it_is_registered(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtual_phone.system.kernel.mount", lambda kind, target: None)
    mounts.register_emulator(EMULATOR)

    line = (table / "register").read_text(encoding="ascii")
    assert line.startswith(":qemu-aarch64:M::\\x7fELF")
    assert line.endswith(f":{EMULATOR}:PF")


@pytest.mark.parametrize(
    ("text", "usable"),
    [
        (WHOLE, True),
        (WHOLE.replace("enabled", "disabled"), False),
        (WHOLE.replace("OCF", "OC"), False),
        (None, False),
    ],
)
def test_an_older_kernel_needs_the_machines_own(
    table: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, usable: bool
) -> None:
    """Which must be enabled, and was opened when it was registered."""

    def refuse(kind: str, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("virtual_phone.system.kernel.mount", refuse)
    if text is not None:
        (table / "qemu-aarch64").write_text(text, encoding="ascii")
    if usable:
        mounts.register_emulator(EMULATOR)
    else:
        with pytest.raises(InputError, match="only root register qemu: Operation not") as caught:
            mounts.register_emulator(EMULATOR)
        assert "qemu-user-static" in caught.value.hint
