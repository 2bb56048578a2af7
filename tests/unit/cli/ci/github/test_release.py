"""``megtrim ci github release``: what is published, and what is refused."""

from __future__ import annotations

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
    """Let the job be one of a tag."""
    event = {"ref": f"refs/tags/{name}", "repository": job.repository.brief()}
    job.event("push", event, REF=f"refs/tags/{name}", SHA=job.base)
    job.repository.tags[name] = {"type": "commit", "sha": job.base}
    return job.repository


def test_a_release_is_published(job: Job) -> None:
    """With its documents next to it, and notes."""
    repository = tag(job, "v1")
    write_archive(as_files(documents()), job.folder / ARCHIVE)
    answer = job("release", ARCHIVE)

    (release,) = repository.releases.values()
    assert (answer.status, answer.out) == (0, f"published {release['html_url']}\n")
    assert sorted(each["name"] for each in release["assets"]) == sorted(PUBLISHED)
    assert (release["draft"], release["name"]) == (False, "v1")
    assert job.outputs() == {
        "url": release["html_url"],
        "sha256": sha(documents()["SHA256SUMS"]),
    }


def test_the_next_one_is_held_against_it(job: Job) -> None:
    """By the documents that were published."""
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
    """Another version of megtrim made it, or someone else."""
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


def test_what_is_not_whole_is_not_published(job: Job) -> None:
    """It is verified here once more."""
    repository = tag(job, "v1")
    broken = documents() | {"bin/load_and_run": "another\n"}
    write_archive(as_files(broken), job.folder / ARCHIVE)
    answer = job("release", ARCHIVE)

    assert answer.status == 1
    assert "bin/load_and_run was changed" in answer.err
    assert repository.releases == {}


def test_a_run_for_a_branch_publishes_nothing(job: Job) -> None:
    """There is nothing to name it by."""
    job.event("push", {"repository": job.repository.brief()}, REF="refs/heads/main", SHA=job.base)
    write_archive(as_files(documents()), job.folder / ARCHIVE)
    answer = job("release", ARCHIVE)

    assert answer.status == 2
    assert "this run is for refs/heads/main, which is no tag" in answer.err
