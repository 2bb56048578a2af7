from pathlib import Path

from megtrim.util.process import ProcessRunner


def machine(tmp_path: Path, *names: str) -> ProcessRunner:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in names:
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "{name} version 1 $*"\necho more\n', encoding="utf-8")
        program.chmod(0o755)
    return ProcessRunner({"PATH": str(folder)})
