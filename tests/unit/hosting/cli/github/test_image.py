"""The image of a job, and the verdicts of its toolchains."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.evidence.fields import EarlyExit
from megtrim.core.verdict.model import Verdict, to_json
from megtrim.libs.util.strict_json import dump
from megtrim.places.compile.images import docker as builds
from unit.core.cli.support import Answer, Shell
from unit.core.verdict.examples import failing, passing, unverified
from unit.hosting.github.support import environment

DIGEST = "sha256:" + "a" * 64
NAMED = f"registry.lan/android@{DIGEST}"
BASE = f"BASE=debian@{DIGEST}"
DOCKER = """\
#!/usr/bin/env python3
import json, pathlib, sys
here = pathlib.Path(__file__).parent
words = sys.argv[1:]
if words == ["--version"]:
    raise SystemExit(print("Docker version 20.10.24+dfsg1, build 297e128"))
with (here / "reported").open("a") as log:
    log.write(json.dumps(words) + chr(10))
images = json.loads((here / "images").read_text())
def end(text="", rc=0, error=""):
    (here / "images").write_text(json.dumps(images))
    print(text)
    sys.stderr.write(error)
    raise SystemExit(rc)
match words:
    case ["image", "inspect", name]:
        if name not in images:
            end("[]", 1, "no such image")
        end(json.dumps([{"Id": images[name], "Config": {"Env": None}}]))
    case ["pull", "--quiet", name]:
        if name.startswith("gone"):
            end("", 1, "manifest unknown")
        images[name] = "sha256:" + "c" * 64
        end(name)
    case ["load", "--quiet", "--input", file]:
        if not pathlib.Path(file).read_text().startswith("{"):
            end("", 1, "archive/tar: invalid tar header")
        images.update(json.loads(pathlib.Path(file).read_text()))
        end()
    case ["save", "--output", file, tag]:
        if (here / "full").exists():
            pathlib.Path(file).write_text("half")
            end("", 1, "write image.tar: no space left on device")
        pathlib.Path(file).write_text(json.dumps({tag: images[tag]}))
        end()
    case ["build", *rest]:
        images[rest[rest.index("--tag") + 1]] = "sha256:" + "d" * 64
        end()
end("", 1, "unknown: " + " ".join(words))
"""
"""Stands in for docker's command: it has the images of a file next to it."""


class Job:
    def __init__(self, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shell = shell
        programs = shell.folder / "programs"
        programs.mkdir()
        (programs / "docker").write_text(DOCKER, encoding="utf-8")
        (programs / "docker").chmod(0o755)
        self.images = programs / "images"
        self.images.write_text(json.dumps({}), encoding="utf-8")
        self.reported = programs / "reported"
        self.output = shell.folder / "output"
        monkeypatch.setenv("PATH", str(programs), prepend=":")
        monkeypatch.setenv("GITHUB_OUTPUT", str(self.output))

    def __call__(self, *words: str) -> Answer:
        return self.shell("ci", "github", "image", *words)

    def make(self, folder: str = "image") -> Answer:
        return self("--recipe", "linux-arm64", "--kept", folder)

    def configure(self, toolchain: str) -> None:
        text = f"version: 1\nengine: {{kind: sample}}\ntoolchain: {toolchain}\n"
        self.shell.configure(
            f"{text}models:\n- {{name: m, file: m.mge, scenarios: [{{name: s}}]}}\n"
        )

    def write_recipes(self, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
        recipes = self.shell.folder / "recipes"
        for name in builds.NAMES:
            (recipes / name).mkdir(parents=True)
            text = "".join(f"ARG {each}\n" for each in arguments)
            (recipes / name / "Dockerfile").write_text(f"{text}FROM ${{BASE}}\n", encoding="utf-8")
        monkeypatch.setattr(builds, "recipes", lambda: recipes)

    def outputs(self) -> dict[str, str]:
        lines = self.output.read_text(encoding="utf-8").splitlines()
        return {lines[i].partition("<<")[0]: lines[i + 1] for i in range(0, len(lines), 3)}

    def verbs(self) -> list[str]:
        if not self.reported.exists():
            return []
        every = [json.loads(line) for line in self.reported.read_text("utf-8").splitlines()]
        return [words[0] for words in every if words[:2] != ["image", "inspect"]]


@pytest.fixture
def job(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Job:
    made = Job(shell, monkeypatch)
    made.configure("{kind: host}")
    return made


def test_no_image_is_needed(job: Job) -> None:
    job().expect(0, out="no image is needed\n")
    assert job.outputs() == {"image": "", "made": "false"}
    assert job.verbs() == []


@pytest.mark.parametrize("arguments", [("--image", NAMED), ()])
def test_an_image_is_brought_by_its_digest(job: Job, arguments: tuple[str, ...]) -> None:
    job.configure("{kind: host}" if arguments else f"{{kind: ndk, image: '{NAMED}'}}")

    first = job(*arguments)
    handed_on = job.outputs()["image"]
    assert (first.status, job(*arguments).status) == (0, 0)
    assert first.out == f"image {NAMED}, ID sha256:{'c' * 64}\n"
    assert handed_on == (NAMED if arguments else "")
    assert job.verbs() == ["pull"]


@pytest.mark.parametrize("image", ["registry.lan/android:r21e", "android", "a@sha256:abc", "-x"])
def test_a_tag_is_refused(job: Job, image: str) -> None:
    assert job(f"--image={image}").expect(2).err == (
        f"megtrim: the input image: found {image!r}, expected NAME@sha256:DIGEST in a job of CI\n"
        "  `docker image inspect --format '{{.RepoDigests}}' NAME` prints it\n"
    )
    assert job.verbs() == []


def test_what_is_wrong_with_the_configuration_the_trim_says(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.configure("{kind: ndk, image: 'android:r21e'}")
    tag = job()
    (job.shell.folder / "megtrim.yaml").write_text("{", encoding="utf-8")
    broken = job()

    assert (tag.status, broken.status) == (0, 0)
    assert "toolchain.image has no digest: android:r21e" in tag.err
    assert "megtrim.yaml" in broken.err

    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    job.configure("{kind: ndk, image: 'android:r21e'}")
    assert (
        job.shell("plan")
        .expect(2)
        .err.startswith("megtrim: toolchain.image: found 'android:r21e', expected NAME@sha256")
    )
    assert job.verbs() == []


def test_a_tag_of_the_variable_is_refused_in_a_job(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEGTRIM_IMAGE", "android:r21e")
    by_hand = job.shell("plan")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    in_a_job = job.shell("plan")

    assert "expected NAME@sha256" not in by_hand.err
    assert in_a_job.err.startswith("megtrim: --image: found 'android:r21e', expected NAME@sha256")
    assert (by_hand.status, in_a_job.status) == (3, 2)


def test_a_registry_that_has_it_not(job: Job) -> None:
    job("--image", f"gone/android@{DIGEST}").expect(3, "manifest unknown")


def test_a_recipe_is_built_once(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    job.write_recipes(monkeypatch, BASE)
    image = f"sha256:{'d' * 64}"
    for made, verbs in (("true", ["build", "save"]), ("false", ["build", "save", "load"])):
        job.images.write_text(json.dumps({}), encoding="utf-8")
        job.output.unlink(missing_ok=True)
        job.make().expect(0)

        assert job.outputs() == {"image": image, "made": made}
        assert job.verbs() == verbs


def test_a_damaged_archive_is_made_again(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    job.write_recipes(monkeypatch, BASE)
    Path("image").mkdir()
    Path("image", "image.tar").write_text("garbage", encoding="utf-8")

    job.make().expect(0)

    assert job.verbs() == ["load", "build", "save"]
    assert job.outputs()["made"] == "true"
    assert Path("image", "image.tar").read_text(encoding="utf-8").startswith("{")


@pytest.mark.parametrize(
    ("folder", "reason", "verbs"),
    [
        ("image", "cannot be written: write image.tar: no space left", ["build", "save"]),
        ("file/image", "", ["build"]),
    ],
)
def test_an_image_that_cannot_be_kept(
    job: Job, monkeypatch: pytest.MonkeyPatch, folder: str, reason: str, verbs: list[str]
) -> None:
    job.write_recipes(monkeypatch, BASE)
    job.reported.with_name("full").touch()
    Path("file").touch()

    job.make(folder).expect(0, f"the image is not kept for later jobs: {folder}/image.tar {reason}")

    assert job.verbs() == verbs
    assert job.outputs() == {"image": f"sha256:{'d' * 64}", "made": "false"}
    assert not Path(folder, "image.tar").exists()


@pytest.mark.parametrize(
    ("recipe", "arguments", "message"),
    [
        ("android-arm64", (BASE, "NDK_URL="), "docker/android-arm64/Dockerfile:2: ARG NDK_URL mu"),
        ("linux-arm64", ("BASE",), "docker/linux-arm64/Dockerfile:1: ARG BASE must name its sou"),
        ("linux-arm64", ("BASE=debian:12",), "docker/linux-arm64/Dockerfile:1: ARG BASE must nam"),
        ("../x", (), "the recipe: found '../x', expected one of android-arm64, linux-arm64\n"),
    ],
)
def test_what_a_recipe_misses(
    job: Job, monkeypatch: pytest.MonkeyPatch, recipe: str, arguments: tuple[str, ...], message: str
) -> None:
    job.write_recipes(monkeypatch, *arguments)

    assert job("--recipe", recipe).expect(2).err.startswith(f"megtrim: {message}")
    assert job.verbs() == []


def test_one_of_both(job: Job) -> None:
    answer = job("--recipe", "linux-arm64", "--image", NAMED).expect(2)

    assert answer.err == "megtrim: found both an image and a recipe, expected one of them\n"


def leave(shell: Shell, name: str, left: Verdict | EarlyExit, config: str = "") -> None:
    """Leave a verdict or an ending, of another configuration if one is named."""
    of = config or f"megtrim.yaml#{name}"
    if isinstance(left, EarlyExit):
        file = "ending.json"
        text = dump(replace(left, config=of))
    else:
        called = replace(left.invocation, config=of)
        file = "verdict.json"
        text = to_json(replace(left, invocation=called))
    (shell.folder / "reports" / f"megtrim-report._{name}").mkdir(parents=True)
    shell.write(f"reports/megtrim-report._{name}/{file}", text)


def join(shell: Shell, names: str = "arm64 desk") -> Answer:
    return shell("ci", "github", "toolchains", "reports", "--names", names, "--to", "report")


def comment(folder: Path) -> str:
    return (folder / "report" / "comment.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("desk", "status", "word"),
    [(passing(), 0, "pass"), (unverified(), 0, "unverified"), (failing(), 1, "fail")],
)
def test_the_worst_is_the_gate(shell: Shell, desk: Verdict, status: int, word: str) -> None:
    leave(shell, "arm64", passing())
    leave(shell, "desk", desk)
    assert join(shell).expect(status, err="").out.splitlines() == [
        f"arm64: pass: {passing().headline}",
        f"desk: {word}: {desk.headline}",
    ]
    table, *_ = comment(shell.folder).split("\n<details>")
    assert table.count("\n| `") == 2


def test_a_path_may_begin_with_the_folder(shell: Shell) -> None:
    leave(shell, "arm64", passing())
    joined = ("--names", "arm64", "--to", "report", "--config", "./megtrim.yaml")

    assert shell("ci", "github", "toolchains", "reports", *joined).status == 0


def test_what_is_missing_is_no_pass(shell: Shell) -> None:
    leave(shell, "arm64", passing())
    answer = join(shell).expect(3)

    assert "desk: reports/megtrim-report._desk: the build job left no result" in answer.out
    assert "| `desk` | ❌ no verdict |" in comment(shell.folder)


def test_a_single_report_needs_no_folder(shell: Shell) -> None:
    leave(shell, "arm64", passing())
    (shell.folder / "reports" / "megtrim-report._arm64").rename(shell.folder / "alone")
    (shell.folder / "reports").rmdir()
    (shell.folder / "alone").rename(shell.folder / "reports")

    assert join(shell, "arm64").status == 0
    both = join(shell).expect(3)
    assert "arm64: pass: " in both.out
    assert "desk: reports/megtrim-report._desk: the build job left no result" in both.out


def test_a_run_that_ended_early_ends_it_as_it_did(shell: Shell) -> None:
    leave(shell, "arm64", failing())
    leave(shell, "desk", EarlyExit(exit=2, message="no compiler", hint=""))
    assert join(shell).expect(2).out.splitlines()[1] == "desk: no compiler"
    assert "no compiler" in comment(shell.folder)


def test_a_verdict_of_another_configuration_is_refused(shell: Shell) -> None:
    leave(shell, "arm64", passing())
    leave(shell, "desk", passing(), config="megtrim.yaml#arm64")
    answer = join(shell)

    refused = "is of the configuration megtrim.yaml#arm64, expected one of megtrim.yaml#desk"
    assert answer.status == 2
    assert refused in answer.out
    pages = comment(shell.folder).split("<details><summary>")
    (page,) = (page for page in pages if refused in page)
    assert page.startswith("<code>desk</code>: ❌ no verdict</summary>")
    assert "✅" not in page


def test_an_ending_of_another_configuration_is_refused(shell: Shell) -> None:
    ending = EarlyExit(exit=3, message="no phone", hint="")
    leave(shell, "desk", ending, config="megtrim.yaml#arm64")
    answer = join(shell, "desk").expect(2)

    assert "the report is of the configuration megtrim.yaml#arm64, expected" in answer.out
    assert "no phone" not in comment(shell.folder)


def test_a_job_names_its_project_without_any_verdict(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path, "pull_request").items():
        monkeypatch.setenv(name, value)
    assert join(shell, "desk").status == 3

    title, _, about, *_ = comment(shell.folder).splitlines()
    assert title == "## ❌ 1 of 1 toolchain has no verdict: `desk`"
    assert about == "megtrim: no verdict for `phone`"


def test_no_names_are_no_pass(shell: Shell) -> None:
    assert join(shell, " ").status == 2


def test_the_comment_is_published_and_one_alone_need_not_be(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(shell, "arm64", passing())
    assert join(shell, "arm64").status == 0
    summary = shell.folder / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    shell("ci", "github", "publish", "report", "--no-comment").expect(0)

    assert comment(shell.folder) in summary.read_text(encoding="utf-8")
