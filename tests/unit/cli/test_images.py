"""``megtrim images``: what is taken, what is refused before docker is asked, and pins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from megtrim.cli import images
from support.clock import clock_at
from unit.cli.support import Shell
from unit.images.stub import ID, Stub

DIGEST = "sha256:" + "cd" * 32
HEX = "0" * 64


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Docker, played."""
    made = Stub.make(tmp_path / "bin")
    monkeypatch.setattr(images, "open_processes", lambda: made.processes)
    return made


def pinned(folder: Path, **values: str) -> tuple[str, str]:
    """Return the option that names a file with these pins."""
    pins = {
        name: {"value": value, "source": "https://host.example/x", "when": "2026-03-31"}
        for name, value in values.items()
    }
    path = folder / "pins.json"
    path.write_text(json.dumps({"version": 1, "pins": pins}), encoding="utf-8")
    return "--pins", str(path)


def test_an_image_is_built_from_the_pins(shell: Shell, stub: Stub, tmp_path: Path) -> None:
    """Where nothing else is said; the last word is the ID."""
    pins = pinned(tmp_path, base=f"debian@{DIGEST}", ndk=f"sha256:{HEX}")
    answer = shell("images", "build", "android-arm64", *pins)

    assert (answer.status, answer.out) == (0, f"megtrim/android-arm64 {ID}\n")
    argv = stub.calls("build")[0]
    assert argv[argv.index("--tag") + 1] == "megtrim/android-arm64"
    given = {argv[at + 1] for at, word in enumerate(argv) if word == "--build-arg"}
    assert given == {
        *(f"BASE=debian@{DIGEST}", "NDK_URL=https://host.example/x", f"NDK_SHA256={HEX}")
    }


def test_what_is_said_wins(shell: Shell, stub: Stub, tmp_path: Path) -> None:
    """Over the pins; linux-arm64 takes no NDK from them."""
    pins = pinned(tmp_path, base=f"debian@{DIGEST}", ndk=f"sha256:{HEX}")
    shell("images", "build", "linux-arm64", *pins, "--base", "mine:local", "--tag", "team/linux")

    argv = stub.calls("build")[0]
    assert argv[argv.index("--tag") + 1] == "team/linux"
    assert [word for word in argv if "=" in word] == [f"megtrim.base={ID}", "BASE=mine:local"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["linux-arm64"], "there is no image to build on"),
        (["windows"], "is not one of"),
        (["linux-arm64", "--base", "--rm"], "found '--rm', expected the name"),
        (["linux-arm64", "--base", "b:c", "--tag", "-x"], "found '-x', expected the name"),
        (["linux-arm64", "--base", "b:c", "--ndk", "."], "linux-arm64 takes no NDK"),
        (["android-arm64", "--base", "b:c"], "there is no NDK to put into the image"),
        (["android-arm64", "--base", "b:c", "--ndk", "."], "it has no source.properties"),
        (["android-arm64", "--base", "b:c", "--ndk-url", "u"], "go together"),
        (["android-arm64", "--base", "b:c", "--ndk-sha256", HEX], "go together"),
        (["android-arm64", "--base", "b:c", "--ndk", ".", "--ndk-url", "u"], "not from both"),
        (
            ["android-arm64", "--base", "b:c", "--ndk-url", "u", "--ndk-sha256", "abc"],
            "--ndk-sha256: found 'abc', expected 64 hex digits",
        ),
    ],
)
def test_what_is_refused(
    shell: Shell, stub: Stub, tmp_path: Path, words: list[str], said: str
) -> None:
    """One message, and nothing is built."""
    answer = shell("images", "build", *words, *pinned(tmp_path))

    assert answer.status == 2
    assert said in answer.err
    assert stub.calls("build") == []


def test_pins_are_recorded(shell: Shell, httpserver: HTTPServer, tmp_path: Path) -> None:
    """What is asked for is read again, the rest stays."""
    httpserver.expect_request("/ndk.zip").respond_with_data(b"archive")
    httpserver.expect_request("/v2/debian/manifests/12").respond_with_data(b"{}")
    path = tmp_path / "new" / "pins.json"
    pins_file = ("--pins", str(path))
    image = f"localhost:{httpserver.port}/debian:12"
    with clock_at("2026-03-31"):
        first = shell("images", "pin", "--ndk-url", httpserver.url_for("/ndk.zip"), *pins_file)
        second = shell("images", "pin", "--base", image, *pins_file)

    assert (first.status, second.status) == (0, 0), first.err + second.err
    assert [line.split()[0] for line in second.out.splitlines()] == ["base", "ndk"]
    pins = json.loads(path.read_text(encoding="utf-8"))["pins"]
    assert {name: each["when"] for name, each in pins.items()} == {
        "base": "2026-03-31",
        "ndk": "2026-03-31",
    }
    assert pins["ndk"]["size_bytes"] == 7


def test_nothing_to_pin(shell: Shell) -> None:
    """It does not guess what is meant."""
    answer = shell("images", "pin")
    assert (answer.status, "found nothing to pin" in answer.err) == (2, True)
