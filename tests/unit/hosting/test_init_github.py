"""``megtrim init --github`` and ``--gitlab``: what a repository misses is written, no more."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from megtrim.core.config.config_id import id_of
from megtrim.core.config.load import load_config
from megtrim.hosting.caller_workflows import describe_devices
from support.source_forge import KIT_SHA, make_kit
from unit.core.cli.support import Shell
from unit.places.compile.projects.support import NEWEST, write

KIT = ("--github", "--kit", "megtrim/kit")
WRITTEN = (".github/workflows/megtrim.yml", ".github/workflows/megtrim-refresh.yml")
FORKS, NIGHT = (f".github/workflows/megtrim-{kind}.yml" for kind in ("forks", "night"))
PINNED = f"@{KIT_SHA} # v1.2.3\n"
TRIM = tuple(name.replace(".yml", ".trim.yml") for name in WRITTEN)
"""Those of ``trim/megtrim.yaml``."""


NEW = ("tiny-vgg.sample", *KIT)
CLANG = "clang-14 lld-14 llvm-14 g++-aarch64-linux-gnu"
GITLAB = ".gitlab-ci.yml"
ON_GITLAB = ("--gitlab", "--kit", "megtrim/kit")
NO_KIT = "--kit is needed: no caller names one kit\n  --kit OWNER/REPO, or its URL; the newest"
FILE = """\
version: 1
engine: {kind: sample}
models: [{name: m, file: tiny-vgg.sample, scenarios: [{name: s}]}]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_kit(tmp_path_factory.mktemp("kit"), "v1.2.3", "v0.9.0")


@pytest.fixture
def team(
    shell: Shell,
    server: str,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    monkeypatch.setenv("GITHUB_SERVER_URL", server)
    for folder in ("objects", "refs"):
        (shell.folder / ".git" / folder).mkdir(parents=True)
    set_branch(shell.folder, "HEAD", "refs/heads/main")
    shell.sample("tiny-vgg.sample")
    # The kit of a pipeline is named by a URL: git takes the folder for github.com.
    settings = tmp_path_factory.mktemp("settings")
    (settings / "git").mkdir()
    text = f'[url "{server}/"]\n\tinsteadOf = https://github.com/\n'
    (settings / "git/config").write_text(text, encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(settings))
    return shell


def set_branch(folder: Path, reference: str, target: str) -> None:
    file = folder / ".git" / reference
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"ref: {target}\n", encoding="utf-8")


def given(folder: Path, name: str) -> dict[str, str]:
    job = next(iter(yaml.safe_load((folder / name).read_text(encoding="utf-8"))["jobs"].values()))
    return dict(job["with"])


def test_everything_at_once(team: Shell) -> None:
    answer = team("init", "tiny-vgg.sample", *KIT).expect(0, err="")
    paths = [team.folder / name for name in (WRITTEN[0], FORKS, WRITTEN[1])]
    assert answer.out.splitlines() == [
        "wrote tiny-vgg.data.npy, for the input data Float32 (1, 3, 32, 32) of tiny-vgg.sample",
        "wrote megtrim.yaml and megtrim/models, for the sample engine",
        *(f"wrote {path}" for path in paths),
        f"the kit is megtrim/kit v1.2.3, commit {KIT_SHA}",
        "the default branch is main: --branch names another",
        "next: megtrim trim --config megtrim.yaml",
        'then commit, and require the check "size / verdict"',
    ]
    assert (team.folder / "megtrim.yaml").is_file()
    assert not (team.folder / ".gitattributes").exists()
    assert given(team.folder, WRITTEN[0])["config"] == "megtrim.yaml"
    assert given(team.folder, WRITTEN[1])["keep-set"] == "megtrim/keepset"


def test_the_caller_of_releases_is_written_if_it_is_asked_for(team: Shell) -> None:
    assert team("init", "tiny-vgg.sample", *KIT).status == 0
    answer = team("init", "--github", "--release")

    name = ".github/workflows/megtrim-release.yml"
    assert (answer.status, answer.out.count("wrote ")) == (0, 1)
    assert given(team.folder, name) == {"config": "megtrim.yaml", "packages": CLANG}


def test_callers_for_a_configuration_that_is_there(team: Shell) -> None:
    team.model("resnet18-s.mge")
    write(team.folder / "engine", NEWEST)
    config = ("-c", "trim/megtrim.yaml")
    assert team("init", *config, "resnet18-s.mge", "--engine", "engine").status == 0

    first = team("init", *config, *KIT, "--branch", "trunk")
    second = team("init", *config, *KIT, "--branch", "trunk")

    assert (first.status, second.status) == (0, 0)
    assert first.out.count("wrote ") == 3
    assert second.out.count("wrote ") == 0
    assert given(team.folder, TRIM[0]) == {
        "config": "trim/megtrim.yaml",
        "packages": CLANG,
        "pull-request": "${{ inputs.pull-request }}",
    }
    assert given(team.folder, TRIM[1])["keep-set"] == "trim/megtrim/keepset"
    assert 'branches: ["trunk"]' in (team.folder / TRIM[0]).read_text(encoding="utf-8")


def test_a_second_configuration_has_callers_of_its_own(team: Shell) -> None:
    for config in ("megtrim.yaml", "android/megtrim.yaml"):
        assert team("init", "-c", config, "tiny-vgg.sample").status == 0
    (team.folder / "megtrim-quick.yaml").symlink_to("megtrim.yaml")
    first = team("init", *KIT)
    before = {name: (team.folder / name).read_bytes() for name in WRITTEN}
    second = team("init", "-c", "android/megtrim.yaml", *KIT)
    third = team("init", "-c", "megtrim-quick.yaml", *KIT)

    assert (first.status, second.status, third.status) == (0, 0, 0)
    assert {name: (team.folder / name).read_bytes() for name in WRITTEN} == before
    assert second.out.splitlines()[-2:] == [
        "next: megtrim trim --config android/megtrim.yaml",
        'then commit, and require the check "size android / verdict"',
    ]
    found = sorted(path.name for path in (team.folder / ".github/workflows").iterdir())
    quick = id_of("megtrim-quick.yaml")
    assert found == sorted(
        f"megtrim{part}{end}.yml"
        for part in ("", "-forks", "-refresh")
        for end in ("", ".android", f".{quick}")
    )
    assert given(team.folder, ".github/workflows/megtrim-refresh.android.yml") == {
        "config": "android/megtrim.yaml",
        "packages": CLANG,
        "keep-set": "android/megtrim/keepset",
        "size-check": "megtrim.android.yml",
    }


def test_a_configuration_has_one_set_of_callers(team: Shell) -> None:
    assert team("init", "-c", "trim/megtrim.yaml", "tiny-vgg.sample").status == 0
    assert team("init", "-c", "trim/megtrim.yaml", *KIT).status == 0
    old = team.folder / WRITTEN[0]
    (team.folder / TRIM[0]).rename(old)

    assert team("init", "-c", "trim/megtrim.yaml", *KIT).expect(2).err == (
        f"megtrim: {old} calls the kit for trim/megtrim.yaml already\n"
        "  keep it, or remove it and run this again\n"
    )
    assert not (team.folder / TRIM[0]).exists()


def test_a_keep_set_belongs_to_one_configuration(team: Shell) -> None:
    for config in ("megtrim.yaml", "linux.yaml"):
        assert team("init", "-c", config, "tiny-vgg.sample").status == 0
    other = team.folder / "linux.yaml"
    assert load_config(other).config.keep_set == Path("megtrim/keepset-linux")
    text = other.read_text("utf-8").replace("megtrim/keepset-linux", "megtrim/keepset")
    other.write_text(text, "utf-8")
    assert team("init", *KIT).status == 0

    assert team("init", "-c", "linux.yaml", *KIT).expect(2).err == (
        f"megtrim: {team.folder / WRITTEN[1]} proposes megtrim/keepset for another configuration "
        "already\n  name a separate folder as keep_set, and run this again\n"
    )
    assert [*team.folder.glob(".github/workflows/*linux*")] == []


def test_a_caller_that_was_edited_stays(team: Shell) -> None:
    path = team.folder / WRITTEN[1]
    path.parent.mkdir(parents=True)
    path.write_text("mine", encoding="utf-8")

    answer = team("init", "tiny-vgg.sample", *KIT).expect(2)
    assert answer.err.startswith(f"megtrim: {path} exists and differs\n  --upgrade replaces what")
    refused = team("init", "tiny-vgg.sample", *KIT, "--upgrade").expect(2)
    assert refused.err.startswith(f"megtrim: {path} exists and differs: it calls no workflow of")
    assert path.read_text(encoding="utf-8") == "mine"
    assert not (team.folder / WRITTEN[0]).exists()
    assert not (team.folder / "megtrim.yaml").exists()


def change(path: Path, old: str, new: str) -> str:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return text


def test_an_upgrade_replaces_what_init_wrote_and_of_what_someone_edited_the_pins(
    team: Shell,
) -> None:
    """Dependabot moves pins, too: that is no edit."""
    size, refresh = (team.folder / name for name in WRITTEN)
    assert team("init", *NEW, "--kit-version", "v0.9.0", "--release").status == 0
    wanted = [change(path, "# v0.9.0", "# v0.8.0") for path in (size, refresh)]
    change(refresh, "17 3 * * 1", "59 3 * * 1")
    change(team.folder / "megtrim.yaml", "kind: auto", "kind: host")

    kept = team("init", "--github", "--upgrade", "--branch", "trunk").expect(0)
    assert kept.out.splitlines()[:5] == [
        f"wrote {size}",
        f"wrote {team.folder / FORKS}",
        f"wrote {team.folder / '.github/workflows/megtrim-release.yml'}",
        f"{refresh} was edited: its pins are new, its text is not",
        f"the kit is megtrim/kit v1.2.3, commit {KIT_SHA}",
    ]
    text = size.read_text(encoding="utf-8")
    assert ('branches: ["trunk"]' in text, text.count(PINNED)) == (True, 2)
    assert given(team.folder, WRITTEN[0])["packages"] == "g++"
    edited = wanted[1].replace("17 3 * * 1", "59 3 * * 1").replace("v0.9.0", "v1.2.3")
    assert refresh.read_text(encoding="utf-8") == edited
    again = team("init", "--github", "--upgrade", "--branch", "trunk", "--kit-version", "v0.9.0")
    assert (again.status, size.read_text("utf-8").count("# v0.9.0\n")) == (0, 2)


def test_what_is_pinned_stays_unless_an_upgrade_is_asked_for(team: Shell) -> None:
    assert team("init", *NEW, "--kit-version", "v0.9.0").status == 0
    add_a_device(team)

    answer = team("init", "--github").expect(0)
    written, warning, kit = answer.out.splitlines()[:3]
    assert warning.startswith("the environment megtrim-devices protects nothing until it has rev")
    assert [warning] == [*describe_devices(load_config(team.folder / "megtrim.yaml"))]
    assert team("doctor").out.splitlines()[-1] == f"note: {warning}"
    assert [written, kit] == [
        f"wrote {team.folder / NIGHT}",
        f"the kit is megtrim/kit v0.9.0, commit {KIT_SHA}",
    ]
    assert "# v0.9.0\n" in (team.folder / NIGHT).read_text(encoding="utf-8")
    team("init", *KIT).expect(2, "exists and differs")
    change(team.folder / "megtrim.yaml", "qemu_cpu: max}", "runner: ubuntu-24.04-arm}")
    left = team("init", "--github", "--upgrade").expect(0)
    assert f"{team.folder / NIGHT} has no device to measure on: remove it" in left.out


def add_a_device(team: Shell) -> None:
    path = team.folder / "megtrim.yaml"
    text = path.read_text(encoding="utf-8")
    classes = "classes: [{name: any, qemu_cpu: max}]\n"
    device = "devices: [{name: desk, kind: local, class: any, runner: true}]\n"
    path.write_text(f"{text}\n{classes}{device}", encoding="utf-8")


@pytest.mark.parametrize(
    ("references", "option", "branch"),
    [
        ({"HEAD": "refs/heads/master"}, (), "master"),
        ({"HEAD": "refs/heads/master"}, ("--branch", "trunk"), "trunk"),
        (
            {"HEAD": "refs/heads/wip", "refs/remotes/origin/HEAD": "refs/remotes/origin/release/2"},
            (),
            "release/2",
        ),
    ],
)
def test_the_default_branch_comes_from_git(
    team: Shell, references: dict[str, str], option: tuple[str, ...], branch: str
) -> None:
    for reference, target in references.items():
        set_branch(team.folder, reference, target)

    answer = team("init", "tiny-vgg.sample", *KIT, *option).expect(0)
    assert f"the default branch is {branch}: " in answer.out
    assert f'branches: ["{branch}"]' in (team.folder / WRITTEN[0]).read_text(encoding="utf-8")


def test_a_repository_is_looked_for_as_high_as_git_may(
    team: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = team.folder / "tmp" / "inner"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert team("init", "../../tiny-vgg.sample").status == 0

    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", f"/elsewhere:{team.folder}")
    refused = team("init", *KIT)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(inner))
    found = team("init", *KIT)

    assert refused.status == 2
    assert "is in no git repository" in refused.err
    assert found.status == 0
    own = f".{id_of('tmp/inner/megtrim.yaml')}.yml"
    assert (team.folder / WRITTEN[0].replace(".yml", own)).is_file()


_DIGEST = "registry.lan/android@sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("toolchain", "more"),
    [
        ("{kind: ndk}", {"image-recipe": "android-arm64"}),
        ("{kind: ndk, image: megtrim/android-arm64}", {"image-recipe": "android-arm64"}),
        (f"{{kind: ndk, image: '{_DIGEST}'}}", {}),
        ("{kind: clang-linux-arm64, image: mine}", {"image-recipe": "linux-arm64"}),
        (f"{{kind: host, image: '{_DIGEST}'}}", {}),
        ("{kind: host}", {"packages": "g++"}),
        ("{kind: auto}", {"packages": CLANG}),
        ("{kind: auto, prefer: zig}", {}),
    ],
)
def test_where_the_toolchain_comes_from(team: Shell, toolchain: str, more: dict[str, str]) -> None:
    """An image by digest is in the configuration; a tag of one machine's is made again in CI."""
    _configure(f"toolchain: {toolchain}\n")(team.folder)

    team("init", *KIT).expect(0, err="")
    own = {"config", "pull-request", "keep-set"}
    for name in WRITTEN:
        found = given(team.folder, name)
        assert {key: value for key, value in found.items() if key not in own} == more


BY_BLOCKS = """\
version: 1
engine: {kind: cmake, source: engine, target: app}
trim: {level: blocks}
scenarios: [{name: s, args: [x]}]
"""


def configure_blocks(team: Shell, toolchain: str) -> None:
    (team.folder / "engine").mkdir()
    team.write("engine/CMakeLists.txt", "project(app)\n")
    team.write("megtrim.yaml", f"{BY_BLOCKS}toolchain: {toolchain}\n")


@pytest.mark.parametrize(
    ("toolchain", "more"),
    [
        ("{kind: auto}", {"image-recipe": "linux-arm64"}),
        ("{kind: clang-linux-arm64}", {"image-recipe": "linux-arm64"}),
        (f"{{kind: clang-linux-arm64, image: '{_DIGEST}'}}", {}),
    ],
)
def test_the_level_blocks_gets_its_compiler(
    team: Shell, toolchain: str, more: dict[str, str]
) -> None:
    """Machines of GitHub's have no package of it."""
    configure_blocks(team, toolchain)
    team("init", *KIT).expect(0, err="")
    found = given(team.folder, WRITTEN[0])
    assert {key: found[key] for key in ("packages", "image-recipe") if key in found} == more


def test_the_level_blocks_gets_its_packages_in_a_pipeline(team: Shell) -> None:
    configure_blocks(team, "{kind: auto}")
    team("init", *ON_GITLAB).expect(0, err="")
    assert " clang-22 lld-22 llvm-22 g++-aarch64-linux-gnu" in team.read(GITLAB)


def write_several(team: Shell) -> None:
    assert team("init", "tiny-vgg.sample").status == 0
    text = team.read("megtrim.yaml")
    several = "toolchains:\n- {name: phone, kind: ndk}\n- {name: desk, kind: host}\n"
    assert "toolchain:\n  kind: auto\n" in text
    team.write("megtrim.yaml", text.replace("toolchain:\n  kind: auto\n", several))


@pytest.mark.parametrize("name", ["phone", "123"])
def test_a_file_with_several_toolchains_has_callers_for_all(team: Shell, name: str) -> None:
    """Whoever reads the caller must not see 123 or 1e5 as a number."""
    write_several(team)
    team.write("megtrim.yaml", team.read("megtrim.yaml").replace("name: phone", f'name: "{name}"'))
    answer = team("init", *KIT).expect(0)
    assert answer.out.splitlines()[-1] == 'then commit, and require the check "size / verdict"'
    jobs = yaml.safe_load((team.folder / WRITTEN[0]).read_text(encoding="utf-8"))["jobs"]
    own = jobs[f"size-{name}"]["with"]
    assert (own["image-recipe"], own["config"]) == ("android-arm64", f"megtrim.yaml#{name}")
    assert jobs["size-desk"]["with"]["packages"] == "g++"
    assert jobs["history"]["strategy"]["matrix"]["include"][0]["toolchain"] == name
    assert jobs["summary"]["with"]["toolchains"] == f"{name} desk"
    refresh = given(team.folder, WRITTEN[1])
    assert refresh["config"] == "megtrim.yaml#${{ matrix.toolchain }}"
    assert refresh["keep-set"] == "megtrim/keepset/${{ matrix.toolchain }}"


def test_a_night_measures_the_toolchains_that_have_a_device(team: Shell) -> None:
    write_several(team)
    add_a_device(team)
    change(team.folder / "megtrim.yaml", "runner: true", "runner: true, toolchains: [desk]")
    assert team("init", *KIT).status == 0

    jobs = yaml.safe_load((team.folder / NIGHT).read_text(encoding="utf-8"))["jobs"]
    (leg,) = jobs["night"]["strategy"]["matrix"]["include"]
    assert leg["toolchain"] == "desk"


def test_one_of_several_toolchains_may_have_callers_of_its_own(team: Shell) -> None:
    write_several(team)
    chosen = team("init", "-c", "megtrim.yaml#desk", *KIT).expect(0)
    assert given(team.folder, ".github/workflows/megtrim-refresh._desk.yml") == {
        "config": "megtrim.yaml#desk",
        "packages": "g++",
        "keep-set": "megtrim/keepset/desk",
        "size-check": "megtrim._desk.yml",
    }
    assert "size _desk / verdict" in chosen.out


def test_a_toolchain_that_is_checked_with_all_others_gets_no_second_check(team: Shell) -> None:
    """Jobs of one configuration end each other; releases are made by no other caller."""
    write_several(team)
    assert team("init", *KIT).status == 0
    before = {*(team.folder / ".github/workflows").iterdir()}

    refused = team("init", "-c", "megtrim.yaml#desk", *KIT)
    release = team("init", "-c", "megtrim.yaml#desk", *KIT, "--release")

    assert refused.status == 2
    calls = "-refresh.yml calls the kit for megtrim.yaml#desk already"
    assert refused.err.splitlines()[0].endswith(calls)
    assert release.status == 0, release.err
    assert release.out.splitlines()[-1].endswith('require the check "size / verdict"')
    (name,) = {*(team.folder / ".github/workflows").iterdir()} - before
    assert name.name == "megtrim-release._desk.yml"
    assert team("init", *KIT).status == 0


def _leave_nothing(_folder: Path) -> None:
    pass


def _configure(keys: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "megtrim.yaml").write_text(FILE + keys, encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message", "prepare"),
    [
        ((), "found no model", _leave_nothing),
        (
            ("tiny-vgg.sample", "--release"),
            "--release configures workflows, so it needs",
            _leave_nothing,
        ),
        (
            ("tiny-vgg.sample", "--upgrade"),
            "--upgrade configures workflows, so it needs",
            _leave_nothing,
        ),
        (("tiny-vgg.sample", "--github"), NO_KIT, _leave_nothing),
        ((*NEW, "--kit", "https://elsewhere.example/megtrim/kit"), "or its URL", _leave_nothing),
        ((*NEW, "--kit-sha", "main"), "sha: found 'main', expected the 40", _leave_nothing),
        ((*NEW, "--kit-version", "v1.2.4"), "megtrim/kit has no tag v1.2.4", _leave_nothing),
        ((*NEW, "--kit-sha", "0" * 40), f"megtrim/kit has no tag at {'0' * 40}", _leave_nothing),
        ((*NEW, "--kit", "megtrim/kitt"), "versions of the kit cannot be read", _leave_nothing),
        (NEW, "is in no git repository", lambda folder: shutil.rmtree(folder / ".git")),
        (
            NEW,
            "name it: --branch NAME",
            lambda folder: (folder / ".git/HEAD").write_text("0" * 40, encoding="utf-8"),
        ),
        (KIT, "is outside the repository", _configure("keep_set: ../keepset\n")),
        (
            KIT,
            "found mine, expected NAME@sha256:DIGEST\n  CI accepts no tags, because a tag",
            _configure("toolchain: {kind: host, image: mine}\n"),
        ),
    ],
)
def test_what_cannot_be_written_is_refused(
    team: Shell, words: tuple[str, ...], message: str, prepare: Callable[[Path], object]
) -> None:
    """Before anything is: workflows elsewhere never run, and CI takes no tag and no folder there.

    For the kit there is no default that could be cited; it must have that version.
    """
    prepare(team.folder)
    before = sorted(team.folder.rglob("*"))
    team("init", *words).expect(2, message)
    assert sorted(team.folder.rglob("*")) == before


def test_without_the_kits_server_nothing_is_written(
    team: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_SERVER_URL", "http://127.0.0.1:9")
    team("init", *NEW).expect(3, "cannot be read from http://127.0.0.1:9/megtrim/kit")
    assert sorted(path.name for path in team.folder.iterdir()) == [".git", "tiny-vgg.sample"]


def test_a_pipeline_from_nothing(team: Shell) -> None:
    answer = team("init", "tiny-vgg.sample", *ON_GITLAB).expect(0, err="")
    assert answer.out.splitlines()[-3:] == [
        f"wrote {team.folder / GITLAB}",
        f"the kit is https://github.com/megtrim/kit v1.2.3, commit {KIT_SHA}",
        "next: megtrim trim --config megtrim.yaml",
    ]
    job = yaml.safe_load(team.read(GITLAB))["megtrim"]
    assert job["before_script"][1:3] == [
        f"apt-get install -y --no-install-recommends ccache time {CLANG} qemu-user-static",
        f'pip install "megtrim @ git+https://github.com/megtrim/kit@{KIT_SHA}"',
    ]


def test_another_configuration_is_named(team: Shell) -> None:
    assert team("init", "-c", "linux/megtrim.yaml", "tiny-vgg.sample").status == 0
    path = team.folder / "linux/megtrim.yaml"
    path.write_text(path.read_text("utf-8").replace("kind: auto", "kind: zig"), "utf-8")
    version = ("--kit-version", "v0.9.0")
    assert team("init", "-c", "linux/megtrim.yaml", *ON_GITLAB, *version).status == 0

    job = yaml.safe_load(team.read(GITLAB))["megtrim"]
    assert job["script"][0].endswith(" --baseline baseline.json --config linux/megtrim.yaml")
    assert job["before_script"][1].endswith("ccache time qemu-user-static")
    assert 'pip install "megtrim[zig] @' in job["before_script"][2]
    assert "# v0.9.0\n" in team.read(GITLAB)


def test_a_file_that_is_there_stays(team: Shell) -> None:
    team.write(GITLAB, "mine: {script: [make]}\n")
    before = sorted(team.folder.rglob("*"))

    team("init", "tiny-vgg.sample", *ON_GITLAB).expect(
        2, f"{GITLAB} exists and differs\n  add the job to it by hand"
    )
    assert sorted(team.folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "keys", "message"),
    [
        (("--gitlab",), "", "--gitlab: --kit is needed"),
        (("--gitlab", "--github"), "", "--github and --gitlab cannot be combined"),
        ((*ON_GITLAB, "--upgrade"), "", "--upgrade configures workflows, so it needs --github"),
        (("--gitlab", "--kit", "https://u:p@a.example/k"), "", "url: found"),
        (ON_GITLAB, "toolchain: {kind: ndk}\n", "found toolchain.kind: ndk\n  the job needs"),
        (ON_GITLAB, "toolchain: {kind: host, image: mine}\n", "--gitlab: found toolchain.image"),
        (
            ON_GITLAB,
            "toolchains: [{name: a, kind: host}, {name: b, kind: zig}]\n",
            "has several toolchains, expected one\n  choose one: --config megtrim.yaml#a",
        ),
    ],
)
def test_what_the_job_could_not_do_is_refused(
    team: Shell, words: tuple[str, ...], keys: str, message: str
) -> None:
    _configure(keys)(team.folder)

    team("init", *words).expect(2, message)
    assert not (team.folder / GITLAB).exists()
