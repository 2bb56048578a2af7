"""A tag of the kit becomes its release: built twice, compared, tried, and published whole."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from act.driver.forge import KIT, Forge
from act.driver.git import Remote
from act.driver.runner import HOSTED, Act, Run, stand_ins
from support.github_double import GithubDouble
from support.github_state import Repository
from workflows.documents import script

VERSION = "9.9.9"
TAG = f"v{VERSION}"
CHANGES = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A [thing](docs/thing.md).\n"
JOBS = dict.fromkeys(("build", "rebuild", "try", "attest", "publish"), "success")
FILES = [
    "SHA256SUMS",
    f"megtrim-{VERSION}-py3-none-any.whl",
    f"megtrim-{VERSION}-requirements.txt",
    f"megtrim-{VERSION}.tar.gz",
]


def conclude(run: Run) -> dict[str, str]:
    records = []
    for line in run.log.read_text(encoding="utf-8").splitlines():
        with suppress(ValueError):
            records.append(json.loads(line))
    return {each["jobID"]: each["jobResult"] for each in records if "jobResult" in each}


@dataclass(frozen=True, slots=True)
class Kit:
    forge: Forge
    api: Repository
    sha: str

    def run_tag(self, act: Act, tag: str, number: int) -> Run:
        forge = self.forge
        ref = f"refs/tags/{tag}"
        scratch = forge.root / f"kit-run-{number}"
        scratch.mkdir()
        event = {"ref": ref, "after": self.sha, "repository": self.api.brief()}
        (scratch / "event.json").write_text(json.dumps(event), encoding="utf-8")
        folder = forge.kit.export(self.sha, scratch / "caller")
        return act.run(
            "push",
            folder=folder,
            workflow="release-kit.yml",
            scratch=scratch,
            options=stand_ins(forge.kit.work),
            env={
                **forge.env,
                "GITHUB_RUN_ID": str(number),
                "GITHUB_API_URL": forge.github.url,
                "GITHUB_REPOSITORY": KIT,
                "GITHUB_REF": ref,
                "GITHUB_REF_NAME": tag,
                "SHA_REF": self.sha,
                "MEGTRIM_STAND_IN_REPOSITORIES": str(forge.root / "remotes"),
            },
            token=forge.github.token,
            runners=(HOSTED,),
        )


@pytest.fixture(scope="module")
def kit(act: Act, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kit]:
    with GithubDouble() as double:
        ccache = os.environ.get("CCACHE_DIR") or str(Path.home() / ".cache" / "ccache")
        root = tmp_path_factory.mktemp("forge")
        own = Remote(root / "kit" / "remotes", KIT, root / "kit" / "work")
        own.git("pull", "--quiet", str(act.kit.bare), "main")
        forge = Forge(root, act, double, {"CCACHE_DIR": ccache}, kit=own)
        work = own.work
        (work / "CHANGELOG.md").write_text(CHANGES, encoding="utf-8")
        script("kit_release").cut(work, VERSION, date(2026, 11, 25))
        sha = own.save(message=f"Release {VERSION}", branch="main")
        api = double.repository(KIT)
        api.tags[TAG] = {"type": "commit", "sha": sha}
        yield Kit(forge, api, sha)


def test_a_tag_becomes_a_release(kit: Kit, act: Act) -> None:
    done = kit.run_tag(act, TAG, 1)

    assert conclude(done) == JOBS
    (release,) = kit.api.releases.values()
    assert (release["tag_name"], release["draft"]) == (TAG, False)
    assert sorted(each["name"] for each in release["assets"]) == FILES
    assert f"--kit-sha {kit.sha} --kit-version {TAG}" in release["body"]
    assert f"[thing](https://github.com/{KIT}/blob/{TAG}/docs/thing.md)" in release["body"]


def test_a_tag_of_another_version_builds_nothing(kit: Kit, act: Act) -> None:
    before = dict(kit.api.releases)
    kit.api.tags["v9.9.10"] = {"type": "commit", "sha": kit.sha}
    done = kit.run_tag(act, "v9.9.10", 2)

    found = conclude(done)
    assert found["build"] == "failure"
    assert found.keys() <= {"build", "rebuild"}
    assert kit.api.releases == before
