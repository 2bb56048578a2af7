"""Two configurations of one folder of models: each trims, and neither touches the other's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.megtrim_cli import SAMPLE, run_megtrim

pytestmark = [pytest.mark.chain]

MODEL = "tiny-mobile"


def megtrim(folder: Path, *argv: str) -> str:
    done = run_megtrim(*argv, cwd=folder)
    assert done.rc == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_each_trims_for_the_same_models(tmp_path: Path, shared_out: Path) -> None:
    """As the page says: one is adopted, and the other takes its models."""
    (tmp_path / "models").mkdir()
    for name in (f"{MODEL}.sample", f"{MODEL}.data.npy"):
        shutil.copy(SAMPLE / "models" / name, tmp_path / "models")
    other = "linux/megtrim.yaml"

    megtrim(tmp_path, "init", f"models/{MODEL}.sample")
    text = (tmp_path / "megtrim.yaml").read_text(encoding="utf-8")
    (tmp_path / "linux").mkdir()
    (tmp_path / other).write_text(text.replace("models: megtrim", "models: ../megtrim"), "utf-8")
    for config in ("megtrim.yaml", other):
        file = tmp_path / config
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("kind: auto\n", "kind: host\n"), encoding="utf-8")
        megtrim(tmp_path, "check", "--config", config)
        shown = megtrim(tmp_path, "trim", "--config", config, "--out", str(shared_out))
        assert "verdict: pass." in shown
        assert "1 of 1 scenario" in shown

    first, second = tmp_path / "megtrim/keepset", tmp_path / "linux/megtrim/keepset"
    kept = [sorted(each.relative_to(top) for each in top.rglob("*")) for top in (first, second)]
    assert kept[0] == kept[1] == [Path(MODEL), Path(MODEL, "default@any.json")]
