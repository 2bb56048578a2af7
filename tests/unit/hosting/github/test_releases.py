import pytest

from megtrim.hosting.github.releases import ReleasePublisher, WantedRelease
from megtrim.libs.util.errors import InfrastructureFailure, ProductFailure
from support.github_double import GithubDouble
from support.github_state import Repository
from unit.hosting.github.support import asking

COMMIT = "c" * 40
OTHER = "d" * 40
MARK = "<!-- megtrim:release:v1 -->"
ASSETS = {"app-v1.tar.gz": b"archive", "SHA256SUMS": b"sums\n"}
WANTED = WantedRelease(tag="v1", commit=COMMIT, notes="It is smaller.", assets=ASSETS)
PAGE = "https://github.example/acme/phone/releases/tag/v1"


@pytest.fixture
def publisher(github: GithubDouble, repository: Repository) -> ReleasePublisher:
    repository.tags["v1"] = {"type": "commit", "sha": COMMIT}
    return ReleasePublisher(asking(github.url).api, "acme/phone")


def published(repository: Repository) -> list[dict[str, bytes]]:
    return [
        {asset["name"]: repository.assets[asset["id"]] for asset in each["assets"]}
        for each in repository.releases.values()
        if not each["draft"]
    ]


def test_it_is_published_with_all_of_its_files_and_again_stays_as_it_is(
    publisher: ReleasePublisher, repository: Repository, github: GithubDouble
) -> None:
    assert publisher.publish(WANTED) == PAGE
    assert published(repository) == [ASSETS]
    assert [each.method for each in github.journal if each.method in ("POST", "PATCH")][
        -1
    ] == "PATCH"
    (release,) = repository.releases.values()
    assert release["body"].startswith("It is smaller.\n")
    github.journal.clear()

    assert publisher.publish(WANTED) == PAGE
    assert {each.method for each in github.journal} == {"GET"}
    assert published(repository) == [ASSETS]


def test_an_annotated_tag_is_followed(publisher: ReleasePublisher, repository: Repository) -> None:
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
    publisher.publish(WANTED)
    other = WantedRelease(tag="v1", commit=COMMIT, notes="", assets=assets)

    with pytest.raises(ProductFailure, match="the release v1 is published with other files"):
        publisher.publish(other)
    assert published(repository) == [ASSETS]


def test_a_tag_that_was_moved_is_refused(
    publisher: ReleasePublisher, repository: Repository
) -> None:
    repository.tags["v1"] = {"type": "commit", "sha": OTHER}

    with pytest.raises(ProductFailure, match="the tag v1 is at dddddddddddd, and cccccccccccc was"):
        publisher.publish(WANTED)
    assert repository.releases == {}


@pytest.mark.parametrize("body", ["My words", f"Notes\n\n{MARK}\n\nand mine"])
def test_a_draft_of_a_person_stays(
    publisher: ReleasePublisher, repository: Repository, body: str
) -> None:
    draft = {"id": 7, "tag_name": "v1", "draft": True, "body": body, "assets": []}
    repository.releases[7] = {**draft, "html_url": PAGE}

    with pytest.raises(ProductFailure, match="found a draft of this tag that megtrim did not make"):
        publisher.publish(WANTED)
    assert repository.releases == {7: {**draft, "html_url": PAGE}}


def test_a_draft_that_cannot_be_removed_is_removed_next_time(
    publisher: ReleasePublisher, repository: Repository, github: GithubDouble
) -> None:
    github.fail("POST", "/assets$", status=502, times=5)
    github.fail("DELETE", "/releases/", status=502, times=5)
    with pytest.raises(InfrastructureFailure):
        publisher.publish(WANTED)
    assert [each["draft"] for each in repository.releases.values()] == [True]
    github.recover()

    publisher.publish(WANTED)
    assert [each["draft"] for each in repository.releases.values()] == [False]


def test_the_last_release_is_found(publisher: ReleasePublisher) -> None:
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
    for number, (name, assets, draft) in enumerate(
        (
            ("v1.0", ASSETS, False),
            ("v2.0", ASSETS, False),
            ("yolov5-v1", ASSETS, False),
            ("phone-v1", ASSETS, False),
            ("v2.1", {"app.apk": b""}, False),
            ("v2.2", ASSETS, True),
            ("yolov5-v1.1", ASSETS, True),
        ),
        start=1,
    ):
        listed = [{"id": 100 + at, "name": each} for at, each in enumerate(assets)]
        about = {"id": number, "tag_name": name, "draft": draft, "assets": listed}
        repository.releases[number] = about
    found = publisher.find_last(tag, holding=ASSETS)

    assert (found.tag if found else None) == last
