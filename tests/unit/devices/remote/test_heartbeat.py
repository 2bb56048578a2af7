"""The heartbeat: a machine that is gone ends what runs on it, and a full one is noticed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from megtrim.devices.device import Timeouts
from megtrim.devices.remote.heartbeat import free_kb, watch_machine
from megtrim.devices.remote.transport import ConnectionLost
from support.clock import until
from unit.devices.folder_link import FolderLink, losing

TIMEOUTS = Timeouts(heartbeat_s=0.02, probe_s=5.0, poll_s=0.01)


def counting(probes: list[str], fault: Callable[[str], None]) -> Callable[[str], None]:
    def before(marker: str) -> None:
        probes.append(marker)
        fault(marker)

    return before


def test_a_machine_that_answers_is_left_alone(link: FolderLink, tmp_path: Path) -> None:
    """However often it is asked."""
    probes: list[str] = []
    link.before = counting(probes, lambda _marker: None)
    with watch_machine(link, TIMEOUTS, str(tmp_path)) as watch:
        until(lambda: len(probes) >= 3, "three probes")
        watch.check("running p")

        assert not watch.abort.is_set()
        assert not watch.was_full


def test_a_machine_that_is_gone_aborts_the_work(link: FolderLink, tmp_path: Path) -> None:
    """After a second probe: a refusal comes at once, and may be a moment's."""
    probes: list[str] = []
    link.before = counting(probes, losing("probe"))
    with watch_machine(link, TIMEOUTS, str(tmp_path)) as watch:
        assert watch.abort.wait(30)
        with pytest.raises(ConnectionLost, match="no sign of life for 0 s while running p"):
            watch.check("running p")

    assert probes == ["probe", "probe"]


def test_one_refusal_is_not_the_end(link: FolderLink, tmp_path: Path) -> None:
    """A connection may be busy once."""
    probes: list[str] = []

    def lose_once(_marker: str) -> None:
        if len(probes) == 1:
            losing("probe")("probe")

    link.before = counting(probes, lose_once)
    with watch_machine(link, TIMEOUTS, str(tmp_path)) as watch:
        until(lambda: len(probes) >= 4, "more probes")
        assert not watch.abort.is_set()


def test_a_full_machine_is_noticed(link: FolderLink, tmp_path: Path) -> None:
    """What a program wrote there may be cut short."""
    (tmp_path / "bin").mkdir()
    df = tmp_path / "bin" / "df"
    df.write_text("#!/bin/sh\necho head\necho /dev/x 100 90 10 90% /\n", encoding="utf-8")
    df.chmod(0o755)
    link.path = f"{tmp_path / 'bin'}:{link.path}"
    with watch_machine(link, TIMEOUTS, str(tmp_path)) as watch:
        until(lambda: watch.was_full, "a probe")
        assert not watch.abort.is_set()


def test_the_watch_ends_with_its_block(link: FolderLink, tmp_path: Path) -> None:
    """Also where the work failed."""
    before = threading.active_count()
    with pytest.raises(KeyError), watch_machine(link, TIMEOUTS, str(tmp_path)):
        raise KeyError

    until(lambda: threading.active_count() == before, "the end of the watch")


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("megtrim free=12\n", 12),
        ("noise\nmegtrim free=0\nmegtrim free=9\n", 0),
        ("megtrim free=-1\n", None),
        (" megtrim free=1\n", None),
        ("megtrim free=1234567890123456\n", None),
        ("", None),
    ],
)
def test_free_space_is_read_from_its_own_line(text: str, free: int | None) -> None:
    """Or it is not known."""
    assert free_kb(text) == free
