"""A command for each toolchain of a file, one after another."""

from pathlib import Path
from typing import Any

import click
import pytest

from megtrim.cli.session.each_toolchain import each_toolchain
from megtrim.util.errors import InfrastructureFailure, InputError, Interrupted, MegtrimError
from unit.cli.support import Shell
from unit.config.support import ENGINE, MODEL, SMALL

SEVERAL = f"{ENGINE}{MODEL}toolchains: [{{name: phone, kind: ndk}}, {{name: desk, kind: host}}]\n"


class Calls(list[dict[str, Any]]):
    def __init__(self, *ends: int | MegtrimError) -> None:
        super().__init__()
        self.ends = list(ends)
        self.closed: list[int] = []

    def run(self, folder: Path, text: str, **values: Any) -> int:
        (folder / "m.mge").write_bytes(b"model")
        (folder / "megtrim.yaml").write_text(text, encoding="utf-8")

        def command(**given: Any) -> int:
            self.append(given)
            number = len(self)
            click.get_current_context().call_on_close(lambda: self.closed.append(number))
            end = self.ends[number - 1] if self.ends else 0
            if isinstance(end, MegtrimError):
                raise end
            return end

        given = {"config": folder / "megtrim.yaml", "out": Path("out"), **values}
        with click.Context(click.Command("trim")):
            wrapped = each_toolchain(lambda folders: f"summary of {folders}")(command)
            status: int = wrapped(**given)
        return status


def test_each_has_its_configuration_and_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = Calls()
    assert calls.run(tmp_path, SEVERAL, reuse=Path("earlier"), jobs=2) == 0

    assert calls == [
        {
            "config": tmp_path / f"megtrim.yaml#{name}",
            "out": Path("out", name),
            "reuse": Path("earlier", name),
            "jobs": 2,
        }
        for name in ("phone", "desk")
    ]
    printed = capsys.readouterr()
    folders = {name: Path("out", name) for name in ("phone", "desk")}
    assert printed.out == f"summary of {folders}\n"
    assert printed.err.splitlines() == ["toolchain  phone, 1 of 2", "toolchain  desk, 2 of 2"]


@pytest.mark.parametrize("text", [SMALL, "version: ["])
def test_a_file_with_one_is_as_ever(tmp_path: Path, text: str) -> None:
    calls = Calls()
    assert calls.run(tmp_path, text, as_json=True) == 0

    assert calls == [{"config": tmp_path / "megtrim.yaml", "out": Path("out"), "as_json": True}]


@pytest.mark.parametrize(
    ("ends", "status"),
    [((0, 0), 0), ((0, 3), 3), ((3, 1), 1), ((InfrastructureFailure("no phone"), 0), 3)],
)
def test_the_worst_is_the_exit_status(
    tmp_path: Path, ends: tuple[int | MegtrimError, ...], status: int
) -> None:
    calls = Calls(*ends)
    assert calls.run(tmp_path, SEVERAL) == status

    assert len(calls) == 2
    assert calls.closed == [1, 2]


def test_what_an_earlier_run_left_is_not_summed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = Calls(1, InputError("there is no such model"))
    assert calls.run(tmp_path, SEVERAL) == 2

    folders = {"phone": Path("out/phone"), "desk": None}
    assert capsys.readouterr().out == f"summary of {folders}\n"


def test_who_interrupts_ends_all(tmp_path: Path) -> None:
    calls = Calls(Interrupted("stopped"), 0)
    with pytest.raises(Interrupted):
        calls.run(tmp_path, SEVERAL)

    assert len(calls) == 1


@pytest.mark.parametrize(
    ("given", "option"), [({"as_json": True}, "--json"), ({"image": "android-arm64"}, "--image")]
)
def test_what_is_of_one_toolchain_is_refused(
    tmp_path: Path, given: dict[str, Any], option: str
) -> None:
    calls = Calls()
    with pytest.raises(InputError, match=f"{option} is for one toolchain, and ") as caught:
        calls.run(tmp_path, SEVERAL, **given)

    assert caught.value.hint == f"choose one: --config {tmp_path}/megtrim.yaml#phone"
    assert calls == []


def test_mistakes_are_reported_for_all_at_once(tmp_path: Path) -> None:
    calls = Calls()
    text = SEVERAL.replace("kind: ndk", "kind: ndk, api: old").replace("kind: host", "kind: hosts")
    with pytest.raises(InputError) as caught:
        calls.run(tmp_path, text.replace("version: 1", "version: 2"))

    keys = [line.partition(": found")[0] for line in caught.value.message.splitlines()]
    assert sorted(key.partition("megtrim.yaml")[2] for key in keys) == [
        *(":1: version", ":8: toolchains[0].api", ":8: toolchains[1].kind")
    ]
    assert calls == []


def test_check_is_for_all(shell: Shell) -> None:
    shell.sample("tiny-vgg.sample")
    text = SEVERAL.replace("m.mge", "tiny-vgg.sample").replace("kind: ndk", "kind: zig")
    (shell.folder / "megtrim.yaml").write_text(text, encoding="utf-8")
    every = shell("check")
    one = shell("check", "--config", "megtrim.yaml#desk")

    assert [every.status, one.status] == [0, 0], every.err
    places = [line.partition(" can be trimmed")[0] for line in every.out.splitlines()]
    assert places == [f"megtrim.yaml#{name}: 1 model and 1 scenario" for name in ("phone", "desk")]
    assert one.out.splitlines() == every.out.splitlines()[1:]


def test_a_chosen_toolchain_has_a_folder_of_its_own(shell: Shell) -> None:
    (shell.folder / "megtrim.yaml").write_text(SEVERAL, encoding="utf-8")
    shell("plan", "--config", "megtrim.yaml#disk").expect(
        2, "toolchains: found no 'disk', expected phone or desk (did you mean desk?)"
    )
