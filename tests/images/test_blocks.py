"""The level blocks, whose compiler is in the image."""

from pathlib import Path

from attacks.test_blocks import make


def test_functions_are_cut_in_an_image(linux_image: str, tmp_path: Path) -> None:
    project = make(tmp_path)
    project.change(toolchain={"kind": "clang-linux-arm64", "image": linux_image})
    ended = project.expect("trim")
    assert "verdict: pass" in ended.stdout
    assert "no function was cut" not in ended.stdout
