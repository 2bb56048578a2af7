"""What experiments would run with."""

from __future__ import annotations

import platform
from pathlib import Path

from megtrim.build.engines.sample import find_embedded_source
from megtrim.cli.perf.surroundings import look_around
from megtrim.experiments.experiment import DataType
from megtrim.load_and_run.dialects import LITE

SAMPLE = find_embedded_source()


def test_without_a_configuration_the_newest_program_is_meant() -> None:
    """On a machine that is not known."""
    found = look_around(None, None)

    assert found.usual.dialect == LITE
    assert found.usual.architecture is None
    assert found.situations == {}


def test_a_configuration_says_what_each_model_computes_with(tmp_path: Path) -> None:
    """And the program's own flags decide."""
    text = (SAMPLE / "megtrim.yaml").read_text(encoding="utf-8")
    config = tmp_path / "megtrim.yaml"
    text = text.replace("source: .", f"source: {SAMPLE}").replace("kind: auto", "kind: host")
    config.write_text(text.replace("models/", f"{SAMPLE}/models/"), encoding="utf-8")

    found = look_around(config, None)

    assert found.notes == ()
    assert found.usual.architecture == platform.machine()
    assert found.usual.dialect.knows("slow_down")
    assert found.situations["tiny-vgg"].data_type is DataType.FLOAT32
    assert found.situations["tiny-quant"].data_type is DataType.INT8
