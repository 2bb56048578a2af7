"""``megtrim init --convert``: a keep set in one file becomes a folder, and everything names it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from megtrim.midout.keepset import dump_keep_set
from megtrim.midout.keepset_folder import read_folder
from megtrim.models.operators import OperatorNeeds
from unit.cli.support import Shell
from unit.midout.test_keepset import NEEDS, A, B, keep, scenario
from unit.stages.support import CONFIG

KEEP = keep(scenario("m/s@any", A), scenario("n/s@any", A, B), operators=NEEDS)
REFRESH = ".github/workflows/megtrim-refresh.yml"


def first_version() -> str:
    """Return the keep set as megtrim wrote it at first: hashes did not say whose they are."""
    text = re.sub(r'("hash \d+": )\[.*\]', r"\1true", dump_keep_set(KEEP))
    return text.replace('"version": 2', '"version": 1')


@pytest.fixture
def team(shell: Shell) -> Shell:
    """A repository with a keep set in one file, below its top folder."""
    files = {
        "trim/m.mge": "model",
        "trim/megtrim.yaml": f"{CONFIG}keep_set: megtrim/keepset.json # ours\n",
        "trim/megtrim/keepset.json": first_version(),
        ".gitattributes": "*.mge filter=lfs\ntrim/megtrim/keepset.json merge=union\n",
        REFRESH: "with: {config: a, keep-set: trim/megtrim/keepset.json}\n",
        ".git/HEAD": "",
    }
    for name, text in files.items():
        (shell.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (shell.folder / name).write_text(text, encoding="utf-8")
    return shell


def text(team: Shell, name: str) -> str:
    return (team.folder / name).read_text(encoding="utf-8")


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_one_command_converts_all(team: Shell) -> None:
    """The same keep set; every hash is everybody's until it is traced again."""
    answer = team("init", "--convert", "-c", "trim/megtrim.yaml")

    assert (answer.status, answer.err) == (0, "")
    assert answer.out == (
        "megtrim/keepset.json is now megtrim/keepset/, a file for each scenario: "
        "commit that, megtrim.yaml, .gitattributes, megtrim-refresh.yml\n"
    )
    assert files(team.folder / "trim") == [
        *("m.mge", "megtrim.yaml", "megtrim/keepset/m/s@any.json"),
        "megtrim/keepset/n/s@any.json",
    ]
    found = read_folder(team.folder / "trim/megtrim/keepset")
    assert found.scenarios == KEEP.scenarios
    assert found.operators == OperatorNeeds(
        hashes=tuple((number, ("m", "n")) for number, _ in NEEDS.hashes),
        dtypes=NEEDS.dtypes,
        operators=NEEDS.operators,
        elemwise_modes=NEEDS.elemwise_modes,
    )
    assert text(team, "trim/megtrim.yaml") == f"{CONFIG}keep_set: megtrim/keepset # ours\n"
    assert text(team, ".gitattributes") == "*.mge filter=lfs\n"
    assert text(team, REFRESH) == "with: {config: a, keep-set: trim/megtrim/keepset}\n"


def test_a_file_that_nothing_names_is_found(team: Shell) -> None:
    """It was the default; no line for git is left then, and no file without lines."""
    (team.folder / "trim/megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    (team.folder / ".gitattributes").write_text("trim/megtrim/keepset.json merge=union\n", "utf-8")
    (team.folder / REFRESH).unlink()

    assert team("init", "--convert", "-c", "trim/megtrim.yaml").status == 0
    assert text(team, "trim/megtrim.yaml") == CONFIG
    assert not (team.folder / ".gitattributes").exists()
    assert read_folder(team.folder / "trim/megtrim/keepset").scenarios == KEEP.scenarios


def test_a_second_time_there_is_nothing_to_do(team: Shell) -> None:
    """And it is said."""
    team("init", "--convert", "-c", "trim/megtrim.yaml")
    again = team("init", "--convert", "-c", "trim/megtrim.yaml")

    assert again.status == 2
    assert "megtrim/keepset: found no keep set in one file\n" in again.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("trim/megtrim/keepset.json", "{"), "keepset.json:1: not JSON"),
        (("trim/megtrim/keepset/x", ""), "megtrim/keepset exists already"),
        (
            ("trim/megtrim.yaml", f"{CONFIG}keep_set:\n  megtrim/keepset.json\n"),
            "found no megtrim/keepset.json on this line",
        ),
        (("trim/megtrim.yaml", f"{CONFIG}keep_set: m.mge\n"), "found a name without .json"),
    ],
)
def test_what_cannot_be_converted_stays(team: Shell, change: tuple[str, str], said: str) -> None:
    """Nothing is written, and it is said why."""
    name, content = change
    (team.folder / name).parent.mkdir(exist_ok=True)
    (team.folder / name).write_text(content, encoding="utf-8")
    before = {path: text(team, path) for path in files(team.folder)}

    answer = team("init", "--convert", "-c", "trim/megtrim.yaml")

    assert answer.status == 2
    assert said in answer.err
    assert {path: text(team, path) for path in files(team.folder)} == before


def test_it_does_nothing_else(team: Shell) -> None:
    """Models would have to be written, too."""
    answer = team("init", "--convert", "-c", "trim/megtrim.yaml", "trim/m.mge")

    assert answer.status == 2
    assert "--convert does nothing else" in answer.err
