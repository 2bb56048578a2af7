import os
import sys
from datetime import date
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from megtrim.libs.util.process import Command, ProcessRunner
from workflows.documents import ROOT, script, workflow

kit_release = script("kit_release")
JOBS = workflow("release-kit").jobs
COMMAND = "scripts/kit_release.py "
DAY = date(2026, 11, 25)
CHANGES = """\
# Changelog

## [Unreleased]

### Added

- Something [new](docs/new.md), and [another](https://example.org/page).

## [0.1.0] - 2026-11-21

### Added

- The first.
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "CHANGELOG.md").write_text(CHANGES, encoding="utf-8")
    text = '[project]\nname = "megtrim"\nversion = "0.1.0"\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_version_is_in_one_place() -> None:
    version = kit_release.read_version((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    sources = [*ROOT.glob("ci/**/*.py"), *ROOT.glob("scripts/**/*.py"), ROOT / "noxfile.py"]

    sources.remove(ROOT / "ci/megtrim/core/config/removed.py")  # it says since when
    assert not [path for path in sources if version in path.read_text(encoding="utf-8")]


def test_the_changelog_is_of_this_version() -> None:
    found = kit_release.sections((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    version = kit_release.read_version((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    newest = next(name for name, (day, _) in found.items() if day)

    assert next(iter(found)) == "Unreleased"
    assert newest == version


def test_a_release_is_cut_and_then_fits_its_tag(checkout: Path) -> None:
    kit_release.cut(checkout, "0.2.0", DAY)
    text = (checkout / "CHANGELOG.md").read_text(encoding="utf-8")

    assert text.startswith("# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-25\n\n### Added")
    assert 'version = "0.2.0"' in (checkout / "pyproject.toml").read_text(encoding="utf-8")
    assert kit_release.check(checkout, "v0.2.0").startswith("### Added\n\n- Something [new]")


@pytest.mark.parametrize("tag", ["v0.1.1", "v0.1", "0.1.0", "main", "v0.1.0-rc1", "vision-v0.1.0"])
def test_a_tag_of_another_version_is_refused(checkout: Path, tag: str) -> None:
    with pytest.raises(kit_release.Refused, match=r"expected v0\.1\.0$"):
        kit_release.check(checkout, tag)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("## [0.2.0] - 2026-11-25", "## [0.2.0]", "expected ## [0.2.0] - YYYY-MM-DD"),
        ("## [0.2.0] - 2026-11-25", "## [0.2.1] - 2026-11-25", "expected ## [0.2.0] - YYYY-MM-DD"),
        ("- Something", "Something", "and what changed below it"),
        ("[Unreleased]\n", "[Unreleased]\n\n- Later.\n", "changes under [Unreleased], which v0.2"),
    ],
)
def test_a_changelog_that_does_not_fit_is_refused(
    checkout: Path, old: str, new: str, message: str
) -> None:
    kit_release.cut(checkout, "0.2.0", DAY)
    path = checkout / "CHANGELOG.md"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")

    with pytest.raises(kit_release.Refused) as caught:
        kit_release.check(checkout, "v0.2.0")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("version", "changes", "status", "said"),
    [
        ("0.1.0", CHANGES, 1, "has a section 0"),
        *((version, CHANGES, 2, "expected") for version in ("1", "v0.2.0", "0.2.0 ")),
        # A version that was withdrawn is still one.
        ("0.1.0", CHANGES.replace("-11-21", "-11-21 [YANKED]"), 1, "has a section 0"),
        ("0.2.0", CHANGES.replace("- Something", "Something"), 1, "nothing under"),
    ],
)
def test_what_cannot_be_cut_changes_nothing(
    checkout: Path, version: str, changes: str, status: int, said: str
) -> None:
    path = checkout / "CHANGELOG.md"
    path.write_text(changes, encoding="utf-8")
    with pytest.raises(kit_release.kit.Refusal, match=said) as caught:
        kit_release.cut(checkout, version, DAY)
    assert caught.value.rc == status
    assert path.read_text(encoding="utf-8") == changes


def test_notes_lead_to_the_pages_of_their_version() -> None:
    """A path that is right in the repository leads nowhere on the page of a release."""
    env = {"GITHUB_REPOSITORY": "megtrim/megtrim"}
    notes = kit_release.render_notes(
        "0.2.0", "c" * 40, "[a](docs/a.md) [b](https://b) [c](#c)", env
    )

    at = "https://github.com/megtrim/megtrim/blob/v0.2.0/docs/a.md"
    assert f"[a]({at}) [b](https://b) [c](#c)" in notes
    assert f"--kit megtrim/megtrim --kit-sha {'c' * 40} --kit-version v0.2.0" in notes


def build(root: Path, folder: Path, *more: str, **env: str) -> None:
    argv = (sys.executable, str(root / "scripts/kit_release.py"), "build", str(folder), *more)
    command = Command(argv=(*argv, "--python", sys.executable), timeout_s=300, merge_stderr=True)
    done = ProcessRunner({"PATH": os.environ["PATH"], **env}).run(command)
    assert done.ok, done.stdout


def test_two_builds_are_equal(tmp_path: Path, processes: ProcessRunner) -> None:
    elsewhere = tmp_path / "elsewhere" / "a copy"
    clone = ("git", "-c", "safe.directory=*", "clone", "--quiet", str(ROOT), str(elsewhere))
    assert processes.run(Command(argv=clone, timeout_s=120)).ok
    (elsewhere / "ci" / "megtrim" / "left_over.py").write_text("", encoding="utf-8")
    build(ROOT, tmp_path / "one")
    more = {"LC_ALL": "C.UTF-8", "TZ": "Asia/Shanghai", "HOME": str(tmp_path)}
    build(elsewhere, tmp_path / "two", "--umask", "077", **more)

    kit_release.compare(tmp_path / "one", tmp_path / "two")
    sums = ("sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS")
    assert processes.run(Command(argv=sums, cwd=tmp_path / "one", timeout_s=60)).ok


def test_what_differs_is_named_and_two_empty_builds_are_none(tmp_path: Path) -> None:
    for folder, names in (("one", "ab"), ("two", "abc")):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_text(folder if name == "b" else "", encoding="utf-8")

    with pytest.raises(kit_release.Refused, match=r"the two builds differ: b, c$"):
        kit_release.compare(tmp_path / "one", tmp_path / "two")
    (tmp_path / "none").mkdir()
    with pytest.raises(kit_release.Refused):
        kit_release.compare(tmp_path / "none", tmp_path / "none")


def test_what_builds_is_pinned_as_elsewhere() -> None:
    build, demo = (
        (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").split("\n")
        for name in ("build", "demo")
    )
    pinned = {line.partition("==")[0] for line in build if "==" in line}

    assert set(build) <= set(demo)
    assert pinned >= list_needed("hatchling")


def list_needed(name: str) -> set[str]:
    found = {name}
    for each in requires(name) or ():
        requirement = Requirement(each)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            found |= list_needed(requirement.name)
    return found


def steps(job_id: str) -> list[str]:
    done = [step.get("run") or step["uses"].partition("@")[0] for step in JOBS[job_id]["steps"]]
    return [each.rpartition(COMMAND)[2] for each in done]


def conditions(job: dict[str, Any]) -> list[str]:
    return [each["if"] for each in (job, *job["steps"]) if "if" in each]


def test_each_job_waits_for_those_before() -> None:
    assert {name: job.get("needs", []) for name, job in JOBS.items()} == {
        "build": [],
        "rebuild": [],
        "try": ["build", "rebuild"],
        "attest": ["build", "try"],
        "publish": ["build", "attest"],
    }
    assert [conditions(job) for job in JOBS.values()] == [[]] * len(JOBS)
    assert not any("continue-on-error" in step for _, step in workflow("release-kit").steps())


def test_a_wrong_tag_ends_the_run_before_anything_is_built() -> None:
    names = steps("build")
    (held,) = (step for step in JOBS["build"]["steps"] if "kit_release.py check" in str(step))

    assert held["env"] == {"TAG": "${{ github.ref_name }}"}
    assert names.index('check "$TAG"') < names.index("build dist")


def test_the_second_build_is_somewhere_else() -> None:
    (first,) = (step for step in JOBS["build"]["steps"] if step["name"] == "Build")
    (second,) = (step for step in JOBS["rebuild"]["steps"] if step["name"] == "Build")

    assert first["run"] == f"python3 kit/{COMMAND}build dist"
    assert second["run"] == f"python3 kit-in-another-folder/{COMMAND}build --umask 077 again"
    assert sorted(second["env"]) == ["LC_ALL", "TZ"]
    assert "env" not in first


def test_both_are_compared_and_one_is_tried() -> None:
    assert steps("try")[-2:] == ["compare dist again", "try dist"]


@pytest.mark.parametrize("name", ["try", "attest", "publish"])
def test_what_was_built_is_taken_by_its_id(name: str) -> None:
    taken = [
        step["with"] for step in JOBS[name]["steps"] if "download-artifact@" in step.get("uses", "")
    ]
    built = {"artifact-ids": "${{ needs.build.outputs.files }}", "path": "dist"}

    assert taken[0] == built
    assert len(taken) == (2 if name == "try" else 1)


def test_the_job_that_signs_has_no_code_at_all() -> None:
    assert steps("attest") == ["actions/download-artifact", "actions/attest"]
    assert JOBS["attest"]["steps"][1]["with"] == {"subject-checksums": "dist/SHA256SUMS"}


def test_the_job_that_writes_builds_nothing() -> None:
    job = JOBS["publish"]

    assert job["environment"] == "megtrim-kit"
    assert not [each for each in steps("publish") if COMMAND in each]
    assert [step["name"] for step in job["steps"] if "env" in step] == ["Publish"]
    assert job["steps"][-1]["name"] == "Publish"


def test_nothing_is_taken_from_a_cache() -> None:
    assert "cache" not in workflow("release-kit").text
