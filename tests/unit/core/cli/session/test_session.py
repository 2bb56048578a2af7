"""Where a session is from, what it starts with, and its toolchains and summary."""

import os
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pytest

from megtrim.core.build_spec import Origin
from megtrim.core.cli.options import each_toolchain
from megtrim.core.cli.session import starter
from megtrim.core.cli.session.job_summary import SummaryPage, read_page
from megtrim.core.cli.session.origin import is_in_git, read_event_origin, read_origin
from megtrim.core.cli.session.starter import find_missing, plan_starter, write_files
from megtrim.core.config.load import load_config
from megtrim.core.evidence.fields import EarlyExit
from megtrim.core.model_facts import Variable
from megtrim.core.report.annotations import Level
from megtrim.core.report.comment import Links, render
from megtrim.core.verdict.model import to_json
from megtrim.libs.util.errors import InfrastructureFailure, InputError, Interrupted, MegtrimError
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.strict_json import dump
from support.source_forge import SourceForge
from unit.core.cli.support import Shell
from unit.core.config.support import ENGINE, MODEL, SMALL
from unit.core.verdict.examples import failing
from unit.hosting.github.support import HEAD, environment

VERSION = version("megtrim")
FILES = {"megtrim.yaml": "version: 1\n", "android/megtrim.yaml": "version: 1\n", "m.mge": "m"}


@pytest.fixture
def forge(tmp_path: Path) -> SourceForge:
    return SourceForge(tmp_path)


def read(config: Path, /, *named: Path, name: str = "", **env: str) -> Origin:
    processes = ProcessRunner({"PATH": os.environ["PATH"], **env})
    return read_origin(config, processes, name=name, named=named)


def work_tree(forge: SourceForge) -> tuple[Path, str]:
    return forge.root / "work" / "camera-app", forge.commit("camera-app", FILES)


def test_what_is_known_of_a_project(forge: SourceForge, tmp_path: Path) -> None:
    """Git knows the commit, wherever in the project the configuration is, if it is committed.

    Outside of git, and on a machine without it, a folder has its name: a job's variables are of
    another project.
    """
    folder, commit = work_tree(forge)
    for name in ("MegEngine", "demo"):
        place = (tmp_path if name == "MegEngine" else folder) / name
        place.mkdir()
        (place / "megtrim.yaml").write_text("version: 1\n", encoding="utf-8")
    alone = Origin(project="camera-app", config="megtrim.yaml", megtrim=VERSION)
    known = replace(alone, commit=commit, committed_at="2024-01-01T00:00:00Z")
    file = folder / "android" / "megtrim.yaml"

    assert read(file) == replace(known, config="android/megtrim.yaml")
    of_one = read(file, name="megtrim.yaml#arm64")
    assert of_one == replace(known, config="android/megtrim.yaml#arm64")
    assert read(folder / "demo" / "megtrim.yaml") == replace(alone, project="demo")
    outside = read(tmp_path / "MegEngine" / "megtrim.yaml", GITHUB_REPOSITORY="acme/kit")
    assert outside == replace(alone, project="MegEngine")
    assert read_origin(folder / "megtrim.yaml", ProcessRunner({"PATH": str(tmp_path)})) == alone


def test_a_commit_is_not_named_where_changes_are_unknown(forge: SourceForge) -> None:
    folder, _ = work_tree(forge)
    (folder / ".git" / "index").write_bytes(b"damaged")

    found = read(folder / "android" / "megtrim.yaml")
    assert (found.config, found.commit, found.committed_at) == ("android/megtrim.yaml", "", "")
    assert not found.changed


def test_a_folder_is_in_git_only_as_it_is_there(forge: SourceForge, tmp_path: Path) -> None:
    folder, _ = work_tree(forge)
    here = ProcessRunner({"PATH": os.environ["PATH"]})
    named = ("android", "new")
    assert [is_in_git(folder, Path(name), here) for name in named] == [True, True]
    for name in named:
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "kept.json").touch()
    assert [is_in_git(folder, Path(name), here) for name in named] == [False, False]
    (tmp_path / "alone").mkdir()
    assert is_in_git(tmp_path / "alone", Path("new"), here) is None
    assert is_in_git(folder, Path("new"), ProcessRunner({"PATH": str(tmp_path)})) is None


def test_a_date_of_no_calendar_is_not_shown(forge: SourceForge, tmp_path: Path) -> None:
    """Whoever commits may write any number: this one is in the year 33658."""
    folder, _ = work_tree(forge)
    tree = forge.git("-C", str(folder), "rev-parse", "HEAD^{tree}")
    written = tmp_path / "commit"
    who = "forge <forge@example.invalid> 999999999999 +0000"
    written.write_text(f"tree {tree}\nauthor {who}\ncommitter {who}\n\nLate\n", encoding="utf-8")
    sha = forge.git("-C", str(folder), "hash-object", "-t", "commit", "-w", str(written))
    forge.git("-C", str(folder), "update-ref", "HEAD", sha)

    found = read(folder / "megtrim.yaml")
    assert (found.commit, found.committed_at) == (sha, "")


def test_a_clone_has_the_name_of_its_repository(forge: SourceForge) -> None:
    work_tree(forge)
    clone = forge.root / "project"
    forge.git("clone", "--quiet", str(forge.bare("camera-app")), str(clone))

    assert read(clone / "megtrim.yaml").project == "camera-app"
    assert read(clone / "megtrim.yaml", CI_PROJECT_NAME="lens").project == "lens"
    given = {"GITHUB_REPOSITORY": "acme/vision", "CI_PROJECT_NAME": "lens"}
    assert read(clone / "megtrim.yaml", **given).project == "vision"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://user:secret@forge.example/team/vision.git", "vision"),
        ("git@forge.example:vision.git", "vision"),
        ("ssh://forge.example/team/vision/", "vision"),
        ("https://forge.example/%2e%2e", "camera-app"),
    ],
)
def test_a_remote_names_the_project_and_shows_no_password(
    forge: SourceForge, url: str, name: str
) -> None:
    folder, _ = work_tree(forge)
    forge.git("-C", str(folder), "config", "remote.origin.url", url)

    assert read(folder / "megtrim.yaml").project == name


def test_changes_are_seen(forge: SourceForge) -> None:
    folder, _ = work_tree(forge)
    (folder / "megtrim-out").mkdir()
    assert not read(folder / "megtrim.yaml").changed
    (folder / "m.mge").write_text("another", encoding="utf-8")

    assert read(folder / "megtrim.yaml").changed
    assert not read(folder / "android" / "megtrim.yaml").changed


@pytest.mark.parametrize("name", ["m.mge", "*.mge"])
def test_changes_of_shared_files_are_seen(forge: SourceForge, name: str) -> None:
    forge.commit("camera-app", {**FILES, name: "shared", "other.mge": "other"})
    folder = forge.root / "work" / "camera-app"
    config = folder / "android" / "megtrim.yaml"
    named = (folder / name, forge.root / "outside.mge")

    (folder / "other.mge").write_text("another", encoding="utf-8")
    assert not read(config, *named).changed
    (folder / name).write_text("another", encoding="utf-8")
    assert read(config, *named).changed


def test_a_job_knows_its_pull_request(forge: SourceForge, tmp_path: Path) -> None:
    folder, _ = work_tree(forge)
    assert read(folder / "megtrim.yaml", **environment(tmp_path, "pull_request")).pull_request == 17
    assert read(folder / "megtrim.yaml", CI_MERGE_REQUEST_IID="4").pull_request == 4
    assert read(folder / "megtrim.yaml", CI_MERGE_REQUEST_IID="4; ls").pull_request == 0


def test_an_event_says_what_it_knows(tmp_path: Path) -> None:
    env = environment(tmp_path, "pull_request")

    assert read_event_origin(env, "a/megtrim.yaml") == Origin(
        project="phone", config="a/megtrim.yaml", commit=HEAD, pull_request=17, megtrim=VERSION
    )
    assert read_event_origin({}, "megtrim.yaml") == Origin(config="megtrim.yaml", megtrim=VERSION)
    assert read_event_origin(env, "../megtrim.yaml") == Origin(megtrim=VERSION)


def test_an_input_without_a_shape_is_left_to_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    takes = (
        Variable(name="a[0]", dtype="Float32", shape=(2, 3)),
        Variable(name="a(0)", dtype="Uint8", shape=(4,)),
        Variable(name="free", dtype="Float32", shape=None),
    )
    model_facts = SimpleNamespace(format="sample v1", inputs=takes)
    monkeypatch.setattr(starter, "read_any_model", lambda _: model_facts)
    (tmp_path / "m.sample").touch()

    new = plan_starter([tmp_path / "m.sample"], tmp_path / "megtrim.yaml")
    write_files(new.files)

    model = f"of {tmp_path}/m.sample"
    free = f"the input free Float32 {model} cannot be generated"
    assert new.lines == (
        f"wrote {tmp_path}/m.a-0.npy, for the input a[0] Float32 (2, 3) {model}",
        f"wrote {tmp_path}/m.a-0-2.npy, for the input a(0) Uint8 (4) {model}",
        f"warning: {free}: add its file to inputs yourself",
        f"wrote {tmp_path}/megtrim.yaml and {tmp_path}/megtrim/models, for the sample engine",
    )
    (scenario,) = load_config(tmp_path / "megtrim.yaml").config.models[0].scenarios
    assert scenario.inputs == {"a[0]": Path("m.a-0.npy"), "a(0)": Path("m.a-0-2.npy")}
    assert np.load(tmp_path / "m.a-0-2.npy").tolist() == [0, 1, 2, 3]


def test_what_is_there_is_written_again_by_no_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("equal", encoding="utf-8")
    texts = {tmp_path / "a": "equal", tmp_path / "b": "new", tmp_path / "c": ""}

    assert find_missing(texts, hint="") == {tmp_path / "b": "new", tmp_path / "c": ""}
    with pytest.raises(InputError, match="a exists and differs") as caught:
        find_missing({tmp_path / "b": "new", tmp_path / "a": "new"}, hint="remove it")
    assert caught.value.hint == "remove it"


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
    assert Calls(1, InputError("there is no such model")).run(tmp_path, SEVERAL) == 2

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
        ":1: version",
        ":8: toolchains[0].api",
        ":8: toolchains[1].kind",
    ]
    assert calls == []


def test_check_is_for_all(shell: Shell) -> None:
    shell.sample("tiny-vgg.sample")
    text = SEVERAL.replace("m.mge", "tiny-vgg.sample").replace("kind: ndk", "kind: zig")
    shell.write("megtrim.yaml", text)
    every = shell("check")
    one = shell("check", "--config", "megtrim.yaml#desk")

    # Neither has a keep set yet.
    assert [every.status, one.status] == [2, 2], every.err
    lines = [line for line in every.err.splitlines() if " can be trimmed" in line]
    places = [line.partition(" can be trimmed")[0] for line in lines]
    names = ("phone", "desk")
    assert places == [f"megtrim: megtrim.yaml#{name}: 1 model and 1 scenario" for name in names]
    assert lines[1] in one.err.splitlines()


def test_a_chosen_toolchain_has_a_folder_of_its_own(shell: Shell) -> None:
    shell.write("megtrim.yaml", SEVERAL)
    shell("plan", "--config", "megtrim.yaml#disk").expect(
        2, "toolchains: found no 'disk', expected phone or desk (did you mean desk?)"
    )


LINKS = Links(run="https://github.example/run/7")
ENDING = EarlyExit(exit=2, message="megtrim.yaml:3: jobs: an unknown key", hint="leave it out")


KNOWN = Origin(project="phone", commit="ab" * 20, pull_request=3, megtrim="2.0.0")


def page(report: Path, config: str = "trim/megtrim.yaml") -> SummaryPage:
    return read_page(report, config=config, links=LINKS)


def test_a_verdict_is_the_page_and_its_annotations(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text(to_json(failing()), encoding="utf-8")
    found = page(tmp_path)

    assert found.text == render(failing(), links=LINKS)
    assert {each.file for each in found.annotations} == {"trim/megtrim.yaml"}
    assert found.problems == ()
    outside = page(tmp_path, config="../megtrim.yaml")
    assert {each.file for each in outside.annotations} == {"megtrim.yaml"}


def test_what_the_job_knows_outweighs_what_the_build_said(tmp_path: Path) -> None:
    """A build runs the code of whoever opened the pull request, and its folder is a checkout's."""
    (tmp_path / "verdict.json").write_text(to_json(failing()), encoding="utf-8")
    confirmed = replace(failing(), origin=failing().origin.confirm(KNOWN))

    found = read_page(tmp_path, config="megtrim.yaml", links=LINKS, known=KNOWN)
    assert found.text == render(confirmed, links=LINKS)
    assert " for `phone` " in found.text.splitlines()[2]


LOST = EarlyExit(exit=3, message="the phone\nis gone", hint="")
REASON = ": megtrim.yaml:3: jobs: an unknown key"
ENDED = "megtrim ended before a verdict"
ANDROID = "android/megtrim.yaml"


@pytest.mark.parametrize(
    ("ending", "config", "known", "title", "file"),
    [
        (None, "megtrim.yaml", KNOWN, "⚠️ megtrim: no report for `phone`, so nothing is", None),
        (None, ANDROID, Origin(), f"⚠️ megtrim: no report (`{ANDROID}`), so nothing", None),
        (ENDING, "megtrim.yaml", KNOWN, f"❌ {ENDED} for `phone`{REASON}\n", "megtrim.yaml"),
        (LOST, "megtrim.yaml", KNOWN, f"⚠️ {ENDED} for `phone`: the phone\n", "megtrim.yaml"),
        (ENDING, "megtrim.yaml", Origin(), f"❌ {ENDED}{REASON}\n", "megtrim.yaml"),
        (ENDING, ANDROID, Origin(), f"❌ {ENDED} (`{ANDROID}`){REASON}\n", ANDROID),
        (ENDING, f"{ANDROID}#arm64", Origin(), f"❌ {ENDED} (`{ANDROID}#arm64`){REASON}", ANDROID),
    ],
)
def test_a_page_without_a_verdict_says_what_it_is_of(
    tmp_path: Path,
    ending: EarlyExit | None,
    config: str,
    known: Origin,
    title: str,
    file: str | None,
) -> None:
    """It begins with what ended the run; nothing known is no good news.

    The configuration is named where it is not the default one: a pull request has a comment of
    each.
    """
    if ending is not None:
        (tmp_path / "ending.json").write_text(dump(ending), encoding="utf-8")
    found = read_page(tmp_path, config=config, links=LINKS, known=known)

    assert found.text.startswith(f"## {title}")
    assert [(each.level, each.file) for each in found.annotations] == (
        [(Level.ERROR, file)] if file else []
    )
    assert found.problems == ()
    assert str(LINKS.run) in found.text
    if known is KNOWN:
        last = found.text.splitlines()[-1]
        assert last.startswith(
            "megtrim 2.0.0, pull request 3, commit <code>abababababab</code>. [This run]"
        )


def test_a_damaged_verdict_is_a_problem_and_the_rest_is_shown(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text("{}", encoding="utf-8")
    (tmp_path / "comment.md").write_text("the earlier page", encoding="utf-8")
    found = page(tmp_path)

    assert found.text == "the earlier page"
    [problem] = found.problems
    assert isinstance(problem, InputError)
    assert str(tmp_path / "verdict.json") in problem.message
