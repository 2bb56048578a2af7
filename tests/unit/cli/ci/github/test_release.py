import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from megtrim.release.archive import write_archive
from support.github_state import Repository
from unit.cli.ci.github.job import Job
from unit.release.examples import as_files, documents, sha

ARCHIVE = "phone-v1.tar.gz"
PUBLISHED = [
    *("SHA256SUMS", "keepset.json", ARCHIVE, "provenance.intoto.json", "release.json"),
    "sbom.cdx.json",
]


def tag(job: Job, name: str) -> Repository:
    event = {"ref": f"refs/tags/{name}", "repository": job.repository.brief()}
    job.event("push", event, REF=f"refs/tags/{name}", SHA=job.base)
    job.repository.tags[name] = {"type": "commit", "sha": job.base}
    return job.repository


def test_a_release_is_published(job: Job) -> None:
    repository = tag(job, "v1")
    write_archive(as_files(documents()), job.folder / ARCHIVE)
    answer = job("release", ARCHIVE)

    (release,) = repository.releases.values()
    assert (answer.status, answer.out) == (0, f"published {release['html_url']}\n")
    assert sorted(each["name"] for each in release["assets"]) == sorted(PUBLISHED)
    assert (release["draft"], release["name"]) == (False, "v1")
    assert job.outputs() == {"url": release["html_url"], "sha256": sha(documents()["SHA256SUMS"])}


def test_the_next_one_is_held_against_it(job: Job) -> None:
    tag(job, "v1")
    write_archive(as_files(documents(program="older, larger\n")), job.folder / "old.tar.gz")
    assert job("release", "old.tar.gz").status == 0
    repository = tag(job, "v2")
    write_archive(as_files(documents()), job.folder / ARCHIVE)
    assert job("release", ARCHIVE).status == 0

    body = list(repository.releases.values())[-1]["body"]
    assert "| file | size | in v1 |" in body
    assert "## Keep set since v1\n\nIt is the same." in body


def test_a_last_release_of_another_form_is_not_compared(job: Job) -> None:
    tag(job, "v1")
    write_archive(as_files(documents()), job.folder / "old.tar.gz")
    job("release", "old.tar.gz")
    (old,) = (e for e in job.repository.releases[max(job.repository.releases)]["assets"]
              if e["name"] == "release.json")  # fmt: skip
    job.repository.assets[old["id"]] = b'{"version": 99}'
    repository = tag(job, "v2")
    write_archive(as_files(documents()), job.folder / ARCHIVE)

    assert job("release", ARCHIVE).status == 0
    assert "last release" in list(repository.releases.values())[-1]["body"]


FILES = {"megtrim-0.2.0-py3-none-any.whl": b"wheel", "megtrim-0.2.0.tar.gz": b"source"}
COMMAND = ("release-files", "dist", "--notes", "dist/notes.md")


@pytest.fixture
def dist(job: Job) -> Path:
    folder = job.folder / "dist"
    folder.mkdir()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    sums = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in FILES.items()]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="ascii")
    (folder / "notes.md").write_text("### Added\n\n- A thing.\n", encoding="utf-8")
    return folder


def test_files_are_published_with_their_notes(job: Job, dist: Path) -> None:
    repository = tag(job, "v0.2.0")
    answer = job(*COMMAND)

    (release,) = repository.releases.values()
    assert (answer.status, answer.out) == (0, f"published {release['html_url']}\n")
    assert sorted(each["name"] for each in release["assets"]) == ["SHA256SUMS", *FILES]
    assert (release["draft"], release["name"]) == (False, "v0.2.0")
    assert release["body"].startswith("### Added\n\n- A thing.\n")
    assert job.outputs() == {"url": release["html_url"]}


def change(dist: Path) -> None:
    (dist / "megtrim-0.2.0-py3-none-any.whl").write_bytes(b"WHEEL")


def add(dist: Path) -> None:
    (dist / "megtrim-0.2.0-cp311.whl").write_bytes(b"")


def remove(dist: Path) -> None:
    (dist / "megtrim-0.2.0.tar.gz").unlink()


def link(dist: Path) -> None:
    remove(dist)
    (dist / "megtrim-0.2.0.tar.gz").symlink_to("/dev/zero")


def lose_sums(dist: Path) -> None:
    (dist / "SHA256SUMS").unlink()


@pytest.mark.parametrize(
    ("damage", "status", "message"),
    [
        (change, 1, "is not the file that SHA256SUMS names"),
        (add, 2, "does not name the files of dist: megtrim-0.2.0-cp311.whl"),
        (remove, 2, "does not name the files of dist: megtrim-0.2.0.tar.gz"),
        (link, 2, "found a device, expected a file"),
        (lose_sums, 2, "SHA256SUMS"),
    ],
)
def test_what_is_not_what_was_built_is_not_published(
    job: Job, dist: Path, damage: Callable[[Path], None], status: int, message: str
) -> None:
    repository = tag(job, "v0.2.0")
    damage(dist)
    job(*COMMAND).expect(status, message)

    assert repository.releases == {}


@pytest.mark.parametrize("command", [("release", ARCHIVE), COMMAND])
def test_a_run_for_a_branch_publishes_nothing(
    job: Job, dist: Path, command: tuple[str, ...]
) -> None:
    job.event("push", {"repository": job.repository.brief()}, REF="refs/heads/main", SHA=job.base)
    answer = job(*command)

    assert (answer.status, job.repository.releases) == (2, {})
    assert "this run is for refs/heads/main, which is no tag" in answer.err
