"""Publishing a release: all of it or nothing, whatever fails, and a repeat mends it."""

from __future__ import annotations

import pytest

from megtrim.github.api import Forbidden
from megtrim.github.releases import ReleasePublisher, WantedRelease
from megtrim.util.errors import InfrastructureFailure, MegtrimError, ProductFailure
from support.github_double import GithubDouble
from support.github_state import Repository
from unit.github.support import asking

COMMIT, OTHER = "c" * 40, "d" * 40
ASSETS = {"app-v1.tar.gz": b"archive", "SHA256SUMS": b"sums\n"}
WANTED = WantedRelease(tag="v1", commit=COMMIT, notes="It is smaller.", assets=ASSETS)
PAGE = "https://github.example/acme/phone/releases/tag/v1"


@pytest.fixture
def repository(github: GithubDouble) -> Repository:
    """A repository with a tag."""
    made = github.repository("acme/phone")
    made.tags["v1"] = {"type": "commit", "sha": COMMIT}
    return made


@pytest.fixture
def publisher(github: GithubDouble, repository: Repository) -> ReleasePublisher:
    """The releases of that repository."""
    return ReleasePublisher(asking(github.url, token=github.token).api, "acme/phone")


def published(repository: Repository) -> list[dict[str, bytes]]:
    """Return the files of each release that people see."""
    return [
        {asset["name"]: repository.assets[asset["id"]] for asset in each["assets"]}
        for each in repository.releases.values()
        if not each["draft"]
    ]


def test_it_is_published_with_all_of_its_files(
    publisher: ReleasePublisher, repository: Repository, github: GithubDouble
) -> None:
    """In one step, after the last file."""
    assert publisher.publish(WANTED) == PAGE
    assert published(repository) == [ASSETS]
    assert [str(each) for each in github.journal if each.method in ("POST", "PATCH")][
        -1
    ].startswith("PATCH")
    (release,) = repository.releases.values()
    assert release["body"].startswith("It is smaller.\n")


def test_again_it_stays_as_it_is(
    publisher: ReleasePublisher, repository: Repository, github: GithubDouble
) -> None:
    """A run that is repeated writes nothing."""
    publisher.publish(WANTED)
    before = len(github.journal)

    assert publisher.publish(WANTED) == PAGE
    assert {each.method for each in github.journal[before:]} == {"GET"}
    assert published(repository) == [ASSETS]


def test_an_annotated_tag_is_followed(publisher: ReleasePublisher, repository: Repository) -> None:
    """It points to a text of its own."""
    repository.tags["v1"] = {"type": "tag", "sha": "a" * 40}
    repository.notes["a" * 40] = COMMIT

    assert publisher.publish(WANTED) == PAGE


@pytest.mark.parametrize(
    "assets",
    [
        {"app-v1.tar.gz": b"another", "SHA256SUMS": b"sums\n"},
        {"app-v1.tar.gz": b"archive"},
        {**ASSETS, "more": b"more"},
        {"app-v1.tar.gz": b"ARCHIVE", "SHA256SUMS": b"sums\n"},
    ],
)
def test_what_is_published_is_never_changed(
    assets: dict[str, bytes], publisher: ReleasePublisher, repository: Repository
) -> None:
    """Whoever has it relies on it."""
    publisher.publish(WANTED)
    other = WantedRelease(tag="v1", commit=COMMIT, notes="", assets=assets)

    with pytest.raises(ProductFailure, match="the release v1 is published with other files"):
        publisher.publish(other)
    assert published(repository) == [ASSETS]


def test_a_tag_that_was_moved_is_refused(
    publisher: ReleasePublisher, repository: Repository
) -> None:
    """It would name another program than the one that was built."""
    repository.tags["v1"] = {"type": "commit", "sha": OTHER}

    with pytest.raises(ProductFailure, match="the tag v1 is at dddddddddddd, and cccccccccccc was"):
        publisher.publish(WANTED)
    assert repository.releases == {}


def test_a_tag_that_is_gone_is_refused(publisher: ReleasePublisher, repository: Repository) -> None:
    """GitHub would make a new one, at another commit."""
    del repository.tags["v1"]

    with pytest.raises(InfrastructureFailure, match="GitHub answered 404"):
        publisher.publish(WANTED)
    assert repository.releases == {}


def test_a_tag_that_moves_meanwhile_leaves_nothing(
    publisher: ReleasePublisher, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked at once more before anyone sees anything."""
    upload = publisher._upload

    def move(*given: object) -> None:
        repository.tags["v1"] = {"type": "commit", "sha": OTHER}
        upload(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(publisher, "_upload", move)
    with pytest.raises(ProductFailure, match="it was moved"):
        publisher.publish(WANTED)
    assert repository.releases == {}


def test_a_draft_of_a_person_stays(publisher: ReleasePublisher, repository: Repository) -> None:
    """It may hold what they wrote."""
    draft = {"id": 7, "tag_name": "v1", "draft": True, "body": "My words", "assets": []}
    repository.releases[7] = {**draft, "html_url": PAGE}

    with pytest.raises(ProductFailure, match="a draft of this tag that is not megtrim's"):
        publisher.publish(WANTED)
    assert list(repository.releases) == [7]


FAULTS = {
    "the tag cannot be read": ("GET", "/git/ref/tags/", 502, False),
    "releases cannot be listed": ("GET", "/releases$", 502, False),
    "no draft is made": ("POST", "/releases$", 502, False),
    "a draft is made, and the answer is lost": ("POST", "/releases$", 0, True),
    "a draft is made, and an error answered": ("POST", "/releases$", 500, True),
    "an upload is refused": ("POST", "/assets$", 502, False),
    "an upload is cut off": ("POST", "/assets$", 0, False),
    "an upload arrives, and the answer is lost": ("POST", "/assets$", 0, True),
    "the quota is full": ("POST", "/assets$", 422, False),
    "publishing is refused": ("PATCH", "/releases/", 502, False),
    "it is published, and the answer is lost": ("PATCH", "/releases/", 0, True),
    "the token may not write": ("POST", "/releases$", 403, False),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_publishes_nothing_half(
    name: str, publisher: ReleasePublisher, repository: Repository, github: GithubDouble
) -> None:
    """And the next attempt mends what it left."""
    method, path, status, acts = FAULTS[name]
    github.fail(method, path, status=status, times=5, acts=acts)

    # Publishing twice is harmless, so a retry may succeed.
    try:
        publisher.publish(WANTED)
    except MegtrimError as error:
        assert error.exit_code == 3
    assert published(repository) in ([], [ASSETS])
    github.recover()

    assert publisher.publish(WANTED) == PAGE
    assert published(repository) == [ASSETS]
    assert len(repository.releases) == 1


def test_a_draft_that_cannot_be_removed_is_removed_next_time(
    publisher: ReleasePublisher, repository: Repository, github: GithubDouble
) -> None:
    """Two faults at once leave a draft, which no one sees."""
    github.fail("POST", "/assets$", status=502, times=5)
    github.fail("DELETE", "/releases/", status=502, times=5)
    with pytest.raises(InfrastructureFailure):
        publisher.publish(WANTED)
    assert [each["draft"] for each in repository.releases.values()] == [True]
    github.recover()

    publisher.publish(WANTED)
    assert [each["draft"] for each in repository.releases.values()] == [False]


def test_what_was_stored_otherwise_is_not_published(
    publisher: ReleasePublisher, repository: Repository
) -> None:
    """GitHub says the sha256 of what it has."""
    repository.stores = lambda data: data[:-1] + b"?"

    with pytest.raises(InfrastructureFailure, match="GitHub stored SHA256SUMS otherwise"):
        publisher.publish(WANTED)
    assert published(repository) == []


def test_a_token_without_the_right_is_an_error_of_its_own(
    publisher: ReleasePublisher, github: GithubDouble
) -> None:
    """The hint says what the job needs."""
    github.permissions["contents"] = "read"

    with pytest.raises(Forbidden) as caught:
        publisher.publish(WANTED)
    assert "permissions: contents: write" in caught.value.hint


def test_the_last_release_is_found(publisher: ReleasePublisher) -> None:
    """With its documents; that of the tag itself is none."""
    assert publisher.find_last("v2", holding=ASSETS) is None
    publisher.publish(WANTED)
    found = publisher.find_last("v2", holding=ASSETS)

    assert found is not None
    assert (found.tag, publisher.download(found.assets["SHA256SUMS"])) == ("v1", b"sums\n")
    assert publisher.find_last("v1", holding=ASSETS) is None


@pytest.mark.parametrize(
    ("tag", "last"),
    [
        ("v3.0-rev2", "v2.0"),
        ("yolov5-v2", "yolov5-v1"),
        ("yolov8-v2", None),
        ("big-phone-v1", None),
    ],
)
def test_the_last_release_is_of_the_same_series(
    tag: str, last: str | None, publisher: ReleasePublisher, repository: Repository
) -> None:
    """Not of another configuration, no draft, and nothing that the team released by hand."""
    for number, (name, assets, draft) in enumerate(
        (
            *(("v1.0", ASSETS, False), ("v2.0", ASSETS, False), ("yolov5-v1", ASSETS, False)),
            *(("phone-v1", ASSETS, False), ("v2.1", {"app.apk": b""}, False)),
            *(("v2.2", ASSETS, True), ("yolov5-v1.1", ASSETS, True)),
        ),
        start=1,
    ):
        listed = [{"id": 100 + at, "name": each} for at, each in enumerate(assets)]
        about = {"id": number, "tag_name": name, "draft": draft, "assets": listed}
        repository.releases[number] = about
    found = publisher.find_last(tag, holding=ASSETS)

    assert (found.tag if found else None) == last
