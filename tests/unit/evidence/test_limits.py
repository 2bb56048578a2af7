"""The limits that values of bundles and evidence are held to, and the files next to them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from megtrim.evidence import limits
from megtrim.util.errors import InputError
from unit.evidence.support import HOSTILE_DIGESTS, HOSTILE_NAMES

LOG_BREAKERS = ["a\x1bb", "a\x07b", "a\u2028b", "a\x9bb", "a\ud800b"]


@pytest.mark.parametrize("name", ["a", "pixel-6", "armv8.2_dotprod", "x" * 200])
def test_a_name_is_safe_in_paths_and_labels(name: str) -> None:
    """And of bounded length."""
    limits.check_name("name", name)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_another_name_is_refused(name: str) -> None:
    """With the place, and not with all of a long one."""
    with pytest.raises(ValueError, match=r"^here: found .{0,70}, expected a name") as caught:
        limits.check_name("here", name)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("digest", HOSTILE_DIGESTS)
def test_a_digest_is_64_small_hex_digits(digest: str) -> None:
    """It becomes the name of a file."""
    limits.check_digest("file", "0" * 64)
    with pytest.raises(ValueError, match="expected a sha256"):
        limits.check_digest("file", digest)


@pytest.mark.parametrize("id_", ["m/s@b", "m/s", "../s@any", "m/s/t@any", "m/s@any\n", "@any"])
def test_a_scenario_is_of_the_jobs_class(id_: str) -> None:
    """A job of one class can say nothing of another."""
    limits.check_scenario("id", "m/s@any", cpu_class="any")
    with pytest.raises(ValueError, match="expected MODEL/SCENARIO@any"):
        limits.check_scenario("id", id_, cpu_class="any")


@pytest.mark.parametrize("text", [*LOG_BREAKERS, "a\nb", "x" * (limits.LONGEST_LINE + 1)])
def test_a_line_has_no_control_characters(text: str) -> None:
    """A terminal or a log would obey them."""
    with pytest.raises(ValueError, match="expected one line of at most 4096 characters"):
        limits.check_line("text", text)
    limits.check_line("text", limits.clean_line(text))


@pytest.mark.parametrize("text", [*LOG_BREAKERS, "x" * (limits.LONGEST_LOG + 1)])
def test_a_log_may_have_lines_and_tabs_alone(text: str) -> None:
    """What cleans a log keeps its end: that is where an error is."""
    limits.check_log("log", "a\n\tb")
    with pytest.raises(ValueError, match="expected at most 65536 characters"):
        limits.check_log("log", text)
    limits.check_log("log", limits.clean_log(text))
    assert limits.clean_log(text)[-1] == text[-1]


def test_a_line_is_no_command_for_a_runner() -> None:
    """A runner obeys ``##[`` wherever it is in a line."""
    assert limits.clean_line("a\nb ##[error]c\r\nd") == "a b # #[error]c d"


@pytest.mark.parametrize("day", ["2027-1-31", "2027-02-30", "20270131", "", "2027-W04-7"])
def test_a_day_has_one_spelling(day: str) -> None:
    """Equal days are equal bytes."""
    limits.check_day("day", "2027-01-31")
    with pytest.raises(ValueError, match="expected a date such as 2027-01-31"):
        limits.check_day("day", day)


def test_counts_and_names_are_bounded() -> None:
    """One more than allowed, and a name twice."""
    limits.check_count("list", [1, 2], 2)
    limits.check_unique("list", ["a", "b"])
    with pytest.raises(ValueError, match=r"^list: found 3, expected at most 2$"):
        limits.check_count("list", [1, 2, 3], 2)
    with pytest.raises(ValueError, match=r"^list: found 'a', expected each name once$"):
        limits.check_unique("list", ["a", "b", "a"])


def test_a_file_is_read_by_its_digest(tmp_path: Path) -> None:
    """Other content, too much of it, or a link on the way is refused."""
    digest = hashlib.sha256(b"content").hexdigest()
    (tmp_path / "files").mkdir()
    file = tmp_path / "files" / digest
    file.write_bytes(b"content")

    assert limits.read_named(tmp_path, digest, most=7, hint="h") == b"content"
    with pytest.raises(InputError, match="more than 6 bytes"):
        limits.read_named(tmp_path, digest, most=6, hint="h")
    file.write_bytes(b"another")
    with pytest.raises(InputError, match="expected that of its name") as caught:
        limits.read_named(tmp_path, digest, most=7, hint="h")
    assert caught.value.hint == "h"


@pytest.mark.parametrize("link", ["files", "file"])
def test_no_link_is_followed(tmp_path: Path, link: str) -> None:
    """It could lead to any file of the machine that reads the evidence."""
    digest = hashlib.sha256(b"content").hexdigest()
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "data").write_bytes(b"content")
    if link == "files":
        (tmp_path / "real" / digest).write_bytes(b"content")
        (tmp_path / "files").symlink_to(tmp_path / "real")
    else:
        (tmp_path / "files").mkdir()
        (tmp_path / "files" / digest).symlink_to(tmp_path / "real" / "data")

    with pytest.raises(InputError, match="found a link, expected a"):
        limits.read_named(tmp_path, digest, most=7, hint="h")


def test_a_document_is_text(tmp_path: Path) -> None:
    """In UTF-8."""
    (tmp_path / "d.json").write_bytes(b"{}\xff")

    with pytest.raises(InputError, match="UTF-8"):
        limits.read_text(tmp_path / "d.json", hint="h")
