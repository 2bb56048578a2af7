import argparse
from pathlib import Path

import pytest
from host.desired import HostSpec, parser, read

SHA256 = "0123456789abcdef" * 4
REQUIRED = {
    "--user": "megtrim",
    "--class": "armv82",
    "--repository": "team/models",
    "--runner-archive": "/root/runner.tar.gz",
    "--runner-sha256": SHA256,
}


def _words(changed: dict[str, str] | None = None) -> list[str]:
    return [word for pair in {**REQUIRED, **(changed or {})}.items() for word in pair]


def _order(words: list[str], *, checkout: str = "/opt/megtrim") -> HostSpec:
    return read(parser("").parse_args(words), checkout=Path(checkout))


def test_an_order_with_what_is_required() -> None:
    assert _order(_words()) == HostSpec(
        user="megtrim",
        cpu_class="armv82",
        scope="repos/team/models",
        runner_group=1,
        runners=1,
        runner_archive=Path("/root/runner.tar.gz"),
        runner_sha256=SHA256,
        adb=Path("/usr/bin/adb"),
        checkout=Path("/opt/megtrim"),
        usb_vendors=(),
        power_hubs=(),
        proxy="",
        api_url="https://api.github.com",
    )


@pytest.mark.parametrize("name", REQUIRED)
def test_nothing_required_has_a_default(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for pair in REQUIRED.items() if pair[0] != name for word in pair]
    with pytest.raises(SystemExit) as refused:
        _order(words)

    assert refused.value.code == 2
    assert name in capsys.readouterr().err


def test_an_order_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "order"
    file.write_text("\n".join(_words()) + "\n", encoding="utf-8")

    assert _order([f"@{file}"]) == _order(_words())


def test_an_organisation_needs_a_runner_group() -> None:
    words = [word for pair in REQUIRED.items() if pair[0] != "--repository" for word in pair]
    with pytest.raises(argparse.ArgumentTypeError, match="--runner-group"):
        _order([*words, "--organisation", "team"])

    spec = _order([*words, "--organisation", "team", "--runner-group", "7"])
    assert (spec.scope, spec.runner_group) == ("orgs/team", 7)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("--user", "root me"),
        ("--user", "Root"),
        ("--user", "a" * 28),
        ("--class", "armv82\nExecStart=/bin/sh"),
        ("--class", "100%"),
        ("--repository", "team"),
        ("--repository", "team/models/../x"),
        ("--runner-sha256", SHA256[1:]),
        ("--runner-sha256", SHA256.upper()),
        ("--runners", "0"),
        ("--runners", "two"),
        ("--adb", "adb"),
        ("--adb", "/opt/my adb"),
        ("--usb-vendor", "18D1"),
        ("--usb-vendor", '18d1"'),
        ("--power-hub", "2109"),
        ("--proxy", "http://name:secret@proxy:3128"),
        ("--api-url", "http://api.github.com"),
        ("--api-url", "https://host/?a=b"),
    ],
)
def test_odd_words_are_refused(name: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        _order(_words({name: value}))

    assert refused.value.code == 2
    output = capsys.readouterr().err
    assert f"argument {name}: found {value!r}, expected" in output


def test_a_checkout_with_an_odd_path_is_refused() -> None:
    """It becomes the first word of a command in a unit, where a space would end it."""
    with pytest.raises(argparse.ArgumentTypeError, match="without spaces"):
        _order(_words(), checkout="/opt/my megtrim")


def test_several_vendors_and_hubs_are_sorted_and_single() -> None:
    words = ["--usb-vendor", "18d1", "--usb-vendor", "04e8", "--usb-vendor", "18d1"]
    spec = _order([*_words(), *words, "--power-hub", "2109:2817"])

    assert (spec.usb_vendors, spec.power_hubs) == (("04e8", "18d1"), (("2109", "2817"),))
