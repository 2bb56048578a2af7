"""``megtrim init``: a configuration that loads, and nothing overwritten."""

from __future__ import annotations

import pytest

from megtrim.config.load import load_config
from unit.cli.support import Shell


def test_init_writes_a_configuration_that_loads(shell: Shell) -> None:
    """With the operator JSON that lies next to a model, and names made of the files'."""
    shell.model("resnet18-s.mge")
    (shell.folder / "resnet18-s.mge.json").write_text("{}", encoding="utf-8")
    shell.model("mobilenet-s.v2.mge")

    answer = shell("init", "resnet18-s.mge", "mobilenet-s.v2.mge")

    assert (answer.status, answer.err) == (0, "")
    assert answer.out == "wrote megtrim.yaml; next: megtrim trim --config megtrim.yaml\n"
    config = load_config(shell.folder / "megtrim.yaml").config
    assert config.engine.kind == "sample"
    assert [(m.name, str(m.file), [str(p) for p in m.strip_info]) for m in config.models] == [
        ("mobilenet-s.v2", "mobilenet-s.v2.mge", []),
        ("resnet18-s", "resnet18-s.mge", ["resnet18-s.mge.json"]),
    ]


def test_init_writes_paths_relative_to_the_configuration(shell: Shell) -> None:
    """Wherever that lies; its folder is made."""
    shell.model("resnet18-s.mge")
    (shell.folder / "engine").mkdir()

    answer = shell("init", "-c", "trim/m.yaml", "resnet18-s.mge", "--engine", "engine")

    assert answer.status == 0
    loaded = load_config(shell.folder / "trim" / "m.yaml")
    assert str(loaded.config.models[0].file) == "../resnet18-s.mge"
    assert loaded.config.engine.kind == "megengine"
    assert str(loaded.config.engine.source) == "../engine"


def test_two_configurations_can_share_the_models(shell: Shell) -> None:
    """One for each platform, in one folder; a model of that name that is another one stays."""
    shell.model("resnet18-s.mge")
    first = shell("init", "resnet18-s.mge")
    second = shell("init", "-c", "android.yaml", "resnet18-s.mge")
    model = shell.folder / "megtrim/models/resnet18-s.yaml"
    model.write_text("mine", encoding="utf-8")
    third = shell("init", "-c", "linux.yaml", "resnet18-s.mge")

    assert (first.status, second.status, third.status) == (0, 0, 2)
    assert third.err.startswith("megtrim: megtrim/models/resnet18-s.yaml exists and differs\n")
    assert model.read_text(encoding="utf-8") == "mine"
    assert not (shell.folder / "linux.yaml").exists()


def test_init_overwrites_nothing(shell: Shell) -> None:
    """A configuration is someone's work."""
    shell.model("resnet18-s.mge")
    (shell.folder / "megtrim.yaml").write_text("mine", encoding="utf-8")

    answer = shell("init", "resnet18-s.mge")

    assert answer.status == 2
    assert answer.err.startswith("megtrim: megtrim.yaml already exists\n")
    assert (shell.folder / "megtrim.yaml").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("content", [None, b"", b"hello", b"mgb0001\0"])
def test_init_refuses_what_is_no_model(shell: Shell, content: bytes | None) -> None:
    """Now, not after an hour of building; nothing is written."""
    shell.model("resnet18-s.mge")
    if content is not None:
        (shell.folder / "bad.mge").write_bytes(content)

    answer = shell("init", "resnet18-s.mge", "bad.mge")

    assert answer.status == 2
    assert answer.err.startswith("megtrim: bad.mge: ")
    assert not (shell.folder / "megtrim.yaml").exists()
