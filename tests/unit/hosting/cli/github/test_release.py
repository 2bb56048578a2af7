"""Releases are published whole or not at all, and a repeat mends what went wrong.

Each fault meets the command of the job, with a real archive. After it, people see either nothing or
the whole release, and what was published before is as it was. Then its cause is mended, as the
message or the page says, and the job is run again.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from megtrim.hosting.github.api import Api
from megtrim.ship.release.archive import write_archive
from support.github_state import Repository
from unit.core.cli.support import Answer
from unit.hosting.cli.github.job import Job
from unit.ship.release.examples import as_files, documents, sha

ARCHIVE = "phone-v1.tar.gz"
PUBLISHED = [
    "SHA256SUMS",
    "keepset.json",
    ARCHIVE,
    "provenance.intoto.json",
    "release.json",
    "sbom.cdx.json",
]


def tag(job: Job, name: str) -> Repository:
    event = {"ref": f"refs/tags/{name}", "repository": job.repository.brief()}
    job.event("push", event, REF=f"refs/tags/{name}", SHA=job.base)
    job.repository.tags[name] = {"type": "commit", "sha": job.base}
    return job.repository


def release(job: Job, name: str, **texts: Any) -> Answer:
    tag(job, name)
    (job.folder / ARCHIVE).unlink(missing_ok=True)
    write_archive(as_files(documents(**texts)), job.folder / ARCHIVE)
    return job("release", ARCHIVE)


def test_a_release_is_published(job: Job) -> None:
    answer = release(job, "v1")

    (made,) = job.repository.releases.values()
    answer.expect(0, out=f"published {made['html_url']}\n")
    assert sorted(each["name"] for each in made["assets"]) == sorted(PUBLISHED)
    assert (made["draft"], made["name"]) == (False, "v1")
    assert job.outputs() == {"url": made["html_url"], "sha256": sha(documents()["SHA256SUMS"])}


@pytest.mark.parametrize("readable", [True, False])
def test_the_next_one_is_held_against_it_if_it_has_its_form(job: Job, readable: bool) -> None:
    release(job, "v1", program="older, larger\n").expect(0)
    if not readable:
        (old,) = job.repository.releases.values()
        (asset,) = (each["id"] for each in old["assets"] if each["name"] == "release.json")
        job.repository.assets[asset] = b'{"version": 99}'
    release(job, "v2").expect(0)

    body = list(job.repository.releases.values())[-1]["body"]
    assert ("| file | size | in v1 |" in body) is readable
    assert ("## Keep set since v1\n\nIt is the same." in body) is readable
    assert ("last release" in body) is not readable


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


WHEEL, SOURCE = FILES


def link(dist: Path) -> None:
    (dist / SOURCE).unlink()
    (dist / SOURCE).symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("damage", "status", "message"),
    [
        (
            lambda dist: (dist / WHEEL).write_bytes(b"WHEEL"),
            1,
            "is not the file that SHA256SUMS n",
        ),
        (lambda dist: (dist / "more.whl").touch(), 2, "does not name the files of dist: more.whl"),
        (lambda dist: (dist / SOURCE).unlink(), 2, f"does not name the files of dist: {SOURCE}"),
        (link, 2, "found a device, expected a file"),
        (lambda dist: (dist / "SHA256SUMS").unlink(), 2, "SHA256SUMS"),
    ],
    ids=["changed", "added", "removed", "a link", "no sums"],
)
def test_what_is_not_what_was_built_is_not_published(
    job: Job, dist: Path, damage: Callable[[Path], object], status: int, message: str
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
    assert "this run is for refs/heads/main, which is not a tag" in answer.err


OLD = "v1"
TAG = "v2"
OTHER = "d" * 40
Step = Callable[["World"], object]


@dataclass(slots=True)
class World:
    job: Job
    repository: Repository

    def publish(self) -> Answer:
        return self.job("release", ARCHIVE)

    def see(self) -> dict[str, list[str]]:
        return {
            each["tag_name"]: sorted(asset["name"] for asset in each["assets"])
            for each in self.repository.releases.values()
            if not each["draft"]
        }

    def fail(self, method: str, path: str, status: int, *, acts: bool = False) -> None:
        self.job.github.fail(method, path, status=status, times=9, acts=acts)

    def add(self, body: str, *, draft: bool, files: Mapping[str, bytes]) -> None:
        number = next(self.repository.ids)
        page = f"https://github.example/{number}"
        about = {"id": number, "tag_name": TAG, "name": TAG, "html_url": page, "body": body}
        assets = []
        for name, data in files.items():
            asset = next(self.repository.ids)
            self.repository.assets[asset] = data
            assets.append({"id": asset, "name": name, "size": len(data)})
        self.repository.releases[number] = {**about, "draft": draft, "assets": assets}

    def remove(self) -> None:
        every = self.repository.releases
        for number in [number for number, each in every.items() if each["tag_name"] == TAG]:
            del every[number]

    def move_tag(self, commit: str) -> None:
        self.repository.tags[TAG] = {"type": "commit", "sha": commit}

    def write(self, texts: Mapping[str, str]) -> None:
        (self.job.folder / ARCHIVE).unlink(missing_ok=True)
        write_archive(as_files(dict(texts)), self.job.folder / ARCHIVE)

    def store(self, stores: Callable[[bytes], bytes]) -> None:
        self.repository.stores = stores

    def restore(self) -> None:
        self.write(documents())

    def mend(self) -> None:
        self.job.github.recover()
        self.job.github.permissions["contents"] = "write"
        self.move_tag(self.job.base)
        self.store(lambda data: data)


@pytest.fixture
def world(job: Job, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setitem(Api.__init__.__kwdefaults__ or {}, "pause", lambda _: None)
    tag(job, OLD)
    made = World(job, tag(job, OLD))
    made.write(documents(program="older, larger\n"))
    assert made.publish().status == 0
    tag(job, TAG)
    made.write(documents())
    yield made
    made.mend()


def cut_tag(world: World) -> None:
    def stores(data: bytes) -> bytes:
        world.move_tag(OTHER)
        return data

    world.store(stores)


REQUESTS = {
    "the tag": ("GET", "/git/ref/tags/"),
    "the list of releases": ("GET", "/releases$"),
    "a document of the last release": ("GET", "/releases/assets/"),
    "the draft": ("POST", "/releases$"),
    "a file": ("POST", "/assets$"),
    "the last step": ("PATCH", "/releases/"),
}
WAYS = {
    "GitHub is broken": (502, False),
    "the connection is cut": (0, False),
    "the answer is lost": (0, True),
    "the token may not": (403, False),
    "there is none": (404, False),
}


def fail(method: str, path: str, status: int, *, acts: bool) -> Step:
    return lambda world: world.fail(method, path, status, acts=acts)


def store(stores: Callable[[bytes], bytes]) -> Step:
    return lambda world: setattr(world.repository, "stores", stores)


def there(body: str, files: Mapping[str, bytes] | None = None, *, draft: bool = False) -> Step:
    return lambda world: world.add(body, draft=draft, files=files or {})


AWAY: dict[str, tuple[Step, int, Step]] = {
    f"{asked}: {way}": (fail(method, path, status, acts=acts), 3, World.mend)
    for asked, (method, path) in REQUESTS.items()
    for way, (status, acts) in WAYS.items()
}
APP = {"app.apk": b"an app"}
MARK = "Notes\n\n<!-- megtrim:release:v1 -->\n"
FAULTS: dict[str, tuple[Step, int, Step]] = {
    **AWAY,
    "the tag was moved before": (lambda world: world.move_tag(OTHER), 1, World.mend),
    "the tag is moved meanwhile": (cut_tag, 1, World.mend),
    "the tag is gone": (lambda world: world.repository.tags.pop(TAG), 3, World.mend),
    "it is there with other files": (there("", APP), 1, World.remove),
    "it is there with no files": (there(MARK), 1, World.remove),
    "someone's draft": (there("My words", {"a.txt": b"mine"}, draft=True), 1, World.remove),
    "someone's draft that quotes megtrim": (there(f"{MARK}mine", draft=True), 1, World.remove),
    "files are stored otherwise": (store(lambda data: data[:-1] + b"?"), 3, World.mend),
    "files are stored cut off": (store(lambda data: data[:9]), 3, World.mend),
    "the job may only read": (
        lambda world: world.job.github.permissions.update(contents="read"),
        3,
        World.mend,
    ),
    "the archive was damaged between the jobs": (
        lambda world: world.write(documents() | {"bin/load_and_run": "another\n"}),
        1,
        World.restore,
    ),
    "the archive lost a file": (
        lambda world: world.write({k: v for k, v in documents().items() if "sbom" not in k}),
        1,
        World.restore,
    ),
    "the archive did not arrive": (
        lambda world: (world.job.folder / ARCHIVE).unlink(),
        2,
        World.restore,
    ),
    "the archive is cut off": (
        lambda world: (world.job.folder / ARCHIVE).write_bytes(b"\x1f\x8b\x08\x00"),
        1,
        World.restore,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_published_half_and_a_repeat_mends_it(world: World, name: str) -> None:
    fault, status, mend = FAULTS[name]
    before = world.see()
    fault(world)
    there = world.see()
    answer = world.publish()

    after = world.see()
    whole = {**before, TAG: sorted(PUBLISHED)}
    # A document of the last release is only for the notes; and an answer may be lost too late.
    assert answer.status in ((status, 0) if name in AWAY else (status,)), answer.err
    assert after in (there, whole)
    assert (answer.status == 0) <= (after == whole)
    mend(world)
    assert world.publish().status == 0
    assert world.see() == whole
    assert len([each for each in world.repository.releases.values() if each["draft"]]) == 0


@pytest.mark.parametrize("files", [(), ("SHA256SUMS",), tuple(PUBLISHED)])
def test_what_an_earlier_attempt_left_is_replaced(world: World, files: tuple[str, ...]) -> None:
    world.add(MARK, draft=True, files=dict.fromkeys(files, b"of an earlier attempt"))
    assert len(world.repository.releases) == 2

    assert world.publish().status == 0
    assert world.see()[TAG] == sorted(PUBLISHED)
    assert not any(each["draft"] for each in world.repository.releases.values())


def test_someone_publishes_it_meanwhile(world: World) -> None:
    """Theirs stays; GitHub has one release of a tag, and the draft is never seen."""

    def stores(data: bytes) -> bytes:
        world.store(lambda data: data)
        world.add("By hand", draft=False, files=APP)
        return data

    world.store(stores)
    assert (world.publish().status, world.see()[TAG]) == (3, ["app.apk"])
    assert world.publish().status == 1
    world.remove()
    assert world.publish().status == 0
    assert world.see()[TAG] == sorted(PUBLISHED)


def test_a_draft_next_to_the_release_is_removed(world: World) -> None:
    assert world.publish().status == 0
    world.add(MARK, draft=True, files={"SHA256SUMS": b""})
    world.add("My words", draft=True, files={})

    assert world.publish().status == 0
    drafts = [each["body"] for each in world.repository.releases.values() if each["draft"]]
    assert drafts == ["My words"]
    assert world.see()[TAG] == sorted(PUBLISHED)


def test_there_are_many() -> None:
    assert len(FAULTS) == 44
    assert {status for _, status, _ in FAULTS.values()} == {1, 2, 3}
