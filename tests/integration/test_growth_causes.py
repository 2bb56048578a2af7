"""Growth is divided exactly, by really building the base with one cause at a time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from act import stranger
from support.fork_server import run_megtrim
from support.megtrim_cli import SAMPLE, Project

pytestmark = pytest.mark.chain

TABLE_BYTES = 8192


def lay_out(folder: Path, out: Path, *models: str) -> Project:
    """Write a team's repository with these models and their keep set."""
    shutil.copytree(SAMPLE, folder)
    project = Project(folder)
    config = project.read()
    config["toolchain"] = {"kind": "host"}
    config["models"] = [each for each in config["models"] if each["name"] in models]
    project.write(config)
    for kept in (folder / "megtrim" / "keepset").iterdir():
        if kept.name not in models:
            shutil.rmtree(kept)
    project.out = out
    return project


def test_a_table_and_a_model_have_their_own_bytes(tmp_path: Path, shared_out: Path) -> None:
    """And nothing else changed, so they add up to the whole growth."""
    base = lay_out(tmp_path / "base", shared_out, "tiny-vgg", "tiny-mobile")
    head = lay_out(tmp_path / "head", shared_out, "tiny-vgg", "tiny-mobile", "tiny-quant")
    main = head.folder / "src/load_and_run/main.cpp"
    main.write_text(stranger.with_table(TABLE_BYTES), encoding="utf-8")

    where = ("--config", str(head.config), "--out", str(shared_out))
    done = run_megtrim(
        *("size", "causes", *where, "--base", str(base.folder), "--json"), cwd=head.folder
    )

    assert done.rc == 0, done.stderr
    found = json.loads(done.stdout)["artifacts"]["load_and_run"]
    own = found["causes"]
    assert own.keys() == {"source", "models"}
    assert TABLE_BYTES <= own["source"] <= TABLE_BYTES + 4096
    assert own["models"] > 0
    whole = found["head_bytes"] - found["base_bytes"]
    assert sum(own.values()) + found["together_bytes"] == whole
    assert not (head.folder / "megtrim-out").exists()
