"""Configurations for the tests of this room: a small one that loads, and folders to load it in."""

from pathlib import Path

from megtrim.core.config.config_id import choose
from megtrim.core.config.load import LoadedConfig, load_config

ENGINE = "version: 1\nengine: {kind: sample}\n"
MODEL = "models:\n  - name: m\n    file: m.mge\n    scenarios:\n      - name: s\n"
SMALL = ENGINE + MODEL


def load(folder: Path, text: str, toolchain: str = "") -> LoadedConfig:
    """Write ``text`` into ``folder`` next to a model ``m.mge``, and load it for a toolchain."""
    (folder / "m.mge").write_bytes(b"model")
    file = folder / "megtrim.yaml"
    file.write_text(text, encoding="utf-8")
    return load_config(Path(choose(str(file), toolchain)) if toolchain else file)
