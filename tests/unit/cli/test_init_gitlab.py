"""``megtrim init --gitlab``: the job, at the newest tag of the kit; what is there stays."""

from pathlib import Path

import pytest
import yaml

from support.source_forge import KIT_SHA, make_kit
from unit.cli.support import Shell

NEW = ("tiny-vgg.sample", "--gitlab", "--kit", "megtrim/kit")
FILE = ".gitlab-ci.yml"


@pytest.fixture
def team(
    shell: Shell, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """A repository whose git takes a folder for github.com."""
    settings = tmp_path_factory.mktemp("settings")
    server = make_kit(tmp_path_factory.mktemp("kit"), "v1.2.3", "v0.9.0")
    (settings / "git").mkdir()
    text = f'[url "{server}/"]\n\tinsteadOf = https://github.com/\n'
    (settings / "git/config").write_text(text, encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(settings))
    (shell.folder / ".git").mkdir()
    shell.sample("tiny-vgg.sample")
    return shell


def test_a_pipeline_from_nothing(team: Shell) -> None:
    answer = team("init", *NEW).expect(0, err="")
    assert answer.out.splitlines()[-3:] == [
        f"wrote {team.folder / FILE}",
        f"the kit is https://github.com/megtrim/kit v1.2.3, commit {KIT_SHA}",
        "next: megtrim trim --config megtrim.yaml",
    ]
    job = yaml.safe_load(team.read(FILE))["megtrim"]
    assert job["before_script"][1:3] == [
        "apt-get install -y --no-install-recommends ccache qemu-user-static",
        f'pip install "megtrim[zig] @ git+https://github.com/megtrim/kit@{KIT_SHA}"',
    ]


def test_another_configuration_is_named(team: Shell) -> None:
    assert team("init", "-c", "linux/megtrim.yaml", "tiny-vgg.sample").status == 0
    path = team.folder / "linux/megtrim.yaml"
    path.write_text(path.read_text("utf-8").replace("kind: auto", "kind: host"), "utf-8")
    version = ("--kit-version", "v0.9.0")
    assert team("init", "-c", "linux/megtrim.yaml", *NEW[1:], *version).status == 0

    job = yaml.safe_load(team.read(FILE))["megtrim"]
    assert job["script"][0].endswith(" --baseline baseline.json --config linux/megtrim.yaml")
    assert job["before_script"][1].endswith("ccache g++ qemu-user-static")
    assert "# v0.9.0\n" in team.read(FILE)


def test_a_file_that_is_there_stays(team: Shell) -> None:
    team.write(FILE, "mine: {script: [make]}\n")
    before = sorted(team.folder.rglob("*"))

    team("init", *NEW).expect(2, f"{FILE} exists and differs\n  add the job to it by hand")
    assert sorted(team.folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "keys", "message"),
    [
        (("--gitlab",), "", "--gitlab: --kit is needed"),
        (("--gitlab", "--github"), "", "--github and --gitlab cannot be combined"),
        ((*NEW[1:], "--upgrade"), "", "--upgrade is about workflows: it needs --github"),
        (("--gitlab", "--kit", "https://u:p@a.example/k"), "", "url: found"),
        (NEW[1:], "toolchain: {kind: ndk}\n", "found toolchain.kind: ndk\n  the job needs"),
        (NEW[1:], "toolchain: {kind: host, image: mine}\n", "--gitlab: found toolchain.image"),
        (
            *(NEW[1:], "toolchains: [{name: a, kind: host}, {name: b, kind: zig}]\n"),
            "has several toolchains, expected one\n  choose one: --config megtrim.yaml#a",
        ),
    ],
)
def test_what_the_job_could_not_do_is_refused(
    team: Shell, words: tuple[str, ...], keys: str, message: str
) -> None:
    file = "version: 1\nengine: {kind: sample}\n"
    models = "models: [{name: m, file: tiny-vgg.sample, scenarios: [{name: s}]}]\n"
    team.write("megtrim.yaml", file + models + keys)

    team("init", *words).expect(2, message)
    assert not Path(team.folder, FILE).exists()
