"""What goes wrong while a release is published: nothing is seen half, and a repeat mends it.

Each fault meets the command of the job, with a real archive. After it, people see either nothing or
the whole release, and what was published before is as it was. Then its cause is mended, as the
message or the page says, and the job is run again.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pytest

from megtrim.github.api import Api
from megtrim.release.archive import write_archive
from support.github_state import Repository
from unit.cli.ci.github.job import Job
from unit.cli.ci.github.test_release import ARCHIVE, PUBLISHED, tag
from unit.cli.support import Answer
from unit.release.examples import as_files, documents

OLD, TAG, OTHER = "v1", "v2", "d" * 40
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


AWAY: dict[str, tuple[Step, int, Step]] = {
    f"{asked}: {way}": (fail(method, path, status, acts=acts), 3, World.mend)
    for asked, (method, path) in REQUESTS.items()
    for way, (status, acts) in WAYS.items()
}
MARK = "Notes\n\n<!-- megtrim:release:v1 -->\n"
FAULTS: dict[str, tuple[Step, int, Step]] = {
    **AWAY,
    "the tag was moved before": (lambda world: world.move_tag(OTHER), 1, World.mend),
    "the tag is moved meanwhile": (cut_tag, 1, World.mend),
    "the tag is gone": (lambda world: world.repository.tags.pop(TAG), 3, World.mend),
    "it is there with other files": (
        lambda world: world.add("", draft=False, files={"app.apk": b"an app"}),
        1,
        World.remove,
    ),
    "it is there with no files": (
        lambda world: world.add(MARK, draft=False, files={}),
        1,
        World.remove,
    ),
    "someone's draft": (
        lambda world: world.add("My words", draft=True, files={"a.txt": b"mine"}),
        1,
        World.remove,
    ),
    "someone's draft that quotes megtrim": (
        lambda world: world.add(f"{MARK}\nand mine", draft=True, files={}),
        1,
        World.remove,
    ),
    "files are stored otherwise": (
        lambda world: world.store(lambda data: data[:-1] + b"?"),
        3,
        World.mend,
    ),
    "files are stored cut off": (lambda world: world.store(lambda data: data[:9]), 3, World.mend),
    "the job may only read": (
        lambda world: world.job.github.permissions.update(contents="read"),
        3,
        World.mend,
    ),
    "the archive was damaged between the jobs": (
        lambda world: world.write(documents() | {"bin/load_and_run": "another\n"}),
        1,
        lambda world: world.write(documents()),
    ),
    "the archive lost a file": (
        lambda world: world.write({k: v for k, v in documents().items() if "sbom" not in k}),
        1,
        lambda world: world.write(documents()),
    ),
    "the archive did not arrive": (
        lambda world: (world.job.folder / ARCHIVE).unlink(),
        2,
        lambda world: world.write(documents()),
    ),
    "the archive is cut off": (
        lambda world: (world.job.folder / ARCHIVE).write_bytes(b"\x1f\x8b\x08\x00"),
        1,
        lambda world: world.write(documents()),
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
        world.add("By hand", draft=False, files={"app.apk": b"an app"})
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
